"""InsertField. Expected values are what Kafka Connect's own class gives."""

import copy
import datetime as dt
from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, SinkBatch, SinkRecord, SourceBatch, SourceRecord, Values, logical
from connect.data.column import Constant
from connect.data.schema import INT32, INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING
from transforms.insert_field import InsertFieldKey, InsertFieldValue

from .forms import configured, forms, told

_ALL = {
    "topic_field": "t",
    "partition_field": "p!",
    "offset_field": "o?",
    "timestamp_field": "at",
    "static_field": "s",
    "static_value": "x",
}


def _inserted(schema: Schema | None, value: Any, *, timestamp: int | None = 5, **config: str) -> SinkRecord:
    """The changed record, the same in each form of a batch; the input is left alone."""
    before = copy.deepcopy(value)
    insert = configured(InsertFieldValue, **config)
    records = [
        SinkRecord(f"topic{n % 2}", value, schema, partition=n % 3, offset=7 + n, timestamp=timestamp)
        for n in range(120)
    ]
    changed = [insert.apply(record) for record in records]
    for batch in forms(records):
        assert [told(r) for r in insert.apply_batch(batch)] == [told(record) for record in changed]
    assert value == before
    return changed[0]


def test_maps_get_what_is_known_of_their_record() -> None:
    assert _inserted(None, {"a": 1, "s": 0}, **_ALL).value == {
        "a": 1,
        "t": "topic0",
        "p": 0,
        "o": 7,
        "at": 5,
        "s": "x",
    }
    assert "at" not in _inserted(None, {"a": 1}, timestamp=None, **_ALL).value


_STRUCT = Schema.struct({"a": OPTIONAL_STRING.replace(default="dflt")}, name="nm", version=3, optional=True)


def test_structs_get_fields_of_their_types() -> None:
    changed = _inserted(_STRUCT, {"a": None}, **_ALL)
    at = dt.datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=dt.UTC)
    assert changed.value == {"a": "dflt", "t": "topic0", "p": 0, "o": 7, "at": at, "s": "x"}
    assert changed.value_schema == Schema.struct(
        {
            "a": OPTIONAL_STRING.replace(default="dflt"),
            "t": OPTIONAL_STRING,
            "p": INT32,
            "o": OPTIONAL_INT64,
            "at": logical.TIMESTAMP.as_optional(),
            "s": OPTIONAL_STRING,
        },
        name="nm",
        version=3,
    )
    without = _inserted(_STRUCT, {"a": None}, timestamp=None, replace_null_with_default="false", **_ALL)
    assert without.value == {**changed.value, "a": None, "at": None}


def test_tombstones_stay() -> None:
    insert = configured(InsertFieldValue, **_ALL)
    records = [SinkRecord("t", value, _STRUCT, offset=n) for n, value in enumerate([{"a": "x"}, None, {"a": "y"}])]
    assert insert.apply(records[1]) is records[1]
    for batch in forms(records):
        assert [told(r) for r in insert.apply_batch(batch)] == [told(insert.apply(record)) for record in records]
        assert [r.value and r.value["o"] for r in insert.apply_batch(batch)] == [0, None, 2]


def test_what_a_whole_batch_shares_costs_one_object() -> None:
    batch = SinkBatch("t", Values([{}, {}]), offsets=[0, 1], partitions=3)
    assert isinstance(batch.topics, Constant)
    changed = configured(InsertFieldValue, topic_field="t", partition_field="p").apply_batch(batch)
    assert list(changed.values) == [{"t": "t", "p": 3}] * 2


def test_different_schemas_in_one_batch() -> None:
    insert = configured(InsertFieldValue, offset_field="o")
    other = Schema.struct({"b": INT32})
    records = [SinkRecord("t", {"b": n}, other if n % 2 else None, offset=n) for n in range(6)]
    for batch in forms(records):
        assert [r.value for r in insert.apply_batch(batch)] == [{"b": n, "o": n} for n in range(6)]


