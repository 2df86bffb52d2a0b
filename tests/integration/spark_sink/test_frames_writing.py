"""DataFrames into topics and into what sink connectors write to, by the format's name, as in a notebook."""

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from spark_sink.session.server import Server

from .readings import JSON, STRING
from .sink_runs import make_topic

Read = Callable[..., list[Any]]


@pytest.fixture
def to_topic(broker: Broker) -> Callable[..., Any]:
    """`to_topic(df, "orders", key_converter=STRING)`: a writer of it; underscores stand for dots."""

    def make(df: Any, name: str | None, /, *, stream: bool = False, raw: bool = False, **options: str) -> Any:
        made = (df.writeStream if stream else df.write.mode("append")).format("connect")
        made = made.option("bootstrap.servers", broker.bootstrap_servers)
        made = made if name is None else made.option("topic", name)
        if not raw:
            made = made.option("value.converter", JSON).option("value.converter.schemas.enable", "false")
        for key, value in options.items():
            made = made.option(key.replace("_", "."), value)
        return made

    return make


def values(records: list[Any]) -> list[Any]:
    return [json.loads(record.value()) for record in records]


@pytest.mark.quick
@pytest.mark.promise("P1")
def test_a_frame_becomes_records(spark: Any, broker: Broker, to_topic: Callable[..., Any], read: Read) -> None:
    topic = make_topic(broker)
    df = spark.range(2).selectExpr(
        "id AS n", "named_struct('a', array('x', NULL)) AS inner", "CAST(1.50 AS decimal(9, 2)) AS price"
    )
    to_topic(df.coalesce(1), topic, value_converter_decimal_format="NUMERIC").save()
    found = read(broker.bootstrap_servers, topic, 2)
    assert values(found) == [{"n": n, "inner": {"a": ["x", None]}, "price": 1.5} for n in range(2)]
    assert [record.key() for record in found] == [None, None]


@pytest.mark.promise("P1")
def test_what_was_read_can_be_written_with_its_keys_and_timestamps(
    spark: Any, broker: Broker, to_topic: Callable[..., Any], read: Read
) -> None:
    topic = make_topic(broker, 2)
    at = datetime(2026, 5, 6, 7, 8, 9, 123456, UTC)
    df = spark.createDataFrame(
        [("k", 1, at, "t", 3, 4)],
        "_key string, n int, _timestamp timestamp, _topic string, _partition int, _offset long",
    )
    to_topic(df, topic, key_converter=STRING).save()
    (found,) = read(broker.bootstrap_servers, topic, 1)
    assert (found.key(), values([found])) == (b"k", [{"n": 1}])
    assert found.timestamp()[1] == int(at.timestamp()) * 1000 + 123
    again = spark.read.format("connect").option("bootstrap.servers", broker.bootstrap_servers).option("topics", topic)
    again = again.option("value.converter", JSON).option("value.converter.schemas.enable", "false")
    copy = make_topic(broker)
    to_topic(again.option("key.converter", STRING).load(), copy, key_converter=STRING).save()
    (copied,) = read(broker.bootstrap_servers, copy, 1)
    assert (copied.key(), copied.value(), copied.timestamp()) == (found.key(), found.value(), found.timestamp())


def test_topics_by_row_keys_of_columns_and_transformations(
    spark: Any, broker: Broker, to_topic: Callable[..., Any], read: Read
) -> None:
    one, two = make_topic(broker), make_topic(broker)
    df = spark.createDataFrame([(one, 1, "a"), (two, 2, "b"), (one, 3, "c")], "_topic string, n int, s string")
    to_topic(
        df.coalesce(1),
        None,
        key_fields="n",
        key_converter=JSON,
        key_converter_schemas_enable="false",
        transforms="Rename",
        transforms_rename_type="org.apache.kafka.connect.transforms.ReplaceField$Value",
        transforms_rename_renames="s:text",
    ).save()
    found = read(broker.bootstrap_servers, one, 2)
    assert [json.loads(record.key()) for record in found] == [{"n": 1}, {"n": 3}]
    assert values(found) == [{"n": 1, "text": "a"}, {"n": 3, "text": "c"}]
    assert values(read(broker.bootstrap_servers, two, 1)) == [{"n": 2, "text": "b"}]


def test_without_a_converter_rows_are_records_as_bytes(
    spark: Any, broker: Broker, to_topic: Callable[..., Any], read: Read
) -> None:
    topic, copy = make_topic(broker), make_topic(broker)
    df = spark.sql("SELECT 'text' AS value, X'00ff' AS key, array(named_struct('key', 'h', 'value', X'01')) AS headers")
    to_topic(df, topic, raw=True).save()
    (found,) = read(broker.bootstrap_servers, topic, 1)
    assert (found.key(), found.value(), found.headers()) == (b"\x00\xff", b"text", [("h", b"\x01")])
    as_read = spark.read.format("connect").option("bootstrap.servers", broker.bootstrap_servers).option("topics", topic)
    to_topic(as_read.load(), copy, raw=True).save()
    (copied,) = read(broker.bootstrap_servers, copy, 1)
    assert (copied.key(), copied.value(), copied.headers()) == (found.key(), found.value(), found.headers())
    assert copied.timestamp() == found.timestamp()


