"""Starts a real OpenSearch on this machine, from the archive that its project publishes for integration tests."""

from tests.servers.search_server import SearchServer


class OpenSearchServer(SearchServer):
    """See `SearchServer`. It has no security plug-in."""

    product = "OpenSearch"
    jar_set = "opensearch"
    variable = "OPENSEARCH"
