"""Documents of Elasticsearch and OpenSearch into topics."""

from connectors.elasticsearch.source.connector import ElasticsearchSourceConnector, OpenSearchSourceConnector
from connectors.elasticsearch.source.task import ElasticsearchSourceTask, OpenSearchSourceTask

__all__ = [
    "ElasticsearchSourceConnector",
    "ElasticsearchSourceTask",
    "OpenSearchSourceConnector",
    "OpenSearchSourceTask",
]
