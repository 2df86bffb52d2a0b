"""Runs the task of a sink connector on Spark as a worker does, in this process and in the tests' Spark session."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from connect.kafka.admin.client import Admin
from connect.kafka.broker.embedded import Broker
from connect.plugins.lifetime import Lifetime
from spark_sink.query import supervised
from spark_sink.query.table_task import TableTask
from spark_sink.session import Session

from .source_runs import Borrowed, Context, Running

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"


class SinkContext(Context):
    """See `EngineTaskContext`."""

    kind = "sink"

    def __init__(self, broker: Broker, config: Mapping[str, str]) -> None:
        defaults = {
            "connector.class": "SparkSink",
            "trigger.interval.ms": "0",
            "key.converter": STRING,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        }
        super().__init__(broker, {**defaults, **config}, {})


class Sink:
    """One connector, run again and again.

    Args:
        broker, session, monkeypatch: of the test.
        config: the connector's.
    """

    def __init__(self, broker: Broker, session: Session, monkeypatch: Any, config: Mapping[str, str]) -> None:
        self.broker = broker
        self.config = {"name": f"sink-{uuid.uuid4().hex[:8]}", **config}
        self._session = session
        self._monkeypatch = monkeypatch

    @contextmanager
    def running(self, task_class: type[Any] = TableTask, *, paused: bool = False, **changes: str) -> Iterator[Running]:
        """Its task, from start to stop; underscores in the names of changes stand for dots."""
        config = {**self.config, **{key.replace("_", "."): value for key, value in changes.items()}}
        self._monkeypatch.setattr(supervised, "open_session", lambda *_, **__: Borrowed(self._session))
        task = task_class()
        task.context = SinkContext(self.broker, config)
        life = Lifetime(task)
        try:
            life.start(paused=paused)
            yield Running(task)
        finally:
            life.end()

    def run_until(self, offsets: Mapping[tuple[str, int], int], **changes: str) -> None:
        """Run it until the group has these offsets."""
        with self.running(**changes) as run:
            run.until(lambda: offsets.items() <= {k: v for k, (v, _) in self.committed().items()}.items())

    def committed(self) -> dict[tuple[str, int], tuple[int, str]]:
        """The group's offsets with what is noted beside them."""
        # confluent-kafka reads beyond the end of a note (2.16.1).
        with closing(Admin({"bootstrap.servers": self.broker.bootstrap_servers})) as admin:
            found = admin.committed(f"connect-{self.config['name']}")
        return {(place.topic, place.partition): at for place, at in found.items()}

    def alter(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """What a tool does: offsets without a note."""
        group = f"connect-{self.config['name']}"
        admin: Any = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        places = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(20)


def make_topic(broker: Broker, partitions: int = 1, name: str | None = None) -> str:
    """An empty topic of a new name."""
    name = name or f"rows-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    return name


def produce(broker: Broker, topic: str, rows: Sequence[Any], partition: int = 0, moment: int = 0) -> None:
    """Rows as JSON; bytes as they are. Of a moment in ms since 1970, or of now."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for row in rows:
        value = row if isinstance(row, bytes) else json.dumps(row).encode()
        producer.produce(topic, value, partition=partition, timestamp=moment)
    assert producer.flush(30) == 0


def rows(table: Path) -> list[dict[str, Any]]:
    """All rows of a Delta table, in the order of their n where they have one; none while there is no table."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(str(table)):
        return []
    return sorted(DeltaTable(table).to_pyarrow_table().to_pylist(), key=lambda row: row.get("n", 0))


def numbers(table: Path) -> list[int]:
    """The n of all rows."""
    return [row["n"] for row in rows(table)]


def delete_before(broker: Broker, topic: str, offset: int) -> None:
    """Delete the records of partition 0 before an offset."""
    admin: Any = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for done in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        done.result(30)
