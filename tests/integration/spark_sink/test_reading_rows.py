"""Records as rows of a table, read by Spark: converters and transformations have run in the executors."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

import pytest

from connect.data.schema import BOOLEAN, FLOAT64, INT32, INT64, OPTIONAL_BYTES, OPTIONAL_STRING, Schema
from spark_sink.reading.sample import Sampler

from .readings import JSON, Readings, Run
from .readings import STRING as STRING_CONVERTER

DECLARED = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "name", "type": "string", "optional": True},
        {"field": "paid", "type": "boolean", "optional": True},
    ],
}
VALUES = Schema.struct({"id": INT64, "name": OPTIONAL_STRING, "paid": BOOLEAN.as_optional()})
RECORDS: list[Any] = [{"id": 1, "name": "ä", "paid": True}, {"id": 2, "name": None, "paid": None}, None]


def smt(name: str, kind: str, **config: str) -> dict[str, str]:
    prefix = f"transforms.{name}."
    return {
        f"{prefix}type": f"org.apache.kafka.connect.transforms.{kind}",
        **{prefix + key.replace("_", "."): value for key, value in config.items()},
    }


def test_rows_are_what_converters_and_transformations_make(readings: Readings, new_topic: Any) -> None:
    """Metadata, keys, a tombstone, and the origin of records that are routed elsewhere."""
    topic = new_topic(partitions=2)
    readings.produce(topic, [{"id": 1, "secret": "x"}, None], 0, key=b"a", timestamp=1_700_000_000_123)
    readings.produce(topic, [{"id": 2, "secret": "y"}], 1, key=b"b", timestamp=1_700_000_000_124)
    config = {
        "transforms": "drop,route",
        **smt("drop", "ReplaceField$Value", exclude="secret"),
        **smt("route", "RegexRouter", regex="(.*)", replacement="to-$1"),
    }
    shape = {"keys": Schema.struct({"key": OPTIONAL_STRING}), "metadata": True}
    values = Schema.struct({"id": INT64.as_optional()})
    rows = readings.available(readings.plan(topic, values=values, shape=shape, config=config)).rows

    def row(partition: int, offset: int, key: str, value: Any) -> dict[str, Any]:
        return {
            "_topic": f"to-{topic}",
            "_partition": partition,
            "_offset": offset,
            # PySpark hands out timestamps as this machine's wall clock says them.
            "_timestamp": dt.datetime.fromtimestamp(1_700_000_000 + (123 + partition) / 1000),  # noqa: DTZ006
            "_origin": {"topic": topic, "partition": partition, "offset": offset},
            "_key": {"key": key},
            "_value": value,
        }

    rows.sort(key=lambda row: (row["_partition"], row["_offset"]))
    assert rows == [row(0, 0, "a", {"id": 1}), row(0, 1, "a", None), row(1, 0, "b", {"id": 2})]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["declared", "schemaless", "envelope"])
def test_json_makes_the_same_rows_whichever_way_its_schema_is_known(
    readings: Readings, new_topic: Any, way: str
) -> None:
    topic = new_topic()
    config: dict[str, str] = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    records = RECORDS
    if way == "declared":
        config |= {"value.converter.schemas.enable": "true", "value.converter.schema.content": json.dumps(DECLARED)}
    elif way == "envelope":
        config |= {"value.converter.schemas.enable": "true"}
        records = [None if record is None else {"schema": DECLARED, "payload": record} for record in RECORDS]
    readings.produce(topic, records)
    assert readings.values(readings.plan(topic, values=VALUES, config=config)) == RECORDS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("converter", "schema", "raw", "values"),
    [
        (STRING_CONVERTER, OPTIONAL_STRING, [b"x", b"", None, "ä".encode()], ["x", "", None, "ä"]),
        ("org.apache.kafka.connect.converters.LongConverter", INT64.as_optional(),
         [(7).to_bytes(8, "big"), None], [7, None]),
        ("org.apache.kafka.connect.converters.DoubleConverter", FLOAT64.as_optional(),
         [b"\x3f\xe0" + bytes(6)], [0.5]),
        ("org.apache.kafka.connect.converters.ByteArrayConverter", OPTIONAL_BYTES, [b"\xff\x00", None],
         [b"\xff\x00", None]),
    ],
    ids=["text", "whole numbers", "numbers", "bytes"],
)  # fmt: skip
def test_values_that_are_no_structs_are_in_one_column(
    readings: Readings, new_topic: Any, converter: str, schema: Any, raw: list[Any], values: list[Any]
) -> None:
    topic = new_topic()
    readings.produce(topic, raw)
    plan = readings.plan(
        topic,
        values=Schema.struct({"it": schema}),
        shape={"wrap": "it"},
        config={"value.converter": converter},
    )
    assert readings.values(plan) == [None if value is None else {"it": value} for value in values]


@pytest.mark.slow
def test_types_of_fields_come_through_spark_as_they_are(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    fields: Mapping[str, Any] = {
        "small": ("int8", 5),
        "number": ("int32", 1 << 30),
        "half": ("float", 0.5),
        "whole": ("int64", 1 << 60),
    }
    declared = {
        "type": "struct",
        "fields": [
            *({"field": name, "type": kind} for name, (kind, _) in fields.items()),
            {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1},
            {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
            {"field": "list", "type": "array", "items": {"type": "string"}, "optional": True},
            {"field": "map", "type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}, "optional": True},
            {"field": "deep", "type": "struct", "optional": True, "fields": [{"field": "x", "type": "int32"}]},
        ],
    }
    value = {name: item for name, (_, item) in fields.items()} | {
        "day": 20_000,
        "at": 1_700_000_000_123,
        "list": ["a", "b"],
        "map": {"k": 1},
        "deep": {"x": 3},
    }
    empty = {**value, "list": None, "map": None, "deep": None}
    readings.produce(topic, [value, None, empty])
    config = {"value.converter.schemas.enable": "true", "value.converter.schema.content": json.dumps(declared)}
    config = {"value.converter": JSON, **config}
    sampler = Sampler(readings.plan(topic, config=config), "value", "key")
    sample = sampler.look({}, None, lambda: None)
    sampler.close()
    found = readings.values(readings.plan(topic, values=sample.values, config=config))
    at = dt.datetime.fromtimestamp(1_700_000_000.123)  # noqa: DTZ006 - as PySpark hands it out
    row = {**value, "day": dt.date(2024, 10, 4), "at": at}
    assert found == [row, None, {**row, "list": None, "map": None, "deep": None}]


@pytest.mark.slow
def test_ranges_that_are_cut_into_parts_give_the_same_rows(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=2)
    for partition in range(2):
        readings.produce(topic, [b'{"id":%d}' % n for n in range(50_000)], partition)
    values = Schema.struct({"id": INT32.as_optional()})

    def places(parts: int) -> list[Any]:
        found: list[Any] = []

        def take(df: Any, batch: int) -> None:
            found.append(df.rdd.getNumPartitions())
            found.extend(map(tuple, df.select("_partition", "_offset", "_value.id").collect()))

        plan = readings.plan(topic, values=values, shape={"metadata": True}, parts=parts)
        run = readings.begin(Run(), plan, take, f"in {parts} parts", availableNow=True)
        assert run.query.awaitTermination(120)
        return [found[0], *sorted(found[1:])]

    expected = [(partition, n, n) for partition in range(2) for n in range(50_000)]
    assert places(0) == [2, *expected]
    assert places(5) == [4, *expected]  # none smaller than 20,000
