"""Topics as DataFrames by their format's name, as in a notebook: nothing of ours is imported, and no worker runs."""

import json
import re
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from spark_sink.session.server import Server

from .readings import JSON, STRING
from .sink_runs import make_topic, produce

Reader = Callable[..., Any]


@pytest.fixture
def reader(spark: Any, broker: Broker) -> Reader:
    """`reader("orders", batch=True, starting_offsets="latest")`; underscores stand for dots."""

    def make(topic: str, *, stream: bool = False, raw: bool = False, session: Any = None, **options: str) -> Any:
        made = (session or spark).readStream if stream else (session or spark).read
        made = made.format("connect").option("bootstrap.servers", broker.bootstrap_servers).option("topics", topic)
        if not raw:
            made = made.option("value.converter", JSON).option("value.converter.schemas.enable", "false")
            made = made.option("key.converter", STRING)
        for key, value in options.items():
            made = made.option(key.replace("_", "."), value)
        return made

    return make


def rows(df: Any) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in df.orderBy("_partition", "_offset").collect()]


@pytest.mark.quick
def test_a_topic_is_a_frame(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker, 2)
    produce(broker, topic, [{"n": 1, "inner": {"a": "x"}}, {"n": 2.5}], 0)
    produce(broker, topic, [{"n": 3}], 1)
    df = reader(topic).load()
    assert df.columns == ["n", "inner", "_topic", "_partition", "_offset", "_timestamp"]
    found = rows(df)
    assert [(row["n"], row["inner"], row["_partition"], row["_offset"]) for row in found] == [
        (1.0, {"a": "x"}, 0, 0),
        (2.5, None, 0, 1),
        (3.0, None, 1, 0),
    ]
    assert {row["_topic"] for row in found} == {topic}
    assert abs((datetime.now(UTC) - found[0]["_timestamp"].replace(tzinfo=UTC)).total_seconds()) < 86_400
    assert df.where("n > 2").groupBy("_partition").count().orderBy("_partition").collect()[1]["count"] == 1


def test_the_page_s_examples_run(
    spark: Any, broker: Broker, capsys: pytest.CaptureFixture[str], read: Callable[..., list[Any]], tmp_path: Path
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "frames.md").read_text(encoding="utf-8")
    topic = make_topic(broker)
    produce(broker, topic, [{"country": "DE"}, {"country": "FR"}, {"country": "DE"}])
    places = {"localhost:9092": broker.bootstrap_servers, '"orders': f'"{topic}', "/tmp/orders.db": f"{tmp_path}/db"}
    names = {"spark": spark}
    for written, here in places.items():
        page = page.replace(written, here)
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(example, names)
    assert re.search(r"\|\s*DE\|\s*2\|", capsys.readouterr().out)
    copies = [json.loads(each.value()) for each in read(broker.bootstrap_servers, f"{topic}-copy", 3)]
    assert sorted(copy["country"] for copy in copies) == ["DE", "DE", "FR"]
    with sqlite3.connect(tmp_path / "db") as database:
        assert database.execute(f'SELECT country FROM "{topic}"').fetchall() == [("DE",), ("DE",)]
    assert [row["country"] for row in names["lines"].collect()] == ["DE", "DE"]


def test_where_reading_begins_and_ends(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker, 2)
    for partition in (0, 1):
        produce(broker, topic, [{"n": 10 * partition + n} for n in range(5)], partition)

    def numbers(**options: str) -> list[int]:
        return [row["n"] for row in rows(reader(topic, **options).load())]

    assert numbers(starting_offsets=f'{{"{topic}": {{"0": 3, "1": -1}}}}') == [3, 4]
    assert numbers(ending_offsets=f'{{"{topic}": {{"0": 2, "1": 1}}}}') == [0, 1, 10]
    assert numbers(starting_offsets="latest") == []
    between = datetime.now(UTC).timestamp() * 1000 + 1
    time.sleep(0.05)  # later records have later timestamps
    produce(broker, topic, [{"n": 99}], 1)
    assert numbers(starting_timestamp=str(int(between))) == [99]
    assert 99 not in numbers(ending_timestamp=str(int(between)))


def test_a_large_read_is_cut(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(1000)])
    df = reader(topic, read_parts="4").load()
    assert df.rdd.getNumPartitions() == 4
    assert [row["n"] for row in rows(df)] == list(range(1000))


def test_transformations_run_and_their_names_may_be_written_large(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1}])
    made = reader(topic).option("transforms", "InsertWhere").option("transforms.InsertWhere.topic.field", "came_from")
    made = made.option("transforms.InsertWhere.type", "org.apache.kafka.connect.transforms.InsertField$Value")
    assert [(row["n"], row["came_from"]) for row in rows(made.load())] == [(1, topic)]


def test_without_a_converter_records_are_bytes(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [b"\x00\xff"])
    (row,) = reader(topic, raw=True).load().collect()
    assert (row["topic"], row["partition"], row["offset"], bytes(row["value"])) == (topic, 0, 0, b"\x00\xff")
    assert isinstance(row["timestamp"], datetime)


