"""Records of topics as documents."""

from connectors.elasticsearch.sink.connector import ElasticsearchSinkConnector, OpenSearchSinkConnector
from connectors.elasticsearch.sink.task import ElasticsearchSinkTask, OpenSearchSinkTask

__all__ = ["ElasticsearchSinkConnector", "ElasticsearchSinkTask", "OpenSearchSinkConnector", "OpenSearchSinkTask"]
