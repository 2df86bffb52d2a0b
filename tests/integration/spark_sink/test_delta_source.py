"""Changes of a real Delta table come to a real topic: in order for each key, each once, none left out."""

import datetime as dt
import json
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConfigError, ConnectError
from connect.kafka.broker.embedded import Broker
from spark_sink.session import Session
from spark_sink.source.batches import BatchWriter, NotNow
from spark_sink.source.delta_task import DeltaSourceTask
from tests.integration.spark_sink.source_runs import JSON, Context, everything, running, values


class Table:
    """A Delta table with a change data feed, and what it holds."""

    def __init__(self, spark: Any, path: Path, columns: str = "id bigint, n bigint", feed: bool = True) -> None:
        self.spark = spark
        self.path = str(path)
        self.name = f"delta.`{path}`"
        spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING delta TBLPROPERTIES"
            f" (delta.enableChangeDataFeed = {str(feed).lower()})"
        )

    def insert(self, *rows: str) -> None:
        self.spark.sql(f"INSERT INTO {self.name} VALUES {', '.join(rows)}")

    def sql(self, text: str) -> None:
        self.spark.sql(text.format(t=self.name))

    def rows(self) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.spark.sql(f"SELECT * FROM {self.name}").collect()]


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Table:
    return Table(spark, tmp_path / "t")


@pytest.fixture
def source(
    broker: Broker, session: Session, table: Table, tmp_path: Path, new_topic: Callable[..., str], monkeypatch: Any
) -> Any:
    """Runs a Delta source: `with source(key_fields="id") as run`, again with the same offsets and checkpoints."""

    class Source:
        def __init__(self) -> None:
            self.topic = new_topic(3)
            self.accounts = new_topic(5, {"cleanup.policy": "compact"})
            self.offsets: dict[str, Any] = {}

        def context(self, exactly_once: bool = False, **keys: str) -> Context:
            config = {
                "name": f"delta-{self.topic}",
                "table": table.path,
                "topic": self.topic,
                "checkpoint.location": (tmp_path / "checkpoints").as_uri(),
                "trigger.interval.ms": "100",
                **{name.replace("_", "."): value for name, value in keys.items()},
            }
            return Context(broker, config, self.offsets, self.accounts if exactly_once else None)

        def __call__(self, **keys: Any) -> Any:
            return running(DeltaSourceTask, self.context(**keys), session, monkeypatch)

        def records(self) -> list[Any]:
            return values(everything(broker, self.topic))

        def offset(self) -> dict[str, Any]:
            [found] = self.offsets.values()
            return dict(found)

    return Source()


