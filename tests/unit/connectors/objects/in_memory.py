"""A store in memory behind the sink: what is written, without a server and without a client's library."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from connect import TopicPartition
from connect.testing import SinkRun
from connectors.objects.sink.connector import ObjectSinkConnector
from connectors.objects.store import OTHER, Failure, Lost, Store, Upload, check_existing, last_of, told
from connectors.s3.sink import S3SinkConnector


class InMemory(Store):
    """The objects by key, each with its metadata; and the parts of begun uploads. While it is not `open`, puts wait."""

    name = where = "memory"

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, Mapping[str, str]]] = {}
        self.parts: dict[_Upload, list[bytes]] = {}
        self.open = threading.Event()
        self.open.set()

    def upload(
        self, key: str, content_type: str, first: int, rules: str, *, topic: str, conditional: bool
    ) -> "_Upload":
        return _Upload(self, key, first, rules, topic, conditional)

    def last_offset(self, key: str, topic: str) -> int | None:
        return last_of(self.objects.get(key, (b"", {}))[1], topic)

    def failure(self, error: BaseException, doing: str) -> Failure:
        return Failure(OTHER, isinstance(error, ConnectionError), f"{doing}: {error!r}")

    def close(self) -> None:
        pass

    def measured(self) -> list[tuple[str, float]]:
        return []


class _Upload(Upload):
    def __init__(self, store: InMemory, key: str, first: int, rules: str, topic: str, conditional: bool) -> None:
        self.key = key
        self._store = store
        self._first = first
        self._rules = rules
        self._topic = topic
        self._conditional = conditional
        self._begun = False

    def put(self, body: bytes, last: int, records: int) -> None:
        assert self._store.open.wait(60)
        if self._conditional and self.key in self._store.objects:
            said = self._store.objects[self.key][1]
            check_existing(said, last, self._rules, self._topic, key=self.key, where="memory")
            return
        self._store.objects[self.key] = (body, told(self._first, last, records, self._rules, self._topic))

    def part(self, body: bytes) -> None:
        if not self._begun:
            self._store.parts[self] = []
        self._begun = True
        self._there().append(body)

    def complete(self, last: int, records: int) -> None:
        self.put(b"".join(self._there()), last, records)
        self.abort()

    def abort(self) -> None:
        self._store.parts.pop(self, None)

    def _there(self) -> list[bytes]:
        if self not in self._store.parts:
            raise Lost(ConnectionError("no such upload"))
        return self._store.parts[self]


_PLACES = {
    "S3SinkConnector": {"s3.bucket.name": "b"},
    "GcsSinkConnector": {"gcs.bucket.name": "b"},
    "AzureBlobSinkConnector": {"azblob.account.name": "a"},
}


class ObjectRun(SinkRun):
    """A run of the sink into a store in memory.

    Attributes:
        store: where to.
    """

    def __init__(
        self, config: Mapping[str, str], connector: type[ObjectSinkConnector] = S3SinkConnector, **more: Any
    ) -> None:
        store = self.store = InMemory()

        class Task(connector.task):  # type: ignore[misc, name-defined]
            def store(self, options: Any, config: Mapping[str, str]) -> Store:
                return store

        class Connector(connector):  # type: ignore[misc, valid-type]
            task = Task

        super().__init__(Connector, {**_PLACES[connector.__name__], **config}, **more)

    @property
    def contents(self) -> dict[str, bytes]:
        """What is in each object."""
        return {key: body for key, (body, _) in self.store.objects.items()}

    def await_committed(self, offset: int, topic: str = "test") -> None:
        """Wait until the records of partition 0 before an offset are durable."""
        deadline = time.monotonic() + 10
        while self.committed.get(TopicPartition(topic, 0), 0) < offset:
            assert time.monotonic() < deadline, f"only {self.committed} is durable"
            self.put_nothing()
            self.commit()
            time.sleep(0.005)
