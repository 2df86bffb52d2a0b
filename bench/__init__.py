"""Measures this runtime beside Apache Kafka Connect: the same work on the same machine and broker, in turn."""
