"""Batches that are appended to Delta tables: each once, whatever comes again, into the table that is meant."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import ConfigError, ConnectError, SchemaError
from spark_sink.tables.table import Table

VALUE = {"id": pa.int64(), "text": pa.string()}
KEY = {"id": pa.int64()}


@pytest.mark.quick
@pytest.mark.promise("P10")
def test_a_batch_that_comes_again_is_written_once(tables: Any, simple: Any) -> None:
    first, second = tables.batch(VALUE, simple((1, "a"), (2, "b"))), tables.batch(VALUE, simple((3, None)))
    writer = tables.writer()
    writer(first, 0)
    writer(first, 0)
    writer(second, 1)
    tables.writer()(second, 1)  # by another process
    tables.writer()(first, 0)  # late
    assert tables.read() == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}, {"id": 3, "text": None}]
    assert tables.operations() == ["CREATE TABLE", "WRITE", "WRITE"]


@pytest.mark.quick
def test_without_transactions_it_would_be_written_twice(
    tables: Any, simple: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Table.append
    monkeypatch.setattr(Table, "append", lambda self, frame, options: append(self, frame, {}))
    writer = tables.writer()
    for _ in range(2):
        writer(tables.batch(VALUE, simple((1, "a"))), 0)
    assert len(tables.read()) == 2


@pytest.mark.slow
def test_another_query_has_batches_of_its_own(tables: Any, simple: Any) -> None:
    tables.writer("connect/c/000001-aa/q")(tables.batch(VALUE, simple((1, "a"))), 0)
    tables.writer("connect/c/000002-bb/q")(tables.batch(VALUE, simple((2, "b"))), 0)
    assert len(tables.read()) == 2


@pytest.mark.slow
def test_tombstones_and_what_was_given_up_are_no_rows(tables: Any) -> None:
    records = [{"value": {"id": 1, "text": "a"}}, {"value": None}]
    tables.writer()(tables.batch(VALUE, records), 0)
    assert tables.read() == [{"id": 1, "text": "a"}]


@pytest.mark.slow
def test_metadata_become_columns_under_any_name(tables: Any) -> None:
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
    records = [{"topic": "x", "partition": 3, "offset": 77, "time": at, "key": {"key": "k"}, "value": {"id": 1}}]
    writer = tables.writer(metadata__columns="topic,partition,offset:kafka_offset,timestamp,key")
    writer(tables.batch({"id": pa.int64()}, records, {"key": pa.string()}), 0)
    assert tables.read() == [
        {"id": 1, "_topic": "x", "_partition": 3, "kafka_offset": 77, "_timestamp": at, "_key": "k"}
    ]


@pytest.mark.slow
def test_a_table_is_made_with_its_layout_and_properties(tables: Any, simple: Any) -> None:
    writer = tables.writer(partition__by="text", table__property__delta__appendOnly="true")
    writer(tables.batch(VALUE, simple((1, "a"))), 0)
    detail = tables.detail()
    assert detail.partitionColumns == ["text"]
    assert detail.properties["delta.appendOnly"] == "true"
    assert tables.read() == [{"id": 1, "text": "a"}]


@pytest.mark.slow
@pytest.mark.parametrize("folder_exists", [False, True])
def test_a_table_is_clustered(tables: Any, simple: Any, folder_exists: bool) -> None:
    if folder_exists:
        Path(tables.path()).mkdir()
    tables.writer(cluster__by="id,text")(tables.batch(VALUE, simple((1, "a"))), 0)
    assert tables.detail().clusteringColumns == ["id", "text"]
    assert tables.read() == [{"id": 1, "text": "a"}]


@pytest.mark.slow
def test_column_mapping_allows_any_name(tables: Any) -> None:
    batch = tables.batch(
        {"a b": pa.int64(), "c,`d": pa.struct([("e;f", pa.string())])}, [{"value": {"a b": 1, "c,`d": {"e;f": "x"}}}]
    )
    with pytest.raises(ConfigError, match='"a b" has a character.*column.mapping=name'):
        tables.writer()(batch, 0)
    writer = tables.writer(column__mapping="name")
    writer(batch, 0)
    writer(tables.batch({"a b": pa.int64(), "new one": pa.int64()}, [{"value": {"a b": 2, "new one": 3}}]), 1)
    assert tables.read_by_spark() == [
        {"a b": 1, "c,`d": {"e;f": "x"}, "new one": None},
        {"a b": 2, "c,`d": None, "new one": 3},
    ]


@pytest.mark.slow
def test_a_batch_goes_to_the_tables_of_its_records(tables: Any) -> None:
    records = [
        {"topic": topic, "value": {"id": number, "to": {"country": country}}}
        for number, (topic, country) in enumerate([("a", "DE"), ("a", "FR"), ("b.c", "DE"), ("a", "DE")])
    ]
    batch = tables.batch({"id": pa.int64(), "to": pa.struct([("country", pa.string())])}, records)
    writer = tables.writer(table=tables.path("${topic}_${field}"), table__field="to.country")
    writer(batch, 0)
    writer(batch, 0)
    ids = {name: [row["id"] for row in tables.read(name)] for name in ("a_DE", "a_FR", "b.c_DE")}
    assert ids == {"a_DE": [0, 3], "a_FR": [1], "b.c_DE": [2]}


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_what_a_batch_wrote_before_it_failed_is_not_written_again(tables: Any, simple: Any) -> None:
    records = [{**record, "topic": topic} for record, topic in zip(simple((1, "a"), (2, "b")), "ab", strict=True)]
    batch = tables.batch(VALUE, records)
    obstacle = Path(tables.path("b"))
    obstacle.mkdir()
    (obstacle / "theirs.csv").write_text("1,2")
    writer = tables.writer(table=tables.path("${topic}"))
    for _ in range(2):
        with pytest.raises(ConnectError, match="not a Delta table, and other files are in it, such as .*theirs.csv"):
            writer(batch, 0)
    (obstacle / "theirs.csv").unlink()
    writer(batch, 0)
    assert (tables.read("a"), tables.read("b")) == ([{"id": 1, "text": "a"}], [{"id": 2, "text": "b"}])


@pytest.mark.slow
def test_a_known_topic_saves_looking_for_tables(tables: Any, simple: Any) -> None:
    tables.writer(table=tables.path("${topic}"), topic="t")(tables.batch(VALUE, simple((1, "a"))), 0)
    assert tables.read("t") == [{"id": 1, "text": "a"}]


@pytest.mark.parametrize("name", ["../x", "a/b", "", None, ".."])
def test_a_record_does_not_choose_a_place_outside(tables: Any, name: str | None) -> None:
    writer = tables.writer(table=tables.path("in/${field}"), table__field="text")
    with pytest.raises(SchemaError, match='Topic t, partition 0, offset 0: Its field "text" cannot be part'):
        writer(tables.batch(VALUE, [{"value": {"id": 1, "text": name}}]), 0)


@pytest.mark.slow
def test_a_table_has_a_name_in_a_catalog(tables: Any, simple: Any, unnamed: Callable[[str], None]) -> None:
    unnamed("connect_orders")
    tables.spark.sql(f"CREATE TABLE connect_orders (id bigint) USING delta LOCATION '{tables.path()}'")
    writer = tables.writer(table="connect_orders", checkpoint__location="/c")
    for number in (0, 0, 1):
        writer(tables.batch(VALUE, simple((number, "a"))), number)
    assert tables.read() == [{"id": 0, "text": "a"}, {"id": 1, "text": "a"}]


@pytest.mark.slow
def test_topics_that_have_one_table_are_written_to_it_together(
    tables: Any, simple: Any, unnamed: Callable[[str], None]
) -> None:
    unnamed("connect_of_two")
    tables.spark.sql(f"CREATE TABLE connect_of_two (id bigint) USING delta LOCATION '{tables.path()}'")
    topics = ["connect.of_two", "connect_of.two", "connect.of_two"]
    records = [
        {**each, "topic": topic} for each, topic in zip(simple((1, "a"), (2, "b"), (3, "c")), topics, strict=True)
    ]
    writer = tables.writer(table="${topic}", checkpoint__location="/c")
    for _ in range(2):
        writer(tables.batch(VALUE, records), 0)
    assert [row["id"] for row in tables.read()] == [1, 2, 3]


def test_a_catalog_that_forgets_gets_no_table(tables: Any, simple: Any) -> None:
    writer = tables.writer(table="connect_new", checkpoint__location="/c")
    with pytest.raises(ConfigError, match="forgets its catalog"):
        writer(tables.batch(VALUE, simple((1, "a"))), 0)


def test_no_table_is_made_that_may_not_be(tables: Any, simple: Any) -> None:
    with pytest.raises(ConfigError, match="does not exist, and auto.create=false"):
        tables.writer(auto__create="false")(tables.batch(VALUE, simple((1, "a"))), 0)


@pytest.mark.parametrize("key", ["partition.by", "cluster.by"])
def test_a_layout_by_a_column_that_is_none_is_refused(tables: Any, simple: Any, key: str) -> None:
    with pytest.raises(ConfigError, match=f'{key}.*"day" is not a column .* has: id, text'):
        tables.writer(**{key: "day"})(tables.batch(VALUE, simple((1, "a"))), 0)


def test_a_path_that_cannot_be_written_fails(tables: Any, simple: Any) -> None:
    with pytest.raises(Exception, match="/proc/none"):
        tables.writer(table="/proc/none/x")(tables.batch(VALUE, simple((1, "a"))), 0)


def test_a_file_in_the_place_of_a_table_is_left_alone(tables: Any, simple: Any) -> None:
    Path(tables.path()).write_text("theirs")
    with pytest.raises(Exception, match="table"):
        tables.writer()(tables.batch(VALUE, simple((1, "a"))), 0)
    assert Path(tables.path()).read_text() == "theirs"


@pytest.mark.slow
def test_a_table_that_somebody_changed_is_looked_at_again(tables: Any, simple: Any) -> None:
    writer = tables.writer()
    writer(tables.batch(VALUE, simple((1, "a"))), 0)
    theirs = tables.spark.sql("SELECT 'x' AS text, '1' AS id, 1 AS more")
    theirs.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(tables.path())
    with pytest.raises(SchemaError, match='"id" is of type string, and the value is of type bigint'):
        writer(tables.batch(VALUE, simple((2, "b"))), 1)


def test_the_console_shows_rows(tables: Any, simple: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tables.writer(format="console", console__rows="1")(tables.batch(VALUE, simple((1, "a"), (2, "b"))), 7)
    shown = capsys.readouterr().out
    assert "Batch 7 of c:" in shown
    assert "|1  |a   |" in shown
    assert "only showing top 1 row" in shown


@pytest.fixture
def unnamed(spark: Any) -> Any:
    """Takes names out of the catalog after the test."""
    names: list[str] = []
    yield names.append
    for name in names:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
