"""The task of a source connector on Spark, in this process: pauses, rests, says what is wrong."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConnectError
from connect.kafka.broker.embedded import Broker
from connect.storage.offsets import identity
from spark_sink.connector_source.task import ConnectorSourceTask
from spark_sink.session import Session
from tests.integration.spark_sink.connector_sinks import PLUGINS
from tests.integration.spark_sink.source_runs import Context, everything, running, values

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE line (id INTEGER PRIMARY KEY, word TEXT)")
        connection.executemany("INSERT INTO line VALUES (?, 'w')", [(number,) for number in range(100)])
    return path


def _context(broker: Broker, table: Path, topic: str, **changes: str) -> Context:
    config = {
        "name": f"splits-{topic}",
        "connection.url": f"jdbc:sqlite:{table}",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": topic.removesuffix("line"),
        "tables": "line",
        "poll.interval.ms": "50",
        **changes,
    }
    context = Context(broker, config, {})
    context.task_target = ("connectors.jdbc.source:JdbcSourceTask", None)
    return context


def test_it_reads_what_is_there_and_rests(
    broker: Broker, session: Session, table: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    topic = new_topic(name=f"rests-{id(table)}-line")
    context = _context(broker, table, topic, trigger="available_now")
    with running(ConnectorSourceTask, context, session, monkeypatch) as run:
        run.until(lambda: run.task.queries[0].done)
        progress = run.task.watch(0)
        assert (progress.read, progress.written, progress.errors) == (100, 100, 0)
        assert progress.topics == {topic}
    assert sorted(value["id"] for _, value in values(everything(broker, topic))) == list(range(100))
    assert context.stored == {identity({"protocol": "1", "table": "line"}): {"incrementing": 99}}


def test_what_readers_measure_is_the_task_s(
    broker: Broker, session: Session, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    topic = new_topic()
    context = Context(broker, {"name": f"splits-{topic}", "topic": topic, "trigger": "available_now"}, {})
    context.task_target = ("spark_numbers:NumbersTask", PLUGINS)
    with running(ConnectorSourceTask, context, session, monkeypatch) as run:
        run.until(lambda: run.task.queries[0].done)
    assert sorted(value["number"] for _, value in values(everything(broker, topic))) == list(range(10))
    measured = {sample.name: sample.value for sample in context.registry.snapshot()}
    assert measured["numbers_read_total"] == 10
    assert measured["numbers_read_seconds"].seen == 2  # type: ignore[union-attr]


def test_a_paused_one_plans_nothing(
    broker: Broker, session: Session, table: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    topic = new_topic(name=f"paused-{id(table)}-line")
    context = _context(broker, table, topic)
    with running(ConnectorSourceTask, context, session, monkeypatch) as run:
        run.until(lambda: run.task.watch(0).written == 100)
        run.task.pause()
        run.until(lambda: not run.task.watch(0).busy)
        with closing(sqlite3.connect(table)) as connection, connection:
            connection.execute("INSERT INTO line VALUES (100, 'x')")
        for _ in range(20):
            assert run.task.watch(0.05).written == 100
        run.task.resume()
        run.until(lambda: run.task.watch(0).written == 101)


def test_a_record_that_cannot_be_written_fails_the_task_with_its_place(
    broker: Broker, session: Session, table: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    topic = new_topic(name=f"fails-{id(table)}-line")
    cast = {"transforms": "cast", "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    context = _context(broker, table, topic, **cast, **{"transforms.cast.spec": "word:int32"})
    with (
        running(ConnectorSourceTask, context, session, monkeypatch) as run,
        pytest.raises(ConnectError, match=r"(?s)Cast.*line|line.*Cast|\bw\b"),
    ):
        run.until(lambda: False, seconds=60)
    assert context.stored == {}, "nothing counts as read"


def test_a_database_that_is_away_is_said_and_waited_for(
    broker: Broker, session: Session, table: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    topic = new_topic(name=f"away-{id(table)}-line")
    context = _context(broker, table, topic, **{"connection.backoff.ms": "100"})
    context.configs["connection.url"] = "jdbc:postgresql://127.0.0.1:9/none"  # type: ignore[index]
    with running(ConnectorSourceTask, context, session, monkeypatch) as run:
        run.until(lambda: "127.0.0.1" in run.task.watch(0).failing)
