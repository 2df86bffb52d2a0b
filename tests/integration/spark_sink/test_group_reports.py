"""What a sink on Spark commits to its consumer group, on a real broker and without Spark."""

from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import Committed
from connect.kafka.admin.group_notes import GroupNotes
from connect.kafka.broker.embedded import Broker
from connect.kafka.reading.topic_ends import TopicEnds
from connect.telemetry.metrics import Registry
from spark_sink.query.generations import Generation
from spark_sink.query.progress import QueryProgress
from spark_sink.query.sink_task import SinkQuery, SinkQueryTask
from tests.support.waiting import until

from .sink_runs import make_topic

FIRST, SECOND = Generation(1, "000001-first", {}), Generation(2, "000002-second", {})


class Reporting(SinkQueryTask):
    """Has one query, of these topics."""

    def __init__(self, broker: Broker, *topics: str) -> None:
        worker, config = {"bootstrap.servers": broker.bootstrap_servers}, {"name": f"of-{topics[0]}"}
        self.generation = FIRST
        self.generations: Any = SimpleNamespace(begin=lambda after, start: SECOND)
        self.progress = QueryProgress("all", Registry().labelled())
        self.queries = [SinkQuery("all", topics, self.progress)]
        self._group_notes = GroupNotes(worker, config)
        self._ends = TopicEnds(worker, config, list(topics))
        self._reported = {}
        self._problem = ""

    def checkpoint_location(self) -> str:
        return ""

    def write(self, query: SinkQuery, rows: Any) -> Any: ...

    def committed(self) -> dict[TopicPartition, Committed]:
        return self._group_notes.read()


@pytest.fixture
def places(broker: Broker) -> tuple[TopicPartition, TopicPartition]:
    """A partition that is there, and one of a topic that was deleted."""
    stays, goes = make_topic(broker), make_topic(broker)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([goes])[goes].result(30)
    until(lambda: goes not in admin.list_topics(timeout=30).topics)
    return TopicPartition(stays, 0), TopicPartition(goes, 0)


@pytest.fixture
def task(broker: Broker, places: tuple[TopicPartition, TopicPartition]) -> Iterator[Reporting]:
    made = Reporting(broker, *(place.topic for place in places))
    with closing(made._group_notes):
        yield made


def test_a_deleted_topic_keeps_no_other_offset_from_being_reported(
    task: Reporting, places: tuple[TopicPartition, TopicPartition]
) -> None:
    stays, goes = places
    task.progress.offsets = {stays: 3, goes: 7}
    task._report()
    assert task.failing() == ""
    assert task.committed() == {stays: Committed(3, FIRST.mark)}
    task.progress.offsets = {goes: 8}
    task._report()
    assert task.failing() == ""


def test_a_deleted_topic_keeps_no_generation_from_beginning(
    task: Reporting, places: tuple[TopicPartition, TopicPartition]
) -> None:
    stays, goes = places
    assert task._new_generation(FIRST, {goes: 7, stays: 2}) == SECOND
    assert task.committed() == {stays: Committed(2, SECOND.mark)}


def test_what_the_group_does_not_take_of_topics_that_are_there_is_told(
    task: Reporting, places: tuple[TopicPartition, TopicPartition], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(offsets: Any) -> None:
        raise ConnectError("The group has members.")

    monkeypatch.setattr(task._group_notes, "write", refuse)
    task.progress.offsets = {places[0]: 3}
    task._report()
    assert task.failing() == "The group has members."
