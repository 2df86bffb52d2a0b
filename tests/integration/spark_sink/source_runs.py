"""Runs the task of a source connector as a worker does, in this process and in the tests' Spark session."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from connect.kafka.broker.embedded import Broker
from connect.plugins.lifetime import Lifetime
from connect.storage.offsets import identity
from connect.telemetry.metrics import Registry
from spark_sink.query import supervised
from spark_sink.session import Session
from tests.support.waiting import until

JSON = "org.apache.kafka.connect.json.JsonConverter"


class Context:
    """See `EngineTaskContext`. Offsets outlive the task."""

    kind = "source"
    plugin_path: Sequence[str] = ()
    task_target = ("", None)

    def __init__(
        self, broker: Broker, config: Mapping[str, str], offsets: dict[str, Any], accounts: str | None = None
    ) -> None:
        self.connector = config["name"]
        self.configs = self.connector_config = dict(config)
        self.worker_config = {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.converter": JSON,
            "key.converter.schemas.enable": "false",
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        }
        self.registry = Registry()
        self.metrics = self.registry.labelled()
        self.transactional_id = None if accounts is None else f"pool-{self.connector}-0"
        self.offsets_topic = accounts
        self.exit_stack = ExitStack()
        self.lease = 3600.0
        self.stored = offsets
        self.is_stopping = False

    def lease_until(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) + self.lease

    def stopping(self) -> bool:
        return self.is_stopping

    def redact(self, text: str) -> str:
        return text

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [self.stored.get(identity(partition)) for partition in partitions]

    def store_offsets(self, entries: Sequence[tuple[dict[str, Any], Any]]) -> None:
        for partition, offset in entries:
            if offset is None:
                self.stored.pop(identity(partition), None)
            else:
                self.stored[identity(partition)] = json.loads(json.dumps(offset))


class Borrowed:
    """The tests' session: it stays open."""

    def __init__(self, session: Session) -> None:
        self.spark = session.spark
        self.remote = session.remote
        self.ended = session.ended
        self.turns = session.turns
        self.page = session.page

    def close(self) -> None:
        pass


class Running:
    """A task that runs."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self.context: Context = task.context

    def until(self, condition: Callable[[], bool], seconds: float = 90) -> None:
        """Watch the task until something is so."""

        def holds() -> bool:
            if condition():
                return True
            self.progress = self.task.watch(0.05)
            return False

        until(holds, seconds, lambda: str(self.task.watch(0)), every=0)

    def until_written(self, count: int) -> None:
        """Watch the task until it has written so many records."""
        self.until(lambda: self.task.tally.written >= count)

    def until_idle(self) -> None:
        """Watch the task until what is there at the moment is written."""
        self.until(lambda: self.task.queries[0].running is not None)
        self.task.queries[0].running.processAllAvailable()
        self.task.watch(0)
        self.task._report()


@contextmanager
def running(task_class: type[Any], context: Context, session: Session, monkeypatch: Any) -> Iterator[Running]:
    """A task from its start to its stop."""
    monkeypatch.setattr(supervised, "open_session", lambda *_, **__: Borrowed(session))
    task = task_class()
    task.context = context
    life = Lifetime(task)
    try:
        life.start(paused=False)
        yield Running(task)
    finally:
        life.end()


def everything(broker: Broker, topic: str, isolation: str = "read_committed") -> list[Message]:
    """All records of a topic, those of a partition in order, up to the ends."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": uuid.uuid4().hex}
    consumer = Consumer({**settings, "isolation.level": isolation, "enable.partition.eof": True})
    try:
        left = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in left])
        found: list[Message] = []
        while left:
            message = consumer.poll(30)
            assert message is not None, "the topic could not be read to its end"
            if message.error() is None:
                found.append(message)
                continue
            assert message.error().name() == "_PARTITION_EOF", message.error()
            left.discard(message.partition())
        return found
    finally:
        consumer.close()


def values(messages: Sequence[Message]) -> list[Any]:
    """Keys and values, from JSON."""
    return [(json.loads(m.key() or b"null"), json.loads(m.value() or b"null")) for m in messages]
