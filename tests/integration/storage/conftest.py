from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from connect.kafka.admin.topics import TopicShape
from connect.kafka.broker.embedded import Broker
from connect.kafka.compacted_log import CompactedLog, LogRecord
from tests.support.waiting import until

ONE = TopicShape(1, 1, {}, exact_partitions=1)


class Log(CompactedLog):
    """A log that keeps what it was handed."""

    def __init__(self, servers: str, topic: str, shape: TopicShape = ONE, **other: object) -> None:
        self.records: list[LogRecord] = []
        super().__init__(topic, {"bootstrap.servers": servers}, shape, self.records.append, **other)  # type: ignore[arg-type]

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


@pytest.fixture
def topic() -> str:
    """A name that no other test has."""
    return f"log-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def to_close() -> Iterator[ExitStack]:
    """Closes what it is given, at the end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def make_log(broker: Broker, to_close: ExitStack) -> Callable[..., Log]:
    """Makes logs, not started: `make_log(topic, shape, transactional_id=..., servers=...)`."""

    def make(topic: str, shape: TopicShape = ONE, servers: str | None = None, **other: object) -> Log:
        log = Log(servers or broker.bootstrap_servers, topic, shape, **other)
        to_close.callback(log.close)
        return log

    return make


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Waits until something holds: `eventually(lambda: ..., within=30)`."""

    return until


@pytest.fixture
def suspended() -> Callable[[Broker], object]:
    """A broker that answers nothing for a while, and keeps its connections: `with suspended(broker)`."""

    @contextmanager
    def suspend(broker: Broker) -> Iterator[None]:
        process = psutil.Process(broker.pid)
        process.suspend()
        try:
            until(lambda: process.status() == psutil.STATUS_STOPPED)
            yield
        finally:
            process.resume()

    return suspend
