"""Source connectors as DataFrames and streams, without a worker."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.connectors.s3.source_runs import lines
from tests.servers.s3 import S3Bucket
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(240)


class Table:
    """A table in SQLite."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._run("CREATE TABLE line (id INTEGER PRIMARY KEY, word TEXT, price DECIMAL(10, 2), at TIMESTAMP)")

    def insert(self, *numbers: int) -> None:
        rows = ", ".join(f"({n}, 'w{n}', {n}.25, '2024-01-01 00:00:{n % 60:02d}')" for n in numbers)
        self._run(f"INSERT INTO line VALUES {rows}")

    def options(self, **more: str) -> dict[str, str]:
        return {
            "connector.class": "JdbcSourceConnector",
            "connection.url": f"jdbc:sqlite:{self._path}",
            "table.whitelist": "line",
            "topic.prefix": "db-",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "poll.interval.ms": "50",
            **{key.replace("__", "."): value for key, value in more.items()},
        }

    def _run(self, text: str) -> None:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute(text)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "t.db")


def test_a_table_as_a_frame(spark: Any, table: Table) -> None:
    table.insert(*range(100))
    reader = spark.read.format("connect").options(**table.options())
    frame = reader.load()
    assert frame.columns == ["id", "word", "price", "at", "_topic", "_timestamp"]
    kinds = dict(frame.dtypes)
    assert (kinds["id"], kinds["word"], kinds["at"]) == ("bigint", "string", "timestamp")
    rows = frame.where("id >= 40 AND id < 42").orderBy("id").collect()
    assert [(row["id"], row["word"], row["_topic"]) for row in rows] == [(40, "w40", "db-line"), (41, "w41", "db-line")]
    assert frame.count() == 100
    table.insert(100)
    assert (frame.count(), reader.load().count()) == (100, 101)


def test_transformations_and_keys(spark: Any, table: Table) -> None:
    table.insert(1, 2)
    options = table.options(
        transforms="key,Drop",
        transforms__key__type="org.apache.kafka.connect.transforms.ValueToKey",
        transforms__key__fields="id",
        transforms__Drop__type="org.apache.kafka.connect.transforms.ReplaceField$Value",
        transforms__Drop__exclude="price,at",
    )
    frame = spark.read.format("connect").options(**options).load()
    assert frame.columns == ["id", "word", "_key", "_topic", "_timestamp"]
    assert [row["_key"]["id"] for row in frame.orderBy("id").collect()] == [1, 2]


def of_lines(bucket: S3Bucket) -> dict[str, str]:
    """A source of the objects of a bucket."""
    return {
        "connector.class": "S3SourceConnector",
        **bucket.config,
        "topic": "lines",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    }


def test_objects_as_a_frame(spark: Any, s3_bucket: S3Bucket) -> None:
    for start in range(0, 500, 100):
        s3_bucket.put(f"{start:05}.jsonl", lines(range(start, start + 100)))
    frame = spark.read.format("connect").options(**of_lines(s3_bucket)).load()
    assert sorted(row["n"] for row in frame.collect()) == list(range(500))


def test_a_stream_goes_on_where_it_was(spark: Any, table: Table, tmp_path: Path) -> None:
    seen: list[int] = []
    fails = [False]

    def take(frame: Any, batch: int) -> None:
        numbers = [row["id"] for row in frame.collect()]
        if fails[0]:
            raise RuntimeError("told to fail")
        seen.extend(numbers)

    def run() -> None:
        stream = spark.readStream.format("connect").options(**table.options()).load()
        written = stream.writeStream.foreachBatch(take).option("checkpointLocation", (tmp_path / "c").as_uri())
        written.trigger(availableNow=True).start().awaitTermination(120)

    table.insert(*range(50))
    run()
    table.insert(*range(50, 80))
    run()
    table.insert(*range(80, 90))
    fails[0] = True
    with pytest.raises(Exception, match="told to fail"):
        run()
    fails[0] = False
    table.insert(*range(90, 100))
    run()
    assert Counter(seen) == Counter(range(100))


@pytest.mark.promise("P2")
def test_a_source_hears_that_a_stream_has_written_what_it_planned(
    spark: Any, s3_bucket: S3Bucket, tmp_path: Path
) -> None:
    seen: list[int] = []
    for start in range(0, 300, 100):
        s3_bucket.put(f"{start:05}.jsonl", lines(range(start, start + 100)))
    options = of_lines(s3_bucket) | {
        "read.parts": "1",
        "done.action": "delete",
        "s3.poll.interval.ms": "100",
    }
    stream = spark.readStream.format("connect").options(**options).load()
    written = stream.writeStream.foreachBatch(lambda frame, _: seen.extend(row["n"] for row in frame.collect()))
    query = written.option("checkpointLocation", (tmp_path / "c").as_uri()).start()
    until(lambda: not s3_bucket.keys(), 60, lambda: f"These objects stay: {s3_bucket.keys()}", every=0.2)
    query.stop()
    assert sorted(seen) == list(range(300))


def test_what_cannot_be_read_is_refused(spark: Any, table: Table, tmp_path: Path) -> None:
    def load(**options: str) -> None:
        spark.read.format("connect").options(**options).load().collect()

    with pytest.raises(Exception, match="there is no record|has no record yet"):
        load(**table.options())
    table.insert(1)
    with pytest.raises(Exception, match="is a sink connector"):
        load(**{"connector.class": "FileStreamSink", "file": str(tmp_path / "f"), "topics": "t"})
    with pytest.raises(Exception, match="does not divide its work"):
        load(**{"connector.class": "FileStreamSource", "file": str(tmp_path / "f"), "topic": "t"})
    with pytest.raises(Exception, match="rows are not bytes"):
        load(**table.options(value__converter="org.apache.kafka.connect.json.JsonConverter"))
    with pytest.raises(Exception, match=r"Did you mean table\.whitelist"):
        load(**table.options(table__whitelists="x"))
    with pytest.raises(Exception, match="colour.*is not an option of this format, nor a key of"):
        load(**table.options(colour="red"))
    password = "hidden-word"
    with pytest.raises(Exception, match="mode") as refused:
        load(**table.options(connection__password=password, mode="no such mode"))
    assert password not in str(refused.value)


def test_a_given_schema_saves_the_look(spark: Any, table: Table) -> None:
    frame = spark.read.format("connect").schema("id int, word string, _topic string").options(**table.options())
    assert frame.load().count() == 0
    table.insert(7)
    assert [tuple(row) for row in frame.load().collect()] == [(7, "w7", "db-line")]
    assert json.dumps(frame.load().columns) == '["id", "word", "_topic"]'
