"""ByLogicalTableRouter and ToLogicalTopicRouter."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.logical_router import ByLogicalTableRouter, ToLogicalTopicRouter
from transforms.schema_names import adjuster

from .forms import forms, told, with_config

ROW = Schema.struct(
    {"id": schemas.INT32, "n": schemas.OPTIONAL_INT32.replace(default=5)},
    optional=True,
    name="s.shard1.t.Value",
    version=2,
    doc="a row",
    parameters={"p": "q"},
)
ENVELOPE = Schema.struct(
    {"before": ROW, "after": ROW, "op": schemas.STRING, "ts_ms": schemas.OPTIONAL_INT64},
    name="s.shard1.t.Envelope",
    version=1,
)
KEY = Schema.struct({"id": schemas.INT32}, name="s.shard1.t.Key", version=3, doc="a key", optional=True)
CONFIG = {"topic.regex": r"(.*)shard\d+(.*)", "topic.replacement": "$1all$2"}
FIELD = "__dbz__physicalTableIdentifier"
EVENT = {"before": None, "after": {"id": 1, "n": None}, "op": "c", "ts_ms": 9}


def event(topic: str = "s.shard1.t", value: Any = EVENT, schema: Schema | None = ENVELOPE, **more: Any) -> SinkRecord:
    return SinkRecord(topic, value, schema, **{"key": {"id": 1}, "key_schema": KEY, **more})


_values = st.one_of(
    st.just((ENVELOPE, EVENT)), st.just((ENVELOPE, None)), st.just((None, None)), st.just((ROW, {"id": 1})),
    st.just((None, {"after": 1})),
)  # fmt: skip
_keys = st.sampled_from([(KEY, {"id": 1}), (KEY, None), (None, None), (KEY, {"id": 2})])


class TestConformance(TransformationConformance):
    transformation = ByLogicalTableRouter

    def config(self) -> dict[str, str]:
        return {"topic.regex": ".*", "topic.replacement": "all", "key.enforce.uniqueness": "false"}

    def values(self) -> Any:
        return _values


@given(st.lists(st.tuples(st.sampled_from(["shard1", "shard2", "x"]), _keys, _values), max_size=8))
def test_records_and_columns_give_the_same(rows: list[Any]) -> None:
    made = with_config(ByLogicalTableRouter, CONFIG)
    records = [
        SinkRecord(topic, value, schema, key=key, key_schema=key_schema, offset=offset)
        for offset, (topic, (key_schema, key), (schema, value)) in enumerate(rows)
    ]
    expected = [told(made.apply(record)) for record in records]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


def test_topic_key_and_envelope_are_renamed() -> None:
    headers = Headers([Header("h", 1)])
    record = event(headers=headers, timestamp=7, partition=4)
    one = with_config(ByLogicalTableRouter, CONFIG).apply(record)
    assert (one.topic, one.partition, one.timestamp, one.headers) == ("s.all.t", 4, 7, headers)
    assert one.key == {"id": 1, FIELD: "s.shard1.t"}
    assert one.key_schema == Schema.struct(
        {"id": schemas.INT32, FIELD: schemas.STRING}, name="s.all.t.Key", version=3, doc="a key", optional=True
    )
    row = ROW.replace(name="s.all.t.Value")
    assert one.value == {**EVENT, "after": {"id": 1, "n": 5}}
    assert one.value_schema == ENVELOPE.replace(
        name="s.all.t.Envelope",
        fields={"before": row, "after": row, "op": schemas.STRING, "ts_ms": schemas.OPTIONAL_INT64},
    )


def test_the_newer_name_has_another_field() -> None:
    one = with_config(ToLogicalTopicRouter, CONFIG).apply(event())
    assert one.key == {"id": 1, "__dbz__sourceIdentifier": "s.shard1.t"}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"key.enforce.uniqueness": "false"}, {"id": 1}),
        ({"key.field.name": "from"}, {"id": 1, "from": "s.shard1.t"}),
        ({"key.field.regex": r".*(shard\d+).*", "key.field.replacement": "$1"}, {"id": 1, FIELD: "shard1"}),
        ({"key.field.regex": "other", "key.field.replacement": "x"}, {"id": 1, FIELD: "s.shard1.t"}),
    ],
)
def test_the_field_of_the_key(config: dict[str, str], key: dict[str, Any]) -> None:
    assert with_config(ByLogicalTableRouter, {**CONFIG, **config}).apply(event()).key == key


@pytest.mark.parametrize(("schema", "value"), [(None, None), (ENVELOPE, None), (ROW, {"id": 1}), (None, EVENT)])
def test_what_is_no_change_event_keeps_its_value(schema: Schema | None, value: Any) -> None:
    one = with_config(ByLogicalTableRouter, CONFIG).apply(event(value=value, schema=schema))
    assert (one.topic, one.value, one.value_schema) == ("s.all.t", value, schema)
    assert one.key == {"id": 1, FIELD: "s.shard1.t"}


def test_a_null_key_stays_null_without_a_schema() -> None:
    one = with_config(ByLogicalTableRouter, CONFIG).apply(event(key=None))
    assert (one.key, one.key_schema) == (None, None)


def test_other_topics_stay_unchanged() -> None:
    made = with_config(ByLogicalTableRouter, CONFIG)
    other = event("orders", key="text", key_schema=None)
    assert made.apply(other) is other
    batch = forms([other])[0]
    assert made.apply_batch(batch) is batch


def test_an_empty_topic_is_none(caplog: pytest.LogCaptureFixture) -> None:
    made = with_config(ByLogicalTableRouter, {"topic.regex": "(x*)t", "topic.replacement": "$1"})
    record = event("t")
    assert made.apply(record) is record
    assert made.apply(event("xt")).topic == "x"
    assert [record.message for record in caplog.records] == [
        "topic.replacement gives topic t an empty name; its records keep their topic."
    ]


def test_defaults_of_the_envelope_and_of_rows_stand_for_null() -> None:
    schema = ENVELOPE.replace(
        fields={"after": ROW, "op": schemas.STRING, "ts_ms": schemas.OPTIONAL_INT64.replace(default=3)}
    )
    value = {"after": {"id": 1, "n": None}, "op": "c", "ts_ms": None}
    for batch in forms([event(value=value, schema=schema)] * 3):
        (one, *_) = with_config(ByLogicalTableRouter, CONFIG).apply_batch(batch)
        assert one.value == {"after": {"id": 1, "n": 5}, "op": "c", "ts_ms": 3}


@pytest.mark.parametrize(
    ("key", "schema", "says"),
    [
        ("text", schemas.STRING, "A key of topic s.shard1.t is STRING, but only structs"),
        ({"id": 1}, None, "is dict, but only structs"),
        ({FIELD: "x"}, Schema.struct({FIELD: schemas.STRING}), "already has a field"),
    ],
)
def test_keys_that_cannot_get_a_field_are_refused(key: Any, schema: Schema | None, says: str) -> None:
    made, record = with_config(ByLogicalTableRouter, CONFIG), event(key=key, key_schema=schema)
    with pytest.raises(DataError, match=says):
        made.apply(record)
    for batch in forms([record]):
        with pytest.raises(DataError, match=says):
            made.apply_batch(batch)


@pytest.mark.parametrize(
    ("mode", "name", "adjusted"),
    [
        ("none", "a-b.c_d", "a-b.c_d"),
        ("avro", "a-b.c_d", "a_b.c_d"),
        ("AVRO", "1a", "_1a"),
        ("avro", "-1", "_1"),
        ("avro", ".a", "_a"),
        ("avro", "é😀x", "___x"),
        ("avro_unicode", "a-b.c_d", "a_u002db.c_u005fd"),
        ("avro_unicode", "1a", "_u0031a"),
        ("avro_unicode", "é", "_u00e9"),
        ("avro_unicode", "😀", "_ud83d_ude00"),
        ("avro", "", ""),
    ],
)
def test_names_of_schemas_are_adjusted(mode: str, name: str, adjusted: str) -> None:
    assert adjuster(mode)(name) == adjusted


def test_names_are_adjusted_where_it_is_set() -> None:
    config = {**CONFIG, "topic.replacement": "$1-all$2", "schema.name.adjustment.mode": "avro"}
    one = with_config(ByLogicalTableRouter, config).apply(event())
    assert (one.topic, one.key_schema.name, one.value_schema.name) == ("s.-all.t", "s._all.t.Key", "s._all.t.Envelope")


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"topic.replacement": "x"}, "topic.regex"),
        ({"topic.regex": "("}, "topic.regex"),
        ({"topic.regex": "x"}, "topic.replacement"),
        ({"topic.regex": "x", "topic.replacement": "$1"}, "topic.replacement"),
        ({**CONFIG, "key.field.regex": "x"}, "key.field.replacement"),
        ({**CONFIG, "key.field.regex": "(", "key.field.replacement": "x"}, "key.field.regex"),
        ({**CONFIG, "key.field.regex": "x", "key.field.replacement": "$1"}, "key.field.replacement"),
        ({**CONFIG, "schema.name.adjustment.mode": "x"}, "schema.name.adjustment.mode"),
    ],
)
def test_wrong_settings(config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(ByLogicalTableRouter, config)
    assert caught.value.key == key
