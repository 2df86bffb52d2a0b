"""Records into Kafka: in batches, in transactions, one by one."""
