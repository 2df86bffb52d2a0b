"""The two source connectors: how they are called, and what is wrong with a configuration."""

from collections.abc import Mapping
from typing import Any

import pytest

from connect import ConnectError
from connect.api.connector import ExactlyOnceSupport, SourceConnector
from connect.plugins import PluginKind, Plugins, load
from spark_sink.source import positions
from spark_sink.source.connectors import DeltaSourceConnector, SparkSourceConnector
from spark_sink.source.settings import DeltaSourceOptions

TABLE = {"table": "/lake/orders", "topic": "orders"}
QUERY = {"query": "SELECT * FROM orders", "topic": "orders"}


def errors(connector: type[SourceConnector], config: Mapping[str, str]) -> dict[str, list[str]]:
    return {value.name: value.errors for value in connector().validate(config) if value.errors}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("DeltaSourceConnector", DeltaSourceConnector),
        ("DeltaSource", DeltaSourceConnector),
        ("DeltaLakeSource", DeltaSourceConnector),
        ("spark_sink.source.connectors.DeltaSourceConnector", DeltaSourceConnector),
        ("SparkSourceConnector", SparkSourceConnector),
        ("SparkSource", SparkSourceConnector),
        ("SparkSqlSource", SparkSourceConnector),
    ],
)
def test_connectors_are_found_by_their_names(name: str, expected: type[Any]) -> None:
    assert load(Plugins.discover([]).find(PluginKind.SOURCE, name)) is expected


def test_they_run_on_spark_and_nowhere_else() -> None:
    for connector in (DeltaSourceConnector, SparkSourceConnector):
        assert connector.engines == ("spark",)
        with pytest.raises(ConnectError, match="runs on Spark only"):
            connector().task_class()().start({})


@pytest.mark.parametrize(
    "config",
    [
        TABLE,
        {**TABLE, "key.fields": "id,day", "envelope": "debezium", "starting.version": "12"},
        {**TABLE, "envelope": "flat", "starting.version": "latest"},
        {**TABLE, "starting.timestamp": "2024-05-06T07:08:09Z", "max.bytes.per.trigger": "512m"},
        {**TABLE, "mode": "appends", "skip.change.commits": "true", "order.by": "seq"},
        {**TABLE, "exactly.once": "true", "exactly.once.topic": "accounts", "kafka.writers": "4"},
    ],
)
def test_a_right_configuration_of_a_table(config: dict[str, str]) -> None:
    assert errors(DeltaSourceConnector, config) == {}


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"topic": "t"}, "table", "is required"),
        ({"table": "/t"}, "topic", "is required"),
        ({**TABLE, "table": "a`b"}, "table", "is not a table"),
        ({**TABLE, "mode": "both"}, "mode", "changes"),
        ({**TABLE, "envelope": "debezium"}, "key.fields", "is needed with envelope=debezium"),
        ({**TABLE, "tombstones": "true"}, "key.fields", "is needed with tombstones=true"),
        ({**TABLE, "mode": "appends", "envelope": "flat"}, "envelope", "is for mode=changes"),
        ({**TABLE, "mode": "appends", "tombstones": "true"}, "tombstones", "is for mode=changes"),
        ({**TABLE, "skip.change.commits": "true"}, "skip.change.commits", "is for mode=appends"),
        ({**TABLE, "starting.version": "-1"}, "starting.version", "is not a version"),
        ({**TABLE, "starting.version": "1", "starting.timestamp": "2024-01-01"}, "starting.timestamp", "excludes"),
        ({**TABLE, "starting.timestamp": "yesterday"}, "starting.timestamp", "is not a moment"),
        ({**TABLE, "max.bytes.per.trigger": "much"}, "max.bytes.per.trigger", "is not a size"),
        ({**TABLE, "max.files.per.trigger": "0"}, "max.files.per.trigger", "1"),
        ({**TABLE, "key.fields": "a,a"}, "key.fields", "twice"),
        ({**TABLE, "kafka.writers": "0"}, "kafka.writers", "1"),
        ({**TABLE, "exactly.once.topic": "x"}, "exactly.once.topic", "without exactly.once=true"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_at_its_key(config: dict[str, str], key: str, message: str) -> None:
    found = errors(DeltaSourceConnector, config)
    assert list(found) == [key]
    assert message in found[key][0]


@pytest.mark.parametrize(
    "config",
    [
        QUERY,
        {**QUERY, "incrementing.column.name": "id", "timestamp.column.name": "t", "poll.interval.ms": "1000"},
        {**QUERY, "timestamp.column.name": "t", "timestamp.delay.interval.ms": "5000"},
        {**QUERY, "mode": "stream", "source.format": "rate", "source.option.rowsPerSecond": "5"},
        {**QUERY, "mode": "stream", "output.mode": "update"},
    ],
)
def test_a_right_configuration_of_a_query(config: dict[str, str]) -> None:
    assert errors(SparkSourceConnector, config) == {}


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"topic": "t"}, "query", "is required"),
        ({**QUERY, "mode": "stream", "poll.interval.ms": "5"}, "poll.interval.ms", "is for mode=batch"),
        ({**QUERY, "source.format": "delta"}, "source.format", "is for mode=stream"),
        ({**QUERY, "mode": "stream", "source.schema": "a int"}, "source.schema", "needs source.format"),
        ({**QUERY, "timestamp.delay.interval.ms": "5"}, "timestamp.delay.interval.ms", "needs timestamp.column.name"),
        ({**QUERY, "output.mode": "update"}, "output.mode", "is for mode=stream"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_at_its_key(config: dict[str, str], key: str, message: str) -> None:
    found = errors(SparkSourceConnector, config)
    assert list(found) == [key]
    assert message in found[key][0]


def test_exactly_once_is_what_positions_allow() -> None:
    support = SparkSourceConnector().exactly_once_support
    assert DeltaSourceConnector().exactly_once_support(TABLE) is ExactlyOnceSupport.SUPPORTED
    assert support({**QUERY, "mode": "stream"}) is ExactlyOnceSupport.SUPPORTED
    assert support({**QUERY, "incrementing.column.name": "id"}) is ExactlyOnceSupport.SUPPORTED
    assert support(QUERY) is ExactlyOnceSupport.UNSUPPORTED  # each run takes all rows


def test_a_version_may_be_altered_and_everything_reset() -> None:
    alter = DeltaSourceConnector().alter_offsets
    table = (("table", "/lake/orders"),)
    assert alter(TABLE, {table: {"version": 12}})
    assert alter(TABLE, {table: positions.marked({"version": 3}, "000001-ab")})
    assert alter(TABLE, {table: None, (("writer", 3),): None, (("writer", "run"),): None})


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        ({"writer": 3}, {"batch": 1}, "cannot be set"),
        ({"table": "/lake/others"}, {"version": 1}, 'reads the table "/lake/orders"'),
        ({"table": "/lake/orders"}, {"version": "x"}, "is not a version"),
        ({"table": "/lake/orders"}, {"version": -1}, "is not a version"),
        ({"table": "/lake/orders"}, {"version": True}, "is not a version"),
        ({"table": "/lake/orders"}, {"snapshot": 3}, "is not a version"),
        ({"table": "/lake/orders"}, {"version": 3, "file": 2}, "Leave out file"),
    ],
)
def test_offsets_that_say_no_place_are_refused(partition: dict[str, Any], offset: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectError, match=message):
        DeltaSourceConnector().alter_offsets(TABLE, {tuple(partition.items()): offset})


