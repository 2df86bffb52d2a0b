"""The Spark engine: the same connectors inside a Spark query."""
