"""Lists what is in a cluster now, for those who fill in a form: indices, aliases and data streams; ingest pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from connect import ConnectError
from connectors.elasticsearch.cluster.client import Cluster
from connectors.elasticsearch.cluster.failures import failure
from connectors.elasticsearch.cluster.keys import ClusterOptions, ElasticsearchOptions, OpenSearchOptions


def names(options: type[ClusterOptions], config: Mapping[str, str]) -> list[str]:
    """The names of open indices, aliases and data streams, without hidden ones.

    Only the keys that lead to the cluster are read.

    Args:
        options: of the connector.

    Raises:
        ConnectError: the cluster cannot be reached, or refuses; or a key that leads to it is wrong.
    """
    with _connected(options, config) as cluster:
        found = cluster.request("GET", "/_resolve/index/*", params={"expand_wildcards": "open"})
    # The indices behind a data stream have names that nobody wrote.
    indices = {each["name"] for each in found["indices"] if "data_stream" not in each}
    return sorted(indices | {each["name"] for kind in ("aliases", "data_streams") for each in found.get(kind, ())})


def pipelines(options: type[ClusterOptions], config: Mapping[str, str]) -> list[str]:
    """The ingest pipelines. Arguments and errors as for `names`."""
    with _connected(options, config) as cluster:
        return sorted(cluster.request("GET", "/_ingest/pipeline") or {})


@contextmanager
def _connected(options: type[ClusterOptions], config: Mapping[str, str]) -> Iterator[Cluster]:
    product = OpenSearchOptions if issubclass(options, OpenSearchOptions) else ElasticsearchOptions
    named = options.definition().named(config)
    keys = [setting.name for setting in product.definition()]
    cluster = Cluster(product.parse({key: named[key] for key in keys if key in named}))
    try:
        yield cluster
    except Exception as error:  # clients raise anything
        raise ConnectError(f"{cluster.where}: {failure(error).sentence}") from error
    finally:
        cluster.close()
