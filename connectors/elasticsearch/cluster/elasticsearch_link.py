"""Elasticsearch's own client: nodes in rotation, unavailable ones left out, the check that it is Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elastic_transport import BaseNode, NodeConfig, Serializer, Urllib3HttpNode
from elasticsearch import Elasticsearch

from connect.http import basic
from connectors.elasticsearch.cluster.connections import Connections
from connectors.elasticsearch.cluster.keys import ElasticsearchOptions

#: What both 8 and 9 understand. Left to itself each client asks for its own version, which an older server refuses.
_KINDS: Final = {
    f"application/{kind}": f"application/vnd.elasticsearch+{kind}; compatible-with=8" for kind in ("json", "x-ndjson")
}


class _AlreadyJson(Serializer):
    """Bodies are bytes on both sides."""

    def dumps(self, data: Any) -> bytes:
        return bytes(data)

    def loads(self, data: bytes) -> bytes:
        return data


class ElasticsearchLink:
    """See `Link`."""

    def __init__(self, settings: ElasticsearchOptions) -> None:
        class Node(Urllib3HttpNode):
            def __init__(self, config: NodeConfig) -> None:
                BaseNode.__init__(self, config)
                self.pool = Connections(settings, config.scheme, config.host, config.port)  # type: ignore[assignment]

        kinds = (
            "application/json",
            "text/*",
            *(f"application/vnd.elasticsearch+{kind}" for kind in ("json", "x-ndjson")),
        )
        with_password = settings.user is not None and settings.api_key is None
        # The client itself writes no login beyond ASCII.
        login = {"authorization": basic(":".join(settings.user or ()))} if with_password else {}
        self._client = Elasticsearch(
            list(settings.urls),
            node_class=Node,
            headers=login,
            api_key=settings.api_key.reveal() if settings.api_key else None,
            serializers=dict.fromkeys(kinds, _AlreadyJson()),
            max_retries=0,
            retry_on_status=(),
        )

    def send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> bytes | str:
        client = self._client.options(request_timeout=timeout)
        kinds = {name: _KINDS.get(value, value) for name, value in headers.items()}
        answer: bytes | str = client.perform_request(method, target, headers=kinds, body=body).body
        return answer

    def close(self) -> None:
        self._client.close()
