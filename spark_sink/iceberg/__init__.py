"""Iceberg tables: a sink connector that writes them by pyiceberg, without Spark or a JVM."""
