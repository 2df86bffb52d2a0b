"""Starts a real OpenSearch on this machine, from the archive that its project publishes for integration tests.

That of 2 has no modules; that of 3 has painless and the processors of ingest pipelines.
"""

from typing import ClassVar

from tests.servers.search_server import SearchServer


class OpenSearchServer(SearchServer):
    """See `SearchServer`. It has no security plug-in."""

    product = "OpenSearch"
    jar_set = "opensearch"
    variable = "OPENSEARCH"
    java: ClassVar[tuple[int, int | None]] = (17, 23)  # it wants a security manager, which Java has no longer


class OpenSearch3Server(OpenSearchServer):
    """The same of version 3, with its modules."""

    jar_set = "opensearch-3"
    java = (21, None)
    modules = ("ingest-common", "lang-painless", "transport-netty4")
