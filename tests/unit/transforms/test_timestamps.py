"""TimestampConverter and TimestampRouter. Expected values are what Kafka Connect's own classes give."""

import copy
import datetime as dt
from typing import Any

import pytest

from connect import ConfigError, ConnectError, DataError, Schema, SinkBatch, SinkRecord, Values, logical
from connect.data.column import Constant
from connect.data.schema import INT32, INT64, OPTIONAL_STRING, STRING
from transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
from transforms.timestamp_router import TimestampRouter

from .forms import configured, forms, told

_FORMAT = "yyyy-MM-dd HH:mm:ss.SSS"
_MS = 1700000000123
_AT = dt.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=dt.UTC)
_TEXT = "2023-11-14 22:13:20.123"
_FORMS = {
    "string": (STRING, _TEXT),
    "unix": (INT64, _MS),
    "Timestamp": (logical.TIMESTAMP, _AT),
    "Date": (logical.DATE, _AT.date()),
    "Time": (logical.TIME, _AT.time()),
}


def _converted(schema: Schema | None, value: Any, target: str, **config: str) -> SinkRecord:
    """The converted record, the same in each form of a batch; the input is left alone."""
    before = copy.deepcopy(value)
    converter = configured(TimestampConverterValue, target_type=target, **({"format": _FORMAT} | config))
    record = SinkRecord("t", value, schema)
    changed = converter.apply(record)
    for batch in forms([record] * 120):
        assert [told(r) for r in converter.apply_batch(batch)] == [told(changed)] * 120
    assert value == before
    return changed


def _loss(kind: str, target: str) -> Any:
    """What a time of one form is in another: a Date has no time of day, a Time no day."""
    if kind == "Date":
        moment = _AT.replace(hour=0, minute=0, second=0, microsecond=0)
    elif kind == "Time":
        moment = _AT.replace(year=1970, month=1, day=1)
    else:
        moment = _AT
    ms = int((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(milliseconds=1))
    text = f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"
    return {"string": text, "unix": ms, "Timestamp": moment, "Date": moment.date(), "Time": moment.time()}[target]


@pytest.mark.parametrize("kind", _FORMS)
@pytest.mark.parametrize("target", _FORMS)
def test_every_form_becomes_every_other(kind: str, target: str) -> None:
    schema, value = _FORMS[kind]
    expected = _loss(kind, target)
    assert _converted(None, value, target).value == expected
    whole = _converted(schema.as_optional(), value, target)
    assert (whole.value, whole.value_schema) == (expected, _FORMS[target][0].as_optional())
    struct = Schema.struct(
        {"a": OPTIONAL_STRING.replace(default="d"), "f": schema}, name="nm", version=2, optional=True
    )
    field = _converted(struct, {"a": None, "f": value}, target, field="f")
    assert field.value == {"a": "d", "f": expected}
    assert field.value_schema == struct.replace(fields={"a": struct.fields[0].schema, "f": _FORMS[target][0]})


@pytest.mark.parametrize(
    ("precision", "value", "target", "expected"),
    [
        ("seconds", 1700000000, "string", "2023-11-14 22:13:20.000"),
        ("microseconds", -1500, "unix", -1000),
        ("nanoseconds", 1700000000123456789, "string", _TEXT),
        ("seconds", dt.datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=dt.UTC), "unix", -1),
        ("nanoseconds", dt.datetime(9999, 1, 1, tzinfo=dt.UTC), "unix", 9223372036854775807),
        ("microseconds", _AT, "unix", _MS * 1000),
    ],
)
def test_unix_times_count_what_is_said(precision: str, value: Any, target: str, expected: Any) -> None:
    assert _converted(None, value, target, unix_precision=precision).value == expected
    schema = Schema.struct({"f": INT64 if isinstance(value, int) else logical.TIMESTAMP})
    assert _converted(schema, {"f": value}, target, field="f", unix_precision=precision).value == {"f": expected}


def test_times_before_1970_count_down() -> None:
    schema = Schema.struct({"f": logical.TIMESTAMP})
    value = {"f": dt.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=dt.UTC)}
    for target, expected in (("Date", dt.date(1969, 12, 31)), ("Time", dt.time(23, 59, 59, 999000)), ("unix", -1)):
        assert _converted(schema, value, target, field="f").value == {"f": expected}


def test_nulls_stay_null() -> None:
    assert _converted(None, None, "unix").value is None
    assert _converted(None, None, "unix", field="f").value is None
    assert _converted(None, {"f": None}, "unix", field="f").value == {"f": None}
    assert _converted(None, {"a": 1}, "unix", field="f").value == {"a": 1, "f": None}
    default = logical.TIMESTAMP.replace(optional=True, default=_AT)
    whole = _converted(default, None, "unix")
    assert (whole.value, whole.value_schema) == (None, INT64.as_optional())
    struct = Schema.struct({"f": default}, optional=True)
    tombstone = _converted(struct, None, "unix", field="f")
    assert (tombstone.value, tombstone.value_schema) == (None, Schema.struct({"f": INT64.as_optional()}, optional=True))
    assert _converted(struct, {"f": None}, "unix", field="f").value == {"f": _MS}
    assert _converted(struct, {"f": None}, "unix", field="f", replace_null_with_default="false").value == {"f": None}


