"""OpenSearch's own client: nodes in rotation, unavailable ones left out, signatures for Amazon's service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from opensearchpy import OpenSearch, Urllib3HttpConnection
from opensearchpy.serializer import Serializer

from connect.http import basic
from connectors.elasticsearch.cluster.connections import Connections
from connectors.elasticsearch.cluster.keys import OpenSearchOptions


class _AlreadyJson(Serializer):
    """Bodies are bytes, responses texts."""

    mimetype = "application/json"

    def dumps(self, data: Any) -> Any:
        return data

    def loads(self, s: str) -> Any:
        return s


class OpenSearchLink:
    """See `Link`."""

    def __init__(self, settings: OpenSearchOptions) -> None:
        class Connection(Urllib3HttpConnection):
            def _create_urllib3_pool(self) -> None:
                port = self.port or (443 if self.use_ssl else 80)
                scheme = "https" if self.use_ssl else "http"
                self.pool = Connections(settings, scheme, self.hostname, port)

        auth: Any = None
        headers = {"authorization": basic(":".join(settings.user))} if settings.user else {}
        if settings.aws_region:
            from connectors.elasticsearch.cluster.signatures import signer

            auth, headers = signer(settings), {}
        self._client = OpenSearch(
            [_host(url) for url in settings.urls],
            connection_class=Connection,
            http_auth=auth,
            headers=headers,  # the client itself writes a login in Latin-1
            serializer=_AlreadyJson(),
            max_retries=0,
            retry_on_timeout=True,  # with no retries: a node that does not answer in time is left out for a while
            timeout=settings.read_timeout,
        )

    def send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> bytes | str:
        answer = self._client.transport.perform_request(
            method, target, body=body, headers=dict(headers), timeout=timeout
        )
        return answer if isinstance(answer, bytes | str) else b""

    def close(self) -> None:
        self._client.close()


def _host(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    return {
        "host": parts.hostname,
        "port": parts.port,
        "use_ssl": parts.scheme == "https",
        "url_prefix": parts.path.strip("/"),
    }