def by_key(records: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for key, value in records:
        found.setdefault(key["id"], []).append(value)
    return found


def test_the_table_as_it_is_and_then_its_changes(source: Any, table: Table) -> None:
    table.insert("(1, 10)", "(2, 20)", "(3, 30)")
    with source(key_fields="id") as run:
        run.until_idle()
        table.sql("UPDATE {t} SET n = 11 WHERE id = 1")
        table.sql("DELETE FROM {t} WHERE id = 2")
        run.until_idle()
        assert run.task.watch(0).written == 5
    assert by_key(source.records()) == {
        1: [{"id": 1, "n": 10}, {"id": 1, "n": 11}],
        2: [{"id": 2, "n": 20}, None],
        3: [{"id": 3, "n": 30}],
    }
    offset = source.offset()
    assert offset.pop("checkpoint").endswith("@version=4")
    assert offset == {"version": 4}


@pytest.mark.promise("P10")
@pytest.mark.slow
def test_nothing_is_left_out_or_repeated_between_runs(source: Any, table: Table) -> None:
    table.insert("(1, 0)")
    for turn in range(1, 4):
        with source(key_fields="id", exactly_once=True) as run:
            run.until_idle()
            table.sql(f"UPDATE {{t}} SET n = {turn} WHERE id = 1")
            run.until_idle()
        table.insert(f"({turn + 100}, 0)")
    with source(key_fields="id", exactly_once=True) as run:
        run.until_idle()
    found = by_key(source.records())
    assert [value["n"] for value in found.pop(1)] == [0, 1, 2, 3]
    assert found == {key: [{"id": key, "n": 0}] for key in (101, 102, 103)}


@pytest.mark.parametrize("exactly_once", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_key_sees_its_versions_in_order_though_they_come_in_one_batch(
    source: Any, table: Table, exactly_once: bool, seed: int
) -> None:
    table.insert(*(f"({key}, 0)" for key in range(40)))
    chance = random.Random(seed)
    expected = {key: [0] for key in range(40)}
    for version in range(1, 6):
        keys = chance.sample(range(40), 25)
        table.sql(f"UPDATE {{t}} SET n = {version} WHERE id IN ({', '.join(map(str, keys))})")
        for key in keys:
            expected[key].append(version)
    with source(key_fields="id", kafka_writers="4", starting_version="0", exactly_once=exactly_once) as run:
        run.until_idle()
        assert run.task.progress.batch == 0  # all of them in one
    assert {key: [value["n"] for value in found] for key, found in by_key(source.records()).items()} == expected


@pytest.mark.slow
def test_envelopes_of_debezium(source: Any, table: Table) -> None:
    table.insert("(1, 10)", "(2, 20)")
    with source(key_fields="id", envelope="debezium") as run:
        run.until_idle()
        table.sql("UPDATE {t} SET n = 11 WHERE id = 1")
        table.sql("UPDATE {t} SET id = 3 WHERE id = 2")
        table.sql("DELETE FROM {t} WHERE id = 1")
        table.insert("(4, 40)")
        run.until_idle()
    found = {
        key: [value and (value["op"], value["before"], value["after"]) for value in told]
        for key, told in by_key(source.records()).items()
    }
    ten, eleven, twenty = {"id": 1, "n": 10}, {"id": 1, "n": 11}, {"id": 2, "n": 20}
    assert found == {
        1: [("r", None, ten), ("u", ten, eleven), ("d", eleven, None), None],
        2: [("r", None, twenty), ("d", twenty, None), None],
        3: [("c", None, {"id": 3, "n": 20})],
        4: [("c", None, {"id": 4, "n": 40})],
    }
    [created] = by_key(source.records())[4]
    assert created["source"]["version"] == 5
    assert created["source"]["table"] == table.path
    assert created["source"]["ts_ms"] > 1_700_000_000_000


@pytest.mark.slow
def test_an_altered_version_begins_there_with_another_checkpoint(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    table.insert("(2, 2)")
    table.insert("(3, 3)")
    with source(key_fields="id", exactly_once=True) as run:
        run.until_idle()
        [name] = source.offsets
        first = run.task.checkpoint
    assert len(source.records()) == 3
    source.offsets[name] = {**source.offset(), "version": 2}  # as a user does who has read the offset before
    with source(key_fields="id", exactly_once=True) as run:
        run.until_idle()
        assert run.task.checkpoint > first
    assert [value["n"] for _, value in source.records()].count(2) == 2
    assert len(source.records()) == 5
    source.offsets.clear()  # a reset
    with source(key_fields="id", exactly_once=True) as run:
        run.until_idle()
    assert len(source.records()) == 8


@pytest.fixture
def cut_off(source: Any, table: Table, tmp_path: Path) -> Callable[..., None]:
    """A source that is stopped within its first snapshot, and loses its checkpoint."""

    def run(**keys: str) -> None:
        for key in range(8):
            table.insert(f"({key}, {key})")
        with source(key_fields="id", max_files_per_trigger="1", **keys) as run:
            run.until(lambda: "file" in source.offset())
        assert "snapshot" in source.offset()
        shutil.rmtree(tmp_path / "checkpoints")

    return run


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_a_snapshot_whose_checkpoint_is_lost_hides_no_deletion(
    source: Any, table: Table, cut_off: Callable[..., None]
) -> None:
    cut_off()
    table.sql("DELETE FROM {t} WHERE id < 7")
    with pytest.raises(ConnectError, match="snapshot of version 8 is gone.*reset the connector's offsets"):
        source(key_fields="id").__enter__()


@pytest.mark.slow
def test_a_snapshot_whose_checkpoint_is_lost_begins_again_where_the_table_is_the_same(
    source: Any, table: Table, cut_off: Callable[..., None]
) -> None:
    cut_off(envelope="debezium")
    with source(key_fields="id", envelope="debezium") as run:
        run.until_idle()
    assert by_key(source.records()).keys() == set(range(8))
    assert {value["op"] for _, value in source.records()} == {"r"}


@pytest.mark.slow
def test_latest_is_what_comes_after_the_connector_has_begun(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    with source(key_fields="id", starting_version="latest") as run:
        run.task.watch(0.1)
        assert source.offset()["version"] == 2
        table.insert("(2, 2)")
        run.until_idle()
    assert source.records() == [({"id": 2}, {"id": 2, "n": 2})]


@pytest.mark.slow
def test_a_version_beyond_the_next_fails_the_task(source: Any, table: Table) -> None:
    wrong = pytest.raises(ConnectError, match="version 99 of .*, whose newest is 0: .*reset the connector's offsets")
    with source(key_fields="id", starting_version="99") as run, wrong:
        run.until(lambda: False)


@pytest.mark.slow
def test_a_moment_that_is_still_to_come_is_waited_for(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=2)
    with source(key_fields="id", starting_timestamp=moment.isoformat()) as run:
        run.until(lambda: dt.datetime.now(dt.UTC) > moment)
        table.insert("(2, 2)")
        run.until_written(1)
        run.until_idle()
    assert source.records() == [({"id": 2}, {"id": 2, "n": 2})]


@pytest.mark.promise("P10")
@pytest.mark.parametrize("mode", ["changes", pytest.param("appends", marks=pytest.mark.slow)])
def test_a_first_batch_that_is_repeated_begins_at_the_same_version(
    source: Any, table: Table, monkeypatch: Any, mode: str
) -> None:
    for key in (1, 2, 3):
        table.insert(f"({key}, {key})")
    write, refused = BatchWriter.__call__, []

    def refuse_once(writer: BatchWriter, rows: Any, batch: int) -> None:
        if not refused:
            refused.append(batch)
            raise NotNow("The connector is paused.")
        write(writer, rows, batch)

    monkeypatch.setattr(BatchWriter, "__call__", refuse_once)
    with source(key_fields="id", starting_version="3", mode=mode) as run:
        run.until_written(1)
        run.until_idle()
    assert refused == [0]
    assert source.records() == [({"id": 3}, {"id": 3, "n": 3})]


@pytest.mark.slow
def test_columns_that_come_begin_the_query_anew(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    with source(key_fields="id") as run:
        run.until_idle()
        table.sql("ALTER TABLE {t} ADD COLUMNS (m string)")
        table.insert("(2, 2, 'x')")
        run.until_written(2)
    assert by_key(source.records())[2] == [{"id": 2, "n": 2, "m": "x"}]


@pytest.mark.slow
def test_columns_that_come_twice_without_a_row_between_them(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    with source(key_fields="id") as run:
        run.until_idle()
        for column in ("m", "o"):
            before = run.task.queries[0].running
            table.sql(f"ALTER TABLE {{t}} ADD COLUMNS ({column} string)")
            run.until(lambda before=before: run.task.queries[0].running not in (None, before))  # type: ignore[misc]
        table.insert("(2, 2, 'x', 'y')")
        run.until_written(2)
    assert by_key(source.records())[2] == [{"id": 2, "n": 2, "m": "x", "o": "y"}]


@pytest.mark.slow
def test_columns_may_be_left_out(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    with source(key_fields="id", columns_exclude="id") as run:
        run.until_idle()
    assert source.records() == [({"id": 1}, {"n": 1})]


@pytest.mark.slow
def test_a_paused_source_writes_nothing_and_goes_on(source: Any, table: Table) -> None:
    table.insert("(1, 1)")
    with source(key_fields="id") as run:
        run.until_idle()
        run.task.pause()
        table.insert("(2, 2)")
        run.until(lambda: run.task.queries[0].running is None)  # the batch is sent back
        assert not run.task.watch(0.1).busy
        assert len(source.records()) == 1
        run.task.resume()
        run.until_written(2)
    assert len(source.records()) == 2


@pytest.mark.slow
def test_a_batch_that_is_being_written_when_the_source_stops_is_not_repeated(
    source: Any, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.insert("(1, 1)")
    write, written = BatchWriter.__call__, threading.Event()
    finish, stopping = DeltaSourceTask._let_finish, threading.Event()

    def write_until_the_stop(writer: BatchWriter, rows: Any, batch: int) -> None:
        write(writer, rows, batch)
        written.set()
        assert stopping.wait(60)

    def let_finish(task: DeltaSourceTask) -> None:
        stopping.set()
        finish(task)

    with monkeypatch.context() as patched, source(key_fields="id") as run:
        patched.setattr(BatchWriter, "__call__", write_until_the_stop)
        patched.setattr(DeltaSourceTask, "_let_finish", let_finish)
        run.until(written.is_set)
    assert source.offset()["version"] == 2
    with source(key_fields="id") as run:
        run.until_idle()
    assert source.records() == [({"id": 1}, {"id": 1, "n": 1})]


@pytest.mark.slow
def test_rows_of_a_table_that_only_grows(
    spark: Any, tmp_path: Path, source: Any, table: Table, monkeypatch: Any
) -> None:
    plain = Table(spark, tmp_path / "plain", feed=False)
    plain.insert("(1, 1)")
    with source(table=plain.path, mode="appends", key_fields="id") as run:
        run.until_idle()
        plain.insert("(2, 2)")
        run.until_idle()
    assert [value["n"] for _, value in sorted(source.records(), key=lambda record: record[0]["id"])] == [1, 2]


def test_a_table_without_a_change_data_feed_is_said_what_it_needs(
    spark: Any, tmp_path: Path, source: Any, table: Table
) -> None:
    plain = Table(spark, tmp_path / "plain", feed=False)
    with pytest.raises(ConfigError, match="delta.enableChangeDataFeed = true"), source(table=plain.path):
        pass


@pytest.mark.slow
def test_types_arrive_as_connect_has_them(spark: Any, tmp_path: Path, source: Any, table: Table) -> None:
    columns = (
        "b tinyint, s smallint, i int, l bigint, f float, d double, flag boolean, text string, raw binary,"
        " price decimal(12,3), day date, moment timestamp, plain timestamp_ntz, list array<int>,"
        " names map<string, decimal(5,1)>, nested struct<a: int, deep: struct<t: timestamp>>, nothing string"
    )
    typed = Table(spark, tmp_path / "typed", columns)
    typed.insert(
        "(1, 2, 3, 4, 1.5, 2.5, true, 'ä', X'00FF', 12.345, DATE'2024-02-29', TIMESTAMP'2024-05-06 07:08:09.123456Z',"
        " TIMESTAMP_NTZ'2024-05-06 07:08:09.123456', array(1, null), map('x', 1.5),"
        " named_struct('a', 1, 'deep', named_struct('t', TIMESTAMP'1969-12-31 23:59:59.9999Z')), null)"
    )
    with source(table=typed.path, value_converter=JSON, value_converter_schemas_enable="true") as run:
        run.until_idle()
    [(key, value)] = source.records()
    assert key is None
    ms = 1714979289123
    assert value["payload"] == {
        "b": 1,
        "s": 2,
        "i": 3,
        "l": 4,
        "f": 1.5,
        "d": 2.5,
        "flag": True,
        "text": "ä",
        "raw": "AP8=",
        "price": "MDk=",
        "day": 19782,
        "moment": ms,
        "plain": ms,
        "list": [1, None],
        "names": {"x": "Dw=="},
        "nothing": None,
        "nested": {"a": 1, "deep": {"t": -1}},
    }
    kinds = {field["field"]: (field["type"], field.get("name")) for field in value["schema"]["fields"]}
    logical = "org.apache.kafka.connect.data."
    assert kinds["price"] == ("bytes", f"{logical}Decimal")
    assert kinds["moment"] == kinds["plain"] == ("int64", f"{logical}Timestamp")
    assert kinds["day"] == ("int32", f"{logical}Date")
    assert kinds["names"] == ("map", None)


@pytest.mark.slow
def test_a_variant_is_its_json(spark: Any, tmp_path: Path, source: Any, table: Table) -> None:
    odd = Table(spark, tmp_path / "odd", "id int, v variant")
    odd.sql("INSERT INTO {t} SELECT 1, parse_json('{{\"a\": [1, 2]}}')")
    with source(table=odd.path) as run:
        run.until_idle()
    [(_, value)] = source.records()
    assert json.loads(value["v"]) == {"a": [1, 2]}  # a variant is its JSON
    with (
        pytest.raises(ConfigError, match='there is no column "x"'),
        source(table=odd.path, columns_include="x") as run,
    ):
        run.until_idle()
