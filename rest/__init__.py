"""The REST interface of Kafka Connect."""
