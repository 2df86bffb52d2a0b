"""Reading from Kafka: in a group, by ranges, by partitions; and the progress of other readers."""