@pytest.mark.promise("P1", "P10")
def test_a_stream_goes_on_where_it_was(reader: Reader, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    table, checkpoint = str(tmp_path / "table"), str(tmp_path / "checkpoint")

    def run() -> None:
        df = reader(topic, stream=True, starting_offsets="earliest", max_records_per_batch="4").load()
        writer = df.writeStream.format("delta").option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.option("mergeSchema", "true").start(table).awaitTermination()

    run()
    produce(broker, topic, [{"n": n, "later": "a field"} for n in range(10, 15)])
    run()
    from deltalake import DeltaTable

    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    assert sorted(row["n"] for row in found) == list(range(15))
    assert {row["later"] for row in found if row["n"] >= 10} == {"a field"}


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("late", [0, 3])
def test_a_first_batch_that_is_repeated_begins_where_it_began(
    reader: Reader, broker: Broker, tmp_path: Path, late: int
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    seen: list[int] = []
    fails = [True]

    def take(frame: Any, batch: int) -> None:
        if fails[0]:
            raise RuntimeError("told to fail")
        seen.extend(row["n"] for row in frame.collect())

    def run() -> None:
        stream = reader(topic, stream=True).load()  # from the end of the topic on
        written = stream.writeStream.foreachBatch(take).option("checkpointLocation", (tmp_path / "c").as_uri())
        written.trigger(availableNow=True).start().awaitTermination(120)

    with pytest.raises(Exception, match="told to fail"):
        run()
    produce(broker, topic, [{"n": n} for n in range(10, 10 + late)])
    fails[0] = False
    run()
    produce(broker, topic, [{"n": 99}])
    run()
    assert seen == [*range(10, 10 + late), 99]


def test_records_that_fail(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1}, b"{broken", {"n": 2}, {"n": "three"}])
    with pytest.raises(Exception, match="JsonConverter"):
        reader(topic).load().collect()
    with pytest.raises(Exception, match='@3 does not fit the columns.*"errors.tolerance": "all"'):
        reader(topic, starting_offsets=f'{{"{topic}": {{"0": 2}}}}').load().collect()
    assert [row["n"] for row in rows(reader(topic, errors_tolerance="all").load())] == [1, 2]


def test_a_topic_that_does_not_exist_is_named(reader: Reader, broker: Broker) -> None:
    both = f"{make_topic(broker)},no-such"
    for made in (reader(both), reader(both, raw=True), reader(both).schema("n int")):
        with pytest.raises(Exception, match="there is no topic no-such"):
            made.load().collect()


def test_a_stream_of_a_topic_that_does_not_exist_fails(reader: Reader, tmp_path: Path) -> None:
    stream = reader("no-such", stream=True).schema("n int").load().writeStream
    made = stream.foreachBatch(lambda df, _: None).option("checkpointLocation", (tmp_path / "c").as_uri())
    with pytest.raises(Exception, match="there is no topic no-such"):
        made.trigger(availableNow=True).start().awaitTermination(120)


def test_records_that_all_fail_say_why(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1}])
    with pytest.raises(Exception, match="no record says which columns there are.*set schemas.enable=false"):
        reader(topic, value_converter_schemas_enable="true").load()


def test_records_that_wider_columns_would_hold_are_tolerated(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(500)])  # as many as are looked at
    produce(broker, topic, [{"n": 0.5}, {"n": 501}])
    with pytest.raises(Exception, match="does not fit the columns that the first records have"):
        reader(topic).load().collect()
    found = rows(reader(topic, errors_tolerance="all").load())
    assert [row["n"] for row in found] == [*range(500), 501]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"value_convertor": "x"}, "value.convertor.*is not an option of this format. Did you mean value.converter"),
        ({"starting_offsets": "yesterday"}, "starting.offsets.*Write earliest, latest"),
        ({"topics_regex": "x.*"}, "topics.*is needed, or topics.regex, and not both"),
        ({"errors_retry_topics": "a"}, "errors.retry.topics.*is not an option.*connect docs frames"),
        ({"value_converter_schemas_enabel": "true"}, "enabel.*Did you mean value.converter.schemas.enable"),
        ({"ssl_trustore_location": "x"}, "ssl.trustore.location.*did you mean ssl.truststore.location"),
        ({"consumer_override_fetch_min_byte": "1"}, "no consumer knows it; did you mean fetch.min.bytes"),
        ({"transforms_late_type": "HoistField$Value"}, '"late" is not among the aliases in transforms'),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(reader: Reader, options: dict[str, str], says: str) -> None:
    with pytest.raises(Exception, match=says):
        reader("t", **options).load()


def test_a_schema_that_the_user_gives_needs_no_record(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    columns = "_offset long, n short, later string, _key string, t timestamp_ntz"
    assert reader(topic).schema(columns).load().collect() == []
    produce(broker, topic, [{"n": 1, "unknown": True, "later": "x"}, {"n": 2}])
    found = reader(topic).schema(columns).load().orderBy("_offset").collect()
    assert [tuple(row) for row in found] == [(0, 1, "x", None, None), (1, 2, None, None, None)]


def test_keys_with_one_field_named_key_are_structs(reader: Reader, broker: Broker) -> None:
    topic = make_topic(broker)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b'{"n": 1}', key=b'{"key": "k"}')
    assert producer.flush(30) == 0
    options = {"key_converter": JSON, "key_converter_schemas_enable": "false"}
    given = reader(topic, **options).schema("n int, _key struct<key: string>, _partition int, _offset long")
    for made in (reader(topic, **options), given):
        assert [row["_key"] for row in rows(made.load())] == [{"key": "k"}]


def test_a_topic_without_records_says_what_to_do(reader: Reader, broker: Broker) -> None:
    with pytest.raises(Exception, match="there are no records yet.*value.converter.schema.content"):
        reader(make_topic(broker)).load()


@pytest.mark.slow
def test_by_spark_connect(reader: Reader, broker: Broker, connect_server: Server) -> None:
    from pyspark.sql.connect.session import SparkSession

    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(3)])
    remote: Any = SparkSession.builder.remote(connect_server.url).create()
    try:
        assert [row["n"] for row in rows(reader(topic, session=remote).load())] == [0, 1, 2]
    finally:
        remote.stop()
