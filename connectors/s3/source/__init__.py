"""Objects of a bucket into topics: Aiven's and Confluent's S3 sources by their keys, read by columns."""

from connectors.s3.source.connector import S3SourceConnector
from connectors.s3.source.task import S3SourceTask

__all__ = ["S3SourceConnector", "S3SourceTask"]
