"""Debezium's outbox event router. The cases are those of its documentation and its own tests."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord, SourceRecord
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.event_router import EventRouter

from .forms import forms, told, with_config

ID = schemas.STRING.replace(name="io.debezium.data.Uuid", version=1)
ROW = Schema.struct(
    {
        "id": ID,
        "aggregatetype": schemas.STRING,
        "aggregateid": schemas.STRING,
        "type": schemas.STRING,
        "payload": schemas.OPTIONAL_STRING.replace(name="io.debezium.data.Json", version=1),
        "version": schemas.OPTIONAL_INT32.replace(default=7),
        "part": schemas.OPTIONAL_INT32,
        "at": schemas.OPTIONAL_INT64.replace(name="io.debezium.time.MicroTimestamp", version=1),
        "flag": schemas.BOOLEAN,
    },
    optional=True,
    name="server.shop.outbox.Value",
)
SOURCE = Schema.struct({"connector": schemas.STRING}, name="source")
ENVELOPE = Schema.struct(
    {"before": ROW, "after": ROW, "source": SOURCE, "op": schemas.STRING, "ts_ms": schemas.OPTIONAL_INT64},
    name="server.shop.outbox.Envelope",
)
EVENT = {
    "id": "da8d6de6",
    "aggregatetype": "User",
    "aggregateid": "10711fa5",
    "type": "UserCreated",
    "payload": '{"email": "a@b.c"}',
    "version": None,
    "part": 3,
    "at": 1_553_460_779_000_999,
    "flag": True,
}
PLACED = "table.fields.additional.placement"


def event(op: str = "c", schema: Schema = ENVELOPE, **row: Any) -> SinkRecord:
    after = None if op == "d" else {**EVENT, **row}
    value = {"before": None, "after": after, "source": {"connector": "postgresql"}, "op": op, "ts_ms": 9}
    return SinkRecord("server.shop.outbox", value, schema, {"id": 1}, None, partition=5, offset=2, timestamp=1)


def routed(config: dict[str, str] | None = None, record: SinkRecord | None = None) -> SinkRecord:
    made: SinkRecord = with_config(EventRouter, config or {}).apply(record or event())
    return made


class TestConformance(TransformationConformance):
    transformation = EventRouter

    def config(self) -> dict[str, str]:
        return {PLACED: "type:header,flag:envelope", "route.tombstone.on.empty.payload": "true"}

    def values(self) -> Any:
        return _values


_rows = st.fixed_dictionaries(
    {}, optional={"payload": st.sampled_from([None, "", "{}", "x"]), "aggregatetype": st.sampled_from("ab")}
)
_values = st.one_of(
    st.tuples(st.just(ENVELOPE), st.builds(lambda op, row: event(op, **row).value, st.sampled_from("crdu"), _rows)),
    st.sampled_from([(None, None), (ENVELOPE, None), (ROW, EVENT), (None, {"after": EVENT}), (schemas.STRING, "x")]),
)


@given(st.lists(_values, max_size=6), st.sampled_from([{}, {PLACED: "type:header,flag:envelope:f,part:partition"}]))
def test_records_and_batches_give_the_same(values: list[Any], config: dict[str, str]) -> None:
    made = with_config(EventRouter, config)
    records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
    expected = [told(one) for one in map(made.apply, records) if one is not None]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


def test_the_row_becomes_a_message() -> None:
    one = routed()
    assert (one.topic, one.key, one.key_schema) == ("outbox.event.User", "10711fa5", schemas.STRING)
    assert (one.value, one.value_schema) == (EVENT["payload"], ROW.fields[4].schema)
    assert (one.timestamp, one.partition, one.original_topic) == (9, 5, "server.shop.outbox")
    assert one.headers == Headers([Header("id", "da8d6de6", ID)])


def test_a_source_leaves_the_partition_to_the_partitioner() -> None:
    of_sink = event()
    record = SourceRecord("x", of_sink.value, of_sink.value_schema, partition=4, headers=Headers([Header("h", 1)]))
    one = with_config(EventRouter, {}).apply(record)
    assert (one.topic, one.partition) == ("outbox.event.User", None)
    assert [header.key for header in one.headers] == ["h", "id"]
    assert with_config(EventRouter, {PLACED: "part:partition"}).apply(record).partition == 3


@pytest.mark.parametrize("op", ["c", "r"])
def test_rows_of_a_snapshot_are_events_too(op: str) -> None:
    assert routed(record=event(op)).value == EVENT["payload"]


@pytest.mark.parametrize("record", [SinkRecord("t", None), SinkRecord("t", None, ENVELOPE), event("d")])
def test_tombstones_and_deletes_are_dropped(record: SinkRecord) -> None:
    assert with_config(EventRouter, {}).apply(record) is None


@pytest.mark.parametrize("level", ["warn", "ERROR"])
def test_updates_are_dropped_with_a_line(level: str, caplog: pytest.LogCaptureFixture) -> None:
    assert with_config(EventRouter, {"table.op.invalid.behavior": level}).apply(event("u")) is None
    assert [record.levelname for record in caplog.records] == ["WARNING" if level == "warn" else "ERROR"]


def test_updates_are_refused_if_fatal() -> None:
    with pytest.raises(DataError, match="was updated .topic server.shop.outbox.*table.op.invalid.behavior=warn"):
        routed({"table.op.invalid.behavior": "fatal"}, event("u"))


@pytest.mark.parametrize(
    "record", [SinkRecord("t", EVENT, ROW), SinkRecord("t", {"op": "c"}, None), SinkRecord("t", "x", schemas.STRING)]
)
def test_what_is_no_change_event_passes(record: SinkRecord) -> None:
    assert with_config(EventRouter, {}).apply(record) is record


def test_fields_in_headers() -> None:
    one = routed({PLACED: "type:header:eventType, version:header ,flag:HEADER"})
    assert list(one.headers) == [
        Header("id", "da8d6de6", ID),
        Header("eventType", "UserCreated", schemas.STRING),
        Header("version", 7, ROW.fields[5].schema),  # the default stands for null
        Header("flag", True, schemas.BOOLEAN),
    ]
    assert one.value == EVENT["payload"]


def test_fields_in_the_envelope() -> None:
    one = routed({PLACED: "type:envelope:eventType,version:envelope"})
    assert one.value == {"payload": EVENT["payload"], "eventType": "UserCreated", "version": 7}
    assert one.value_schema == Schema.struct(
        {"payload": ROW.fields[4].schema, "eventType": schemas.STRING, "version": ROW.fields[5].schema},
        name="server.shop.outbox.User.Value",
    )


def test_the_version_of_the_schema_is_a_column() -> None:
    config = {PLACED: "type:envelope", "table.field.event.schema.version": "version"}
    for version in (2, None):
        schema = routed(config, event(version=version)).value_schema
        assert schema is not None
        assert schema.version == version


def test_the_name_of_the_schema_follows_the_topic_of_each_message() -> None:
    made = with_config(EventRouter, {PLACED: "type:envelope"})
    names = [made.apply(event(aggregatetype=topic)).value_schema.name for topic in ("User", "Order")]
    assert names == ["server.shop.outbox.User.Value", "server.shop.outbox.Order.Value"]


def test_a_field_that_is_missing_is_refused_or_left_out() -> None:
    for placement in ("header", "envelope", "partition"):
        with pytest.raises(DataError, match='The row of the outbox table has no field "no". It has id, agg'):
            routed({PLACED: f"no:{placement}"})
    config = {PLACED: "no:header,no:partition,no:envelope,flag:envelope", "table.field.additional.missing": "ignore"}
    one = routed(config)
    assert one.value == {"payload": EVENT["payload"], "flag": True}
    assert [header.key for header in one.headers] == ["id"]
    assert one.partition == 5


@pytest.mark.parametrize(
    ("name", "value", "timestamp"),
    [
        ("Timestamp", 1_553_460_779_000, 1_553_460_779_000),
        ("MicroTimestamp", 1_553_460_779_000_999, 1_553_460_779_000),
        ("NanoTimestamp", -1_999_999, -1),
        ("Timestamp", None, 9),
    ],
)
def test_the_timestamp_is_a_column(name: str, value: int | None, timestamp: int) -> None:
    row = ROW.replace(
        fields={f.name: f.schema for f in ROW.fields}
        | {"at": schemas.OPTIONAL_INT64.replace(name=f"io.debezium.time.{name}")}
    )
    schema = ENVELOPE.replace(fields={f.name: f.schema for f in ENVELOPE.fields} | {"after": row})
    assert routed({"table.field.event.timestamp": "at"}, event(schema=schema, at=value)).timestamp == timestamp


@pytest.mark.parametrize(
    ("config", "topic"),
    [
        ({"route.by.field": "type"}, "outbox.event.UserCreated"),
        ({"route.topic.replacement": "x-${routedByValue}"}, "x-User"),
        ({"route.topic.regex": "(?<what>Us).*", "route.topic.replacement": "all.$1"}, "all.Us"),
        ({"route.topic.regex": "Order", "route.topic.replacement": "orders"}, "User"),
    ],
)
def test_routes(config: dict[str, str], topic: str) -> None:
    assert routed(config).topic == topic


def test_columns_of_other_names() -> None:
    config = {
        "table.field.event.id": "aggregateid",
        "table.field.event.key": "version",
        "table.field.event.payload": "type",
        "route.by.field": "id",
    }
    one = routed(config)
    assert (one.topic, one.key, one.key_schema, one.value) == (
        "outbox.event.da8d6de6", 7, ROW.fields[5].schema, "UserCreated",
    )  # fmt: skip
    assert one.headers == Headers([Header("id", "10711fa5", schemas.STRING)])


def test_oracle_has_names_in_upper_case() -> None:
    upper = ROW.replace(fields={f.name.upper(): f.schema for f in ROW.fields})
    schema = ENVELOPE.replace(fields={f.name: f.schema for f in ENVELOPE.fields} | {"before": upper, "after": upper})
    after = {name.upper(): value for name, value in EVENT.items()}
    value = {"after": after, "source": {"connector": "oracle"}, "op": "c", "ts_ms": 9}
    record = SinkRecord("t", value, schema)
    assert (routed({}, record).topic, routed({}, record).key) == ("outbox.event.User", "10711fa5")
    assert routed({"route.by.field": "TYPE"}, record).topic == "outbox.event.UserCreated"
    with pytest.raises(DataError, match='has no field "type". It has ID'):
        routed({"route.by.field": "type"}, record)


@pytest.mark.parametrize("payload", [None, "", " \t\n"])
@pytest.mark.parametrize("placed", ["", "type:envelope"])
def test_an_empty_payload_may_be_a_tombstone(payload: str | None, placed: str) -> None:
    config = {PLACED: placed} if placed else {}
    one = routed(config, event(payload=payload))
    assert one.value == ({"payload": payload, "type": "UserCreated"} if placed else payload)
    assert one.value_schema is not None
    one = routed({**config, "route.tombstone.on.empty.payload": "true"}, event(payload=payload))
    assert (one.value, one.value_schema, one.key) == (None, None, "10711fa5")


def test_json_may_be_expanded(caplog: pytest.LogCaptureFixture) -> None:
    expand = {"table.expand.json.payload": "true"}
    expanded = Schema.struct({"email": schemas.OPTIONAL_STRING}, name="payload", optional=True)
    one = routed(expand)
    assert (one.value, one.value_schema) == ({"email": "a@b.c"}, expanded)
    one = routed({**expand, PLACED: "type:envelope"})
    assert one.value == {"payload": {"email": "a@b.c"}, "type": "UserCreated"}
    assert one.value_schema is not None
    assert one.value_schema.fields[0].schema == expanded
    one = routed(expand, event(payload=None))
    assert (one.value, one.value_schema) == (None, ROW.fields[4].schema)
    assert not caplog.records
    one = routed(expand, event(payload="secret, no JSON"))
    assert (one.value, one.value_schema) == ("secret, no JSON", ROW.fields[4].schema)
    assert [record.message for record in caplog.records] == [
        'The payload in the column "payload" stays as it is: it does not begin with { or [.'
    ]


def test_what_json_leaves_out() -> None:
    text = '{"a": null, "b": []}'
    config = {
        "table.expand.json.payload": "true",
        "table.json.payload.null.behavior": "optional_bytes",
        "table.json.payload.empty.array.behavior": "optional_string",
    }
    assert routed(config, event(payload=text)).value == {"a": None, "b": []}
    assert routed({"table.expand.json.payload": "true"}, event(payload=text)).value == {}


@pytest.mark.parametrize(
    ("config", "row", "says"),
    [
        ({"table.field.event.id": "no"}, {}, 'no field "no"'),
        ({"table.field.event.key": "no"}, {}, 'no field "no"'),
        ({"table.field.event.payload": "no"}, {}, 'no field "no"'),
        ({"route.by.field": "no"}, {}, 'no field "no"'),
        ({"table.field.event.timestamp": "no"}, {}, 'no field "no"'),
        ({"table.field.event.timestamp": "type"}, {}, "is STRING and must be INT64"),
        ({"route.by.field": "version"}, {}, "is INT32 and must be STRING"),
        ({PLACED: "type:partition"}, {}, "is STRING and must be INT32"),
        ({PLACED: "flag:envelope", "table.field.event.schema.version": "type"}, {}, "must be INT32"),
        ({}, {"aggregatetype": None}, 'The column "aggregatetype" .route.by.field. of the row is null'),
    ],
)
def test_rows_of_another_form_are_refused(config: dict[str, str], row: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        routed(config, event(**row))


def test_a_timestamp_of_another_type_is_refused() -> None:
    row = ROW.replace(fields={f.name: f.schema for f in ROW.fields} | {"at": schemas.OPTIONAL_INT64})
    schema = ENVELOPE.replace(fields={f.name: f.schema for f in ENVELOPE.fields} | {"after": row})
    with pytest.raises(DataError, match='The column "at" .* has the type INT64; it must be one of io.debezium.time'):
        routed({"table.field.event.timestamp": "at"}, event(schema=schema))


def test_an_event_without_a_row_is_refused() -> None:
    record = event("t")
    with pytest.raises(DataError, match=r"The change event \(op t\) has no row"):
        routed({}, record.replace(value={**record.value, "after": None}))


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({PLACED: "type"}, PLACED),
        ({PLACED: "type:nowhere"}, PLACED),
        ({PLACED: "type:header:a:b"}, PLACED),
        ({PLACED: ":header"}, PLACED),
        ({PLACED: "type:envelope:x,flag:envelope:x"}, PLACED),
        ({PLACED: "type:envelope:payload"}, PLACED),
        ({"route.topic.regex": "("}, "route.topic.regex"),
        ({"route.topic.replacement": "$7"}, "route.topic.replacement"),
        ({"table.op.invalid.behavior": "ignore"}, "table.op.invalid.behavior"),
        ({"table.field.event.key": ""}, "table.field.event.key"),
    ],
)
def test_wrong_settings(config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(EventRouter, config)
    assert caught.value.key == key
