"""Fixtures for tests of the sinks: both products, and a run of the connector in memory."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from connect import SinkRecord
from connect.testing import SinkRun
from connectors.elasticsearch.sink import ElasticsearchSinkConnector, OpenSearchSinkConnector
from tests.servers.opensearch import OpenSearchServer
from tests.servers.search_server import SearchServer


class Target:
    """An index of one test, on one product."""

    def __init__(self, server: SearchServer) -> None:
        self.server = server
        self.topic = f"t-{uuid.uuid4().hex[:10]}"
        self.connector = OpenSearchSinkConnector if isinstance(server, OpenSearchServer) else ElasticsearchSinkConnector

    @property
    def open_search(self) -> bool:
        return isinstance(self.server, OpenSearchServer)

    def run(self, partitions: int = 1, **config: str) -> SinkRun:
        """The sink, for the topic that is named as the index is."""
        given = {key if "." in key else key.replace("_", "."): value for key, value in config.items()}
        if self.open_search and "write.method" in given:
            given["index.write.method"] = given.pop("write.method")
        base = {"topics": self.topic, "connection.url": self.server.url, "max.retries": "2", "retry.backoff.ms": "10"}
        return SinkRun(self.connector, {**base, **given}, partitions=partitions, timeout=60)

    def record(self, value: Any, key: Any = None, schema: Any = None, **more: Any) -> SinkRecord:
        return SinkRecord(self.topic, value, schema, key, **more)

    def documents(self, index: str | None = None) -> dict[str, Any]:
        return self.server.documents(index or self.topic)


@pytest.fixture(params=["elasticsearch", "opensearch"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A topic, and an index of its name, on each product."""
    found = Target(request.getfixturevalue(request.param))
    yield found
    found.server.drop(f"{found.topic}*")


@pytest.fixture
def only_elasticsearch(elasticsearch: SearchServer) -> Iterator[Target]:
    """The same on Elasticsearch."""
    found = Target(elasticsearch)
    yield found
    found.server.drop(f"{found.topic}*")
