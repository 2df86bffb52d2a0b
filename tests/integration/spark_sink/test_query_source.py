"""Rows of queries come to a real topic: of one that is run again and again, and of a streaming one."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConfigError, ConnectError
from connect.kafka.broker.embedded import Broker
from spark_sink.session import Session
from spark_sink.source.sql_task import SqlSourceTask
from tests.integration.spark_sink.source_runs import Context, everything, running, values


@pytest.fixture
def rows_of(spark: Any) -> Callable[..., None]:
    """Gives the view `events` other rows: (id, name, seconds since 2024)."""

    def set_rows(*rows: tuple[int, str, int]) -> None:
        start = dt.datetime.fromisoformat("2024-01-01")  # without a zone, as the type is
        told = [(number, name, start + dt.timedelta(seconds=seconds)) for number, name, seconds in rows]
        spark.createDataFrame(told, "id bigint, name string, at timestamp_ntz").createOrReplaceTempView("events")

    return set_rows


@pytest.fixture
def source(broker: Broker, session: Session, tmp_path: Path, new_topic: Callable[..., str], monkeypatch: Any) -> Any:
    """Runs a query's source, again with the same offsets."""

    class Source:
        def __init__(self) -> None:
            self.topic = new_topic()
            self.accounts = new_topic(5, {"cleanup.policy": "compact"})
            self.offsets: dict[str, Any] = {}

        def __call__(self, exactly_once: bool = False, **keys: str) -> Any:
            config = {
                "name": f"query-{self.topic}",
                "query": "SELECT * FROM events",
                "topic": self.topic,
                "key.fields": "id",
                "columns.include": "id,name",
                "checkpoint.location": (tmp_path / "checkpoints").as_uri(),
                "trigger.interval.ms": "100",
                **{name.replace("_", "."): value for name, value in keys.items()},
            }
            if config.get("mode") != "stream":
                config |= {"poll.interval.ms": keys.get("poll_interval_ms", "100")}
            context = Context(broker, config, self.offsets, self.accounts if exactly_once else None)
            return running(SqlSourceTask, context, session, monkeypatch)

        def names(self) -> list[str]:
            return [value["name"] for _, value in values(everything(broker, self.topic))]

        def offset(self) -> dict[str, Any]:
            [found] = self.offsets.values()
            return {name: value for name, value in found.items() if name != "checkpoint"}

    return Source()


def test_each_run_takes_the_rows_above_the_last_one(source: Any, rows_of: Callable[..., None]) -> None:
    rows_of((1, "a", 0), (2, "b", 0))
    with source(incrementing_column_name="id") as run:
        run.until_written(2)
        rows_of((1, "a", 0), (2, "b", 0), (3, "c", 0))
        run.until_written(3)
        run.until(lambda: source.offset() == {"incrementing": 3, "batch": 2})
    rows_of((3, "c", 0), (4, "d", 0))
    with source(incrementing_column_name="id") as run:
        run.until_written(1)
    assert sorted(source.names()) == ["a", "b", "c", "d"]


def test_rows_of_one_moment_are_told_apart_by_their_number(source: Any, rows_of: Callable[..., None]) -> None:
    keys = {"incrementing_column_name": "id", "timestamp_column_name": "at"}
    rows_of((1, "a", 10), (2, "b", 10))
    with source(**keys) as run:
        run.until_written(2)
        rows_of((1, "a", 10), (2, "b", 10), (3, "c", 10), (1, "a2", 11))
        run.until_written(4)
        run.until(lambda: source.offset() == {"timestamp": "2024-01-01T00:00:11+00:00", "incrementing": 1, "batch": 2})
    assert sorted(source.names()) == ["a", "a2", "b", "c"]


def test_without_such_columns_each_run_takes_all_rows(source: Any, rows_of: Callable[..., None]) -> None:
    rows_of((1, "a", 0), (2, "b", 0))
    with source(trigger="available_now") as run:
        run.until(lambda: run.task.queries[0].done)
    with source(trigger="available_now") as run:
        run.until(lambda: run.task.queries[0].done)
    assert sorted(source.names()) == ["a", "a", "b", "b"]


@pytest.mark.promise("P10")
def test_a_run_that_was_not_finished_is_repeated_with_the_same_rows(
    source: Any, rows_of: Callable[..., None], monkeypatch: Any
) -> None:
    rows_of((1, "a", 0), (2, "b", 0))
    keys = {"incrementing_column_name": "id", "exactly_once": True, "kafka_writers": "2"}
    with monkeypatch.context() as patch:
        patch.setattr("spark_sink.source.polls.Polls._told", _killed)  # after the rows, before what says so
        with source(**keys) as run, pytest.raises(ConnectError, match="here it ends"):
            run.until(lambda: False)
    assert sorted(source.names()) == ["a", "b"]
    rows_of((1, "a", 0), (2, "b", 0), (3, "c", 0))
    with source(**keys) as run:
        run.until_written(1)
        run.until(lambda: source.offset().get("incrementing") == 3)
        assert run.task.tally.repeated >= 1
    assert sorted(source.names()) == ["a", "b", "c"]