def test_tombstones_among_structs_get_the_new_schema() -> None:
    struct = Schema.struct({"f": INT64}, optional=True)
    converter = configured(TimestampConverterValue, target_type="Date", field="f")
    records = [SinkRecord("t", value, struct) for value in ({"f": 0}, None, {"f": 86_400_000})]
    for batch in forms(records):
        changed = converter.apply_batch(batch)
        assert [told(r) for r in changed] == [told(converter.apply(record)) for record in records]


def test_the_default_of_a_whole_struct_is_converted_too() -> None:
    struct = Schema.struct({"f": INT64}, default={"f": 0})
    assert _converted(struct, {"f": 1}, "Date", field="f").value_schema == Schema.struct(
        {"f": logical.DATE}, default={"f": dt.date(1970, 1, 1)}
    )


def test_fields_inside_of_others_are_named_by_their_path() -> None:
    config = {"field": "in.at", "field_syntax_version": "V2"}
    assert _converted(None, {"in": {"at": _MS, "b": 1}}, "string", **config).value == {"in": {"at": _TEXT, "b": 1}}
    schema = Schema.struct({"in": Schema.struct({"at": logical.TIMESTAMP}, name="i").as_optional(), "n": INT32})
    changed = _converted(schema, {"in": {"at": _AT}, "n": 1}, "unix", **config)
    assert changed.value == {"in": {"at": _MS}, "n": 1}
    assert _converted(schema, {"in": None, "n": 1}, "unix", **config).value == {"in": None, "n": 1}


def test_the_default_of_a_field_is_none_where_the_struct_around_it_is_null() -> None:
    inner = Schema.struct({"at": STRING.replace(default="never")}, optional=True)
    schema = Schema.struct({"in": inner})
    made = configured(
        TimestampConverterValue, field="in.at", field_syntax_version="V2", target_type="Timestamp", format="yyyy-MM-dd"
    )
    for values in ([None, {"at": "1970-01-02"}, None], [None]):
        records = [SinkRecord("t", {"in": value}, schema) for value in values]
        expected = [told(made.apply(record)) for record in records]
        assert [[told(each) for each in made.apply_batch(batch)] for batch in forms(records)] == [expected] * 3


@pytest.mark.parametrize(
    ("schema", "value", "config"),
    [
        (STRING, "x", {}),
        (None, "x", {}),
        (None, 1.5, {}),
        (None, True, {}),
        (INT32, 5, {}),
        (None, "text", {"field": "f"}),
        (STRING, "text", {"field": "f"}),
        (Schema.struct({"f": INT32}), {"f": 5}, {"field": "f"}),
        (None, "2024-01-01 00:00:00.000", {"format": ""}),
        (None, 1 << 62, {}),  # Java's Timestamp goes on; Python's ends in the year 9999
    ],
)
def test_what_is_no_time_is_an_error(schema: Schema | None, value: Any, config: dict[str, str]) -> None:
    converter = configured(TimestampConverterValue, target_type="Timestamp", **({"format": _FORMAT} | config))
    record = SinkRecord("t", value, schema)
    with pytest.raises(ConnectError):
        converter.apply(record)
    for batch in forms([record]):
        with pytest.raises(ConnectError):
            converter.apply_batch(batch)


def test_keys_are_converted_and_values_left_alone() -> None:
    converter = configured(TimestampConverterKey, target_type="string", format=_FORMAT)
    changed = converter.apply(SinkRecord("t", _MS, key=_MS))
    assert (changed.key, changed.value) == (_TEXT, _MS)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"target_type": "string"},
        {"target_type": "date"},
        {"target_type": "Date", "format": "yyyyb"},
        {"target_type": "Date", "unix_precision": "s"},
    ],
)
def test_wrong_settings_are_refused(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        configured(TimestampConverterValue, **config)


def _routed(topics: Any, timestamps: list[int], **config: str) -> Any:
    router = configured(TimestampRouter, **config)
    batch = SinkBatch(topics, Values([None] * len(timestamps)), offsets=range(len(timestamps)), timestamps=timestamps)
    changed = router.apply_batch(batch)
    assert [router.apply(record) for record in batch] == list(changed)
    assert [record.original_topic for record in changed] == list(batch.topics)
    return changed.topics


def test_topics_are_made_of_times() -> None:
    assert list(_routed(["a", "b"], [_MS, -1])) == ["a-20231114", "b-19691231"]
    hours = {"topic_format": "${timestamp}.${topic}", "timestamp_format": "yyyy-MM-dd-HH"}
    assert list(_routed("a", [_MS, _MS + 3_600_000], **hours)) == ["2023-11-14-22.a", "2023-11-14-23.a"]
    assert list(_routed("a${timestamp}", [0], topic_format="${topic}|$x|${timestamp")) == ["a19700101|$x|${timestamp"]


def test_a_day_of_one_topic_stays_one_name() -> None:
    assert _routed(Constant("a", 3), [_MS] * 3).constant


def test_a_record_without_a_timestamp_cannot_be_routed() -> None:
    router = configured(TimestampRouter)
    with pytest.raises(DataError, match="no timestamp"):
        router.apply(SinkRecord("t", None))
    with pytest.raises(DataError, match="no timestamp"):
        router.apply_batch(SinkBatch("t", Values([None]), offsets=[0]))


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match='key "timestamp.format"'):
        configured(TimestampRouter, timestamp_format="yyyyb")
