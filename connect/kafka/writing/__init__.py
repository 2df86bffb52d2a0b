"""Writing to Kafka: in batches, in transactions, one by one."""
