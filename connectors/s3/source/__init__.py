"""The S3 source: objects of a bucket to topics, with the keys of Aiven's and Confluent's S3 sources."""

from connectors.s3.source.connector import S3SourceConnector
from connectors.s3.source.task import S3SourceTask

__all__ = ["S3SourceConnector", "S3SourceTask"]
