"""Starts a real Elasticsearch on this machine, from the archive that its project publishes for integration tests.

That build has no `GET /`, no data streams, no painless, no reindex and no processors of ingest pipelines.
"""

from typing import ClassVar

from tests.servers.search_server import SearchServer


class ElasticsearchServer(SearchServer):
    """See `SearchServer`. Without security unless settings say otherwise."""

    product = "Elasticsearch"
    jar_set = "elasticsearch"
    variable = "ES"
    defaults: ClassVar[dict[str, str]] = {"xpack.security.enabled": "false"}