def test_fields_inside_of_others_are_named_by_their_path() -> None:
    config = {"topic_field": "meta.topic", "offset_field": "meta.at.offset!", "field_syntax_version": "V2"}
    made = {"topic": "topic0", "at": {"offset": 7}}
    assert _inserted(None, {"a": 1}, **config).value == {"a": 1, "meta": made}
    assert _inserted(None, {"meta": {"k": 1}}, **config).value == {"meta": {"k": 1, **made}}
    meta = Schema.struct({"k": INT32}, default={"k": 9}, name="m").as_optional()
    changed = _inserted(Schema.struct({"meta": meta}), {"meta": {"k": 1}}, **config)
    assert changed.value == {"meta": {"k": 1, **made}}
    assert changed.value_schema is not None
    inner = changed.value_schema.fields[0].schema
    assert [field.name for field in inner] == ["k", "at", "topic"]
    assert (inner.name, inner.default) == ("m", {"k": 9, "at": {}})  # nothing of one record is in a default
    assert _inserted(Schema.struct({"a": INT32}), {"a": 1}, **config).value == {"a": 1, "meta": made}


def test_a_source_has_no_offsets() -> None:
    insert = configured(InsertFieldValue, offset_field="o")
    record = SourceRecord("t", {"a": 1})
    with pytest.raises(DataError, match="offset"):
        insert.apply(record)
    with pytest.raises(DataError, match="offset"):
        insert.apply_batch(SourceBatch.of([record]))
    assert insert.apply_batch(SourceBatch.of([SourceRecord("t", None)]))[0].value is None


def test_a_source_may_leave_the_partition_open() -> None:
    insert = configured(InsertFieldValue, partition_field="p")
    struct = Schema.struct({"a": INT64})
    for schema, expected in ((None, {"a": 1}), (struct, {"a": 1, "p": None})):
        record = SourceRecord("t", {"a": 1}, schema)
        assert insert.apply(record).value == expected
        assert insert.apply_batch(SourceBatch.of([record]))[0].value == expected


@pytest.mark.parametrize(
    ("schema", "value", "config"),
    [
        (None, "x", {"topic_field": "t"}),
        (STRING, "x", {"topic_field": "t"}),
        (_STRUCT, {"a": "x"}, {"topic_field": "a"}),
        (_STRUCT, {"a": "x"}, {"topic_field": "y", "partition_field": "y"}),
        (None, {"a": 1}, {"topic_field": "a.b", "field_syntax_version": "V2"}),
    ],
)
def test_what_takes_no_field_is_an_error(schema: Schema | None, value: Any, config: dict[str, str]) -> None:
    insert = configured(InsertFieldValue, **config)
    record = SinkRecord("t", value, schema)
    with pytest.raises(DataError):
        insert.apply(record)
    for batch in forms([record]):
        with pytest.raises(DataError):
            insert.apply_batch(batch)


def test_keys_get_fields_also_of_tombstones() -> None:
    insert = configured(InsertFieldKey, topic_field="t")
    record = SinkRecord("topic", None, key={"a": 1})
    assert insert.apply(record).key == {"a": 1, "t": "topic"}
    assert insert.apply_batch(SinkBatch.of([record]))[0].key == {"a": 1, "t": "topic"}


@pytest.mark.parametrize("config", [{}, {"static_value": "x"}, {"static_field": "a"}])
def test_wrong_settings_are_refused(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        configured(InsertFieldValue, **config)


@pytest.mark.parametrize(("name", "field"), [("a!!", "a!"), ("a?!", "a?"), ("!", ""), ("a.b", "a.b")])
def test_one_mark_behind_a_name_is_no_part_of_it(name: str, field: str) -> None:
    assert _inserted(None, {}, topic_field=name).value == {field: "topic0"}


@pytest.mark.parametrize("timestamp", [1_700_000_000_000_000, 253_402_300_800_000, -62_135_596_800_001])
def test_a_timestamp_that_is_no_date_is_an_error_of_its_record_in_each_form(timestamp: int) -> None:
    """Such as one in microseconds."""
    insert = configured(InsertFieldValue, timestamp_field="at")
    schema = Schema.struct({"a": INT64})
    good = [SinkRecord("t", {"a": n}, schema, timestamp=5) for n in range(120)]
    bad = SinkRecord("t", {"a": 0}, schema, timestamp=timestamp)
    with pytest.raises(DataError, match="outside the years 1 to 9999"):
        insert.apply(bad)
    for batch in forms([*good, bad]):
        with pytest.raises(DataError, match="outside the years 1 to 9999"):
            insert.apply_batch(batch)
