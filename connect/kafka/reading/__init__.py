"""Records out of Kafka: in a group, by ranges, of partitions; and how far others have read."""
