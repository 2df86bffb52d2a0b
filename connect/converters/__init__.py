"""Between the bytes in Kafka and values with a schema."""