def test_what_is_there_is_written_behind_a_run_that_was_not_finished(
    source: Any, rows_of: Callable[..., None], monkeypatch: Any
) -> None:
    rows_of((1, "a", 0))
    keys = {"incrementing_column_name": "id", "exactly_once": True, "trigger": "available_now"}
    keys["poll_interval_ms"] = "3600000"
    with monkeypatch.context() as patch:
        patch.setattr("spark_sink.source.polls.Polls._told", _killed)
        with source(**keys) as run, pytest.raises(ConnectError, match="here it ends"):
            run.until(lambda: False)
    rows_of((1, "a", 0), (2, "b", 0))
    with source(**keys) as run:
        run.until(lambda: run.task.queries[0].done)
    assert source.names() == ["a", "b"]


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_run_of_all_rows_that_was_not_finished_does_not_hold_up_those_by_a_column(
    source: Any, rows_of: Callable[..., None], monkeypatch: Any, exactly_once: bool
) -> None:
    rows_of((1, "a", 0), (2, "b", 0))
    with monkeypatch.context() as patch:
        patch.setattr("spark_sink.source.polls.Polls._told", _killed)
        with source(exactly_once=exactly_once) as run, pytest.raises(ConnectError, match="here it ends"):
            run.until(lambda: False)
    with source(exactly_once=exactly_once, incrementing_column_name="id") as run:
        run.until(lambda: source.offset().get("incrementing") == 2, 30)
    assert sorted(source.names()) == ["a", "a", "b", "b"]


def _killed(polls: Any) -> dict[str, Any]:
    if polls._begun is None:
        raise RuntimeError("here it ends")
    return {"batch": polls._batch}


def test_an_altered_offset_takes_rows_again(source: Any, rows_of: Callable[..., None]) -> None:
    rows_of((1, "a", 0), (2, "b", 0), (3, "c", 0))
    keys = {"incrementing_column_name": "id", "exactly_once": True}
    with source(**keys) as run:
        run.until(lambda: source.offset().get("incrementing") == 3)
    [name] = source.offsets
    source.offsets[name] = {**source.offsets[name], "incrementing": 2}
    with source(**keys) as run:
        run.until(lambda: source.offset().get("incrementing") == 3)
    assert sorted(source.names()) == ["a", "b", "c", "c"]


def test_a_column_that_cannot_count_is_named(source: Any, rows_of: Callable[..., None]) -> None:
    rows_of((1, "a", 0))
    with (
        pytest.raises(ConfigError, match='"name" is of type string'),
        source(incrementing_column_name="name") as run,
    ):
        run.until(lambda: False)


@pytest.mark.slow
def test_a_stream_of_a_format(source: Any, spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.json").write_text('{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n')
    keys = {
        "mode": "stream",
        "query": "SELECT id, upper(name) AS name FROM source WHERE id <> 2",
        "source.format": "json",
        "source.schema": "id bigint, name string",
        "source.option.path": str(folder),
        "exactly_once": True,
    }
    with source(**keys) as run:
        run.until_idle()
        (folder / "2.json").write_text('{"id": 3, "name": "c"}\n')
        run.until_idle()
    with source(**keys) as run:
        run.until_idle()
    assert source.names() == ["A", "C"]
    assert source.offset() == {"batch": 1}


@pytest.mark.slow
def test_a_stream_of_a_table_of_the_catalog(source: Any, spark: Any, tmp_path: Path) -> None:
    table = f"t{tmp_path.name.replace('-', '_')}"
    spark.sql(f"CREATE TABLE {table} (id bigint, name string) USING delta LOCATION '{tmp_path}/t'")
    try:
        spark.sql(f"INSERT INTO {table} VALUES (1, 'a')")
        with source(mode="stream", query=f"SELECT id, name FROM STREAM({table})") as run:
            run.until_idle()
        assert source.names() == ["a"]
    finally:
        spark.sql(f"DROP TABLE {table}")


@pytest.mark.slow
def test_aggregates_of_a_stream_give_what_changed(source: Any, spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.json").write_text('{"id": 1, "n": 1}\n{"id": 1, "n": 2}\n')
    keys = {
        "mode": "stream",
        "query": "SELECT id, CAST(sum(n) AS string) AS name FROM source GROUP BY id",
        "source.format": "json",
        "source.schema": "id bigint, n int",
        "source.option.path": str(folder),
        "output.mode": "update",
    }
    with source(**keys) as run:
        run.until_idle()
        (folder / "2.json").write_text('{"id": 1, "n": 4}\n{"id": 2, "n": 5}\n')
        run.until_idle()
    assert sorted(source.names()) == ["3", "5", "7"]
