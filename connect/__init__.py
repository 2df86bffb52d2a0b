"""Source and sink connectors for Apache Kafka."""
