"""Indices that the source reads from, on either product, and a run of it in memory."""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from connect.testing import SourceRun
from connectors.elasticsearch.source import ElasticsearchSourceConnector, OpenSearchSourceConnector
from tests.servers.opensearch import OpenSearchServer
from tests.servers.search_server import SearchServer


class Index:
    """One index of a server's, made for a test.

    Attributes:
        connector: the class that reads it.
        url: where it is read; a test may put something in between.
    """

    def __init__(self, server: SearchServer, shards: int = 1, **properties: str) -> None:
        self.server = server
        self.name = f"test-{uuid.uuid4().hex[:12]}"
        self.url = server.url
        self.beside = {self.name}
        opens = isinstance(server, OpenSearchServer)
        self.connector = OpenSearchSourceConnector if opens else ElasticsearchSourceConnector
        self.make(shards, **properties)

    def make(self, shards: int = 1, name: str = "", **properties: str) -> None:
        """Make it, or another one beside it, or itself again."""
        mapping = {field.replace("__", "."): {"type": kind} for field, kind in properties.items()}
        # Only who asks for it makes documents visible, as with a long refresh_interval in earnest.
        settings = {"number_of_shards": shards, "number_of_replicas": 0, "refresh_interval": "-1"}
        body = {"settings": settings, "mappings": {"properties": mapping}}
        self.beside.add(name or self.name)
        self.server.request("PUT", f"/{name or self.name}", body)

    def drop(self) -> None:
        """Remove it and those beside it."""
        self.server.drop(",".join(sorted(self.beside)))

    def put(self, documents: Iterable[tuple[str, dict[str, Any]]], name: str = "") -> None:
        """Write documents by their ids, in this order."""
        lines = []
        for key, document in documents:
            lines += [json.dumps({"index": {"_index": name or self.name, "_id": key}}), json.dumps(document)]
        if lines:
            answer = self.server.request("POST", "/_bulk", "\n".join([*lines, ""]).encode())
            assert not answer["errors"], answer

    def numbered(self, first: int, count: int, **more: Any) -> None:
        """Write documents that have a number."""
        self.put((f"n{number}", {"n": number, **more}) for number in range(first, first + count))

    def delete(self, *keys: str) -> None:
        """Remove documents."""
        for key in keys:
            self.server.request("DELETE", f"/{self.name}/_doc/{key}")

    def config(self, **config: str) -> dict[str, str]:
        """What reads it, quickly; keys with `_` for `.`."""
        told = {key.replace("_", "."): value for key, value in config.items()}
        quick = {"poll.interval.ms": "1", "delay.ms": "0", "read.timeout.ms": "20000"}
        return {"connection.url": self.url, "index.names": f"{self.name}*", **quick, **told}

    def run(self, offsets: Any = (), timeout: float = 30.0, **config: str) -> SourceRun:
        """A run of the source in memory."""
        return SourceRun(self.connector, self.config(**config), offsets=offsets, timeout=timeout)


NewIndex = Callable[..., Index]


@pytest.fixture(params=["elasticsearch", "opensearch"])
def new_index(request: pytest.FixtureRequest) -> Iterator[NewIndex]:
    """Makes indices on either product: `new_index(shards=2, at="date")`."""
    yield from _new_index(request.getfixturevalue(request.param))


@pytest.fixture
def new_elasticsearch_index(elasticsearch: SearchServer) -> Iterator[NewIndex]:
    """The same, where one product is enough."""
    yield from _new_index(elasticsearch)


@pytest.fixture
def new_opensearch_index(opensearch: SearchServer) -> Iterator[NewIndex]:
    """The same, for what Elasticsearch's build for tests has not."""
    yield from _new_index(opensearch)


def _new_index(server: SearchServer) -> Iterator[NewIndex]:
    made: list[Index] = []

    def create(shards: int = 1, **properties: str) -> Index:
        made.append(Index(server, shards, **properties))
        return made[-1]

    yield create
    for index in made:
        index.drop()


def numbers(run: SourceRun) -> list[int]:
    """The numbers of all records."""
    return [record.value["n"] for record in run.records]


def poll_for(run: SourceRun, seconds: float) -> None:
    """Poll for some time, in which nothing is to come."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        run.poll()