@pytest.mark.promise("P1")
def test_a_stream_into_a_topic_goes_on_where_it_was(
    spark: Any, broker: Broker, to_topic: Callable[..., Any], read: Read, tmp_path: Path
) -> None:
    topic = make_topic(broker)
    folder = tmp_path / "rows"

    def run(first: int) -> None:
        spark.range(first, first + 10).coalesce(1).write.mode("append").parquet(str(folder))
        df = spark.readStream.schema("id long").parquet(str(folder))
        writer = to_topic(df, topic, stream=True).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    run(0)
    run(10)
    assert sorted(row["id"] for row in values(read(broker.bootstrap_servers, topic, 20))) == list(range(20))


@pytest.mark.quick
def test_any_sink_connector_takes_a_frame(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "out"

    def save(first: int) -> None:
        df = spark.range(first, first + 5).coalesce(1)
        made = df.write.mode("append").format("connect").option("connector.class", "FileStreamSink")
        made = made.option("file", str(file)).option("topic", "numbers").option("exactly.once", "true")
        made = made.option("transforms", "Only").option("transforms.only.field", "id")
        made.option("transforms.only.type", "org.apache.kafka.connect.transforms.ExtractField$Value").save()

    save(0)
    save(5)  # another write begins behind the first, whatever offsets the sink has kept
    assert file.read_text().splitlines() == [str(n) for n in range(10)]


@pytest.mark.promise("P1", "P10")
def test_a_micro_batch_that_comes_again_is_taken_once_by_a_sink_that_keeps_offsets(spark: Any, tmp_path: Path) -> None:
    folder, file, checkpoint = tmp_path / "rows", tmp_path / "out", tmp_path / "checkpoint"
    spark.range(0, 10).coalesce(1).write.parquet(str(folder))

    def run() -> None:
        df = spark.readStream.schema("id long").parquet(str(folder))
        made = df.writeStream.format("connect").option("connector.class", "FileStreamSink")
        made = made.option("file", str(file)).option("topic", "numbers").option("exactly.once", "true")
        made = made.option("transforms", "only").option("transforms.only.field", "id")
        made = made.option("transforms.only.type", "org.apache.kafka.connect.transforms.ExtractField$Value")
        made = made.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        made.start().awaitTermination()

    run()
    assert Counter(file.read_text().split()) == {str(n): 1 for n in range(10)}
    # As if Spark's driver had died between the write and its note: the micro-batch comes again.
    for commit in (checkpoint / "commits").iterdir():
        commit.unlink()
    run()
    assert Counter(file.read_text().split()) == {str(n): 1 for n in range(10)}


def test_rows_into_a_table_of_a_database(spark: Any, tmp_path: Path) -> None:
    import sqlite3

    base = tmp_path / "base.db"
    df = spark.createDataFrame([(1, "a", Decimal("1.50")), (2, "b", None)], "id int, name string, price decimal(9, 2)")
    made = df.coalesce(1).write.mode("append").format("connect").option("topic", "orders")
    made = made.option("connector.class", "JdbcSinkConnector").option("connection.url", f"jdbc:sqlite:{base}")
    made = made.option("auto.create", "true").option("insert.mode", "upsert")
    made.option("pk.mode", "record_key").option("key.fields", "id").save()
    with sqlite3.connect(base) as connection:
        assert connection.execute('SELECT id, name FROM "orders" ORDER BY id').fetchall() == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"value_convertor": "x"}, "value.convertor.*is not an option of writing. Did you mean value.converter"),
        ({"value_converter_schemas_enabel": "true"}, "enabel.*Did you mean value.converter.schemas.enable"),
        ({"producer_override_liner_ms": "1"}, "no producer knows it; did you mean linger.ms"),
        ({"bootstrap_servers": "localhost:1"}, "Nothing can be written: No broker answers at localhost:1"),
        ({"key_fields": "m"}, 'key.fields.*there is no column "m"'),
        ({"topic": ""}, 'topic.*is missing. Set it, or give the DataFrame a column "_topic"'),
        ({"connector_class": "FileStreamSource"}, "is a source connector"),
        ({"connector_class": "Nope"}, "connector.class.*Nope"),
        ({"connector_class": "JdbcSink"}, "connection.url"),
        ({"connector_class": "FileStreamSink", "file": "/x", "fil": "y"}, "fil.*is not known. Did you mean file"),
        (
            {"connector_class": "FileStreamSink", "file": "/x", "colour": "red"},
            "colour.*is not an option.*FileStreamSink",
        ),
        ({"connector_class": "FileStreamSink", "value_converter": JSON}, "value.converter.*is for records"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    spark: Any, to_topic: Callable[..., Any], options: dict[str, str], says: str
) -> None:
    with pytest.raises(Exception, match=says):
        to_topic(spark.range(1), "t", raw="connector_class" in options, **options).save()


def test_a_column_that_is_not_bytes_needs_a_converter(spark: Any, broker: Broker, to_topic: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match='"value" is of type int32; without value.converter it has to be bytes or text'):
        to_topic(spark.sql("SELECT 1 AS value"), make_topic(broker), raw=True).save()


def test_what_is_there_is_not_overwritten(spark: Any, to_topic: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match=re.escape("cannot be overwrite") + ".*mode\\('append'\\)"):
        to_topic(spark.range(1), "t").mode("overwrite").save()


@pytest.mark.slow
def test_by_spark_connect(
    broker: Broker, connect_server: Server, to_topic: Callable[..., Any], read: Read, tmp_path: Path
) -> None:
    from pyspark.sql.connect.session import SparkSession

    topic = make_topic(broker)
    remote: Any = SparkSession.builder.remote(connect_server.url).create()
    try:
        to_topic(remote.range(3).coalesce(1), topic).save()
        assert [row["id"] for row in values(read(broker.bootstrap_servers, topic, 3))] == [0, 1, 2]
    finally:
        remote.stop()
