"""What source and sink share about one cluster: its address, the login, thread-safe requests, failures."""

from connectors.elasticsearch.cluster.client import Cluster
from connectors.elasticsearch.cluster.failures import Failure, failure, item_failure
from connectors.elasticsearch.cluster.keys import ClusterOptions, ElasticsearchOptions, OpenSearchOptions

__all__ = [
    "Cluster",
    "ClusterOptions",
    "ElasticsearchOptions",
    "Failure",
    "OpenSearchOptions",
    "failure",
    "item_failure",
]
