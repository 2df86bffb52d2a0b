"""One cluster as both directions see it: where it is, who we are there, requests that any thread may make, failures."""

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