def test_offsets_of_a_query_are_those_of_its_columns() -> None:
    alter, query = SparkSourceConnector().alter_offsets, (("query", "query"),)
    counted = {**QUERY, "incrementing.column.name": "id"}
    assert alter(counted, {query: {"incrementing": 5}})
    assert alter(counted, {query: {"incrementing": 5, "batch": 3, "checkpoint": "x@y"}})
    for config, offset in (
        (counted, {"timestamp": "2024-01-01"}),
        (QUERY, {"incrementing": 5}),
        ({**QUERY, "mode": "stream"}, {"batch": 3}),
    ):
        with pytest.raises(ConnectError):
            alter(config, {query: offset})
        assert alter(config, {query: None})


@pytest.mark.parametrize(
    ("table", "topic", "expected"),
    [
        ("/lake/orders/", "${table}", "orders"),
        ("s3a://lake/shop/orders", "cdc.${table}", "cdc.orders"),
        ("unity.shop.orders", "${table}", "orders"),
        ("shop.orders", "fixed", "fixed"),
    ],
)
def test_the_topic_may_be_named_after_the_table(table: str, topic: str, expected: str) -> None:
    assert DeltaSourceOptions.parse({"table": table, "topic": topic}).topic == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, False),
        ({"key.fields": "id"}, True),
        ({"key.fields": "id", "envelope": "debezium"}, True),
        ({"key.fields": "id", "envelope": "flat"}, False),
        ({"key.fields": "id", "envelope": "flat", "tombstones": "true"}, True),
        ({"key.fields": "id", "tombstones": "false"}, False),
    ],
)
def test_tombstones_are_written_where_they_say_something(config: dict[str, str], expected: bool) -> None:
    assert DeltaSourceOptions.parse({**TABLE, **config}).tombstones is expected


def test_writers_are_as_many_as_a_shuffle_has_parts_but_not_hundreds() -> None:
    options = DeltaSourceOptions.parse(TABLE)
    assert options.writers(4) == 4
    assert options.writers(200) == 16
    assert DeltaSourceOptions.parse({**TABLE, "kafka.writers": "64"}).writers(4) == 64


# Offsets and their marks.


def test_an_offset_goes_on_with_the_checkpoint_that_marked_it() -> None:
    name = positions.new_checkpoint(None)
    offset = positions.marked({"version": 12}, name)
    assert offset == {"version": 12, "checkpoint": f"{name}@version=12"}
    assert positions.checkpoint_of(offset) == name
    assert positions.unmarked(offset) == {"version": 12}


@pytest.mark.parametrize(
    "offset",
    [None, {"version": 5}, {"version": 5, "checkpoint": "000003-ab@version=12"}, {"version": 5, "checkpoint": ""}],
)
def test_an_offset_that_somebody_changed_has_no_checkpoint(offset: dict[str, Any] | None) -> None:
    assert positions.checkpoint_of(offset) is None


def test_a_new_checkpoint_is_numbered_after_the_last_one() -> None:
    assert positions.new_checkpoint(None).startswith("000001-")
    assert positions.new_checkpoint({"checkpoint": "000003-ab@version=12"}).startswith("000004-")
    assert positions.new_checkpoint(None) != positions.new_checkpoint(None)
