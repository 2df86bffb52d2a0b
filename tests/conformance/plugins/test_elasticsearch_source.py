"""The Elasticsearch and OpenSearch sources pass the suite for sources, on real clusters."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from connect.testing.conformance import SourceConformance
from connectors.elasticsearch.source import ElasticsearchSourceConnector, OpenSearchSourceConnector
from tests.servers.search_server import SearchServer

pytestmark = pytest.mark.slow


class TestElasticsearchSource(SourceConformance):
    connector = ElasticsearchSourceConnector
    stop_within = 10.0
    most_rows = 10_000

    @pytest.fixture(autouse=True)
    def _index(self, elasticsearch: SearchServer) -> Iterator[None]:
        yield from self._indexed(elasticsearch)

    def _indexed(self, server: SearchServer) -> Iterator[None]:
        self.server, self.index = server, f"suite-{uuid.uuid4().hex[:12]}"
        properties = {"n": {"type": "long"}, "text": {"type": "keyword", "index": False}}
        settings = {"number_of_shards": 1, "number_of_replicas": 0}
        server.request("PUT", f"/{self.index}", {"settings": settings, "mappings": {"properties": properties}})
        yield
        server.drop(self.index)

    def config(self) -> dict[str, str]:
        reached = {"connection.url": self.server.url, "index.names": self.index, "read.timeout.ms": "20000"}
        return {**reached, "poll.interval.ms": "1", "retry.backoff.ms": "1", "max.retries": "0"}

    def value(self, number: int) -> Any:
        return {"n": number, "text": "=" * 100}

    def produce(self, first: int, count: int) -> None:
        for start in range(first, first + count, 5000):
            lines = b"".join(
                b'{"index":{"_id":"%d"}}\n{"n":%d,"text":"%s"}\n' % (number, number, b"=" * 100)
                for number in range(start, min(start + 5000, first + count))
            )
            self.server.request("POST", f"/{self.index}/_bulk", lines)


class TestElasticsearchSourceByAField(TestElasticsearchSource):
    plenty = 10_000

    def config(self) -> dict[str, str]:
        return {**super().config(), "incrementing.field.name": "n", "delay.ms": "0"}


class TestOpenSearchSource(TestElasticsearchSource):
    connector = OpenSearchSourceConnector
    plenty = 10_000

    @pytest.fixture(autouse=True)
    def _index(self, opensearch: SearchServer) -> Iterator[None]:
        yield from self._indexed(opensearch)
