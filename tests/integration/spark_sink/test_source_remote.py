"""Sources that work through a Spark Connect server: what a table holds and how it changes, each row once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from spark_sink.connector_source.task import ConnectorSourceTask
from spark_sink.session import open_session
from spark_sink.session.server import Server
from spark_sink.source.delta_task import DeltaSourceTask
from spark_sink.source.sql_task import SqlSourceTask
from tests.integration.spark_sink.source_runs import Context, Running, everything, running, values

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.usefixtures("no_shared_spark")]


def until_written(run: Running, count: int) -> None:
    """Wait until the task tells of so many: what it counts, it counts on the other side."""
    run.until(lambda: run.task.watch(0).written >= count)


def of_table(folder: Path, topic: str) -> dict[str, str]:
    """A source of the table `t` in a folder."""
    return {
        "name": f"remote-{topic}",
        "table": f"{folder}/t",
        "topic": topic,
        "key.fields": "id",
        "checkpoint.location": (folder / "checkpoints").as_uri(),
        "trigger.interval.ms": "100",
    }


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_table_and_its_changes(
    broker: Broker,
    connect_server: Server,
    tmp_path: Path,
    new_topic: Callable[..., str],
    monkeypatch: Any,
    exactly_once: bool,
) -> None:
    topic, accounts = new_topic(2), new_topic(5, {"cleanup.policy": "compact"})
    table = f"delta.`{tmp_path}/t`"
    config = of_table(tmp_path, topic)
    offsets: dict[str, Any] = {}
    with open_session({"spark.remote": connect_server.url}, "source") as session:
        sql = session.spark.sql
        sql(f"CREATE TABLE {table} (id bigint, n bigint) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
        sql(f"INSERT INTO {table} VALUES (1, 10), (2, 20)")
        for turn in range(2):  # the second run goes on where the first one ended
            context = Context(broker, config, offsets, accounts if exactly_once else None)
            with running(DeltaSourceTask, context, session, monkeypatch) as run:
                if turn == 0:
                    until_written(run, 2)
                sql(f"UPDATE {table} SET n = n + 1 WHERE id = 1")
                until_written(run, 3 - 2 * turn)
    found = values(everything(broker, topic))
    assert [value["n"] for key, value in found if key["id"] == 1] == [10, 11, 12]
    assert [value["n"] for key, value in found if key["id"] == 2] == [20]


@pytest.mark.promise("P3")
def test_a_pause_holds_on_a_server_of_another_machine(
    broker: Broker, connect_server: Server, tmp_path: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(DeltaSourceTask, "driver_is_here", lambda self: False)
    topic, table = new_topic(), f"delta.`{tmp_path}/t`"
    config = of_table(tmp_path, topic)
    with open_session({"spark.remote": connect_server.url}, "source") as session:
        sql = session.spark.sql
        sql(f"CREATE TABLE {table} (id bigint) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
        sql(f"INSERT INTO {table} VALUES (1)")
        with running(DeltaSourceTask, Context(broker, config, {}), session, monkeypatch) as run:
            until_written(run, 1)
            run.task.pause()
            run.until(lambda: run.task.queries[0].running is None)
            assert not session.spark.streams.active
            sql(f"INSERT INTO {table} VALUES (2)")
            run.task.resume()
            until_written(run, 2)
    assert sorted(value["id"] for _, value in values(everything(broker, topic))) == [1, 2]


def test_rows_of_a_query(
    broker: Broker, connect_server: Server, tmp_path: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> None:
    topic = new_topic()
    config = {
        "name": f"remote-{topic}",
        "query": "SELECT id, id * 2 AS twice FROM range(5)",
        "incrementing.column.name": "id",
        "topic": topic,
        "key.fields": "id",
        "checkpoint.location": (tmp_path / "checkpoints").as_uri(),
        "poll.interval.ms": "100",
    }
    with (
        open_session({"spark.remote": connect_server.url}, "source") as session,
        running(SqlSourceTask, Context(broker, config, {}), session, monkeypatch) as run,
    ):
        until_written(run, 5)
    assert sorted(value["twice"] for _, value in values(everything(broker, topic))) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("exactly_once", [True, False])
def test_splits_of_a_source_connector(
    broker: Broker,
    connect_server: Server,
    new_topic: Callable[..., str],
    monkeypatch: Any,
    exactly_once: bool,
) -> None:
    topic, accounts = new_topic(), new_topic(5, {"cleanup.policy": "compact"})
    config = {"name": f"remote-{topic}", "kafka.topic": topic, "quickstart": "users", "iterations": "50000"}
    config |= {"task.count": "1", "task.first": "0", "task.seed": "7", "task.id": "0", "max.interval": "0"}
    offsets: dict[str, Any] = {}
    with open_session({"spark.remote": connect_server.url}, "source") as session:
        for count in (50_000, 90_000):  # the second run goes on where the first one ended
            context = Context(broker, {**config, "iterations": str(count)}, offsets, accounts if exactly_once else None)
            context.task_target = ("connectors.datagen:DatagenTask", None)
            with running(ConnectorSourceTask, context, session, monkeypatch) as run:
                until_written(run, count if count == 50_000 else 40_000)
    assert len(everything(broker, topic)) == 90_000
    assert [offset["current.iteration"] for offset in offsets.values() if "current.iteration" in offset] == [90_000]


def test_a_source_connector_as_a_frame(connect_server: Server) -> None:
    with open_session({"spark.remote": connect_server.url}, "source") as session:
        reader = session.spark.read.format("connect").option("connector.class", "DatagenConnector")
        options = {"quickstart": "users", "kafka.topic": "t", "iterations": "30000", "max.interval": "0"}
        assert reader.options(**options).load().count() == 30_000
