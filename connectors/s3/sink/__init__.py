"""The S3 sink: topics to objects."""

from connectors.s3.sink.connector import S3SinkConnector

__all__ = ["S3SinkConnector"]
