"""MessageTimestampRouter."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Schema, SinkRecord, logical
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.message_timestamp_router import MessageTimestampRouter

from .forms import forms, told, with_config
from .shaping import changed, refused

_KEYS = {"message.timestamp.keys": "timestamp,time,ts"}
_DAYS = {**_KEYS, "message.timestamp.format": "yyyy-MM-dd"}
_ROW = Schema.struct(
    {"time": schemas.OPTIONAL_STRING, "ts": schemas.OPTIONAL_STRING.replace(default="2020-02-02"), "n": schemas.INT32}
)
_values = st.one_of(
    st.tuples(st.just(_ROW), st.fixed_dictionaries({"time": st.none() | st.just("2019-08-06"), "n": st.just(1)})),
    st.tuples(
        st.none(), st.fixed_dictionaries({"ts": st.just("2019-08-07")}, optional={"time": st.just("2019-08-06")})
    ),
    st.tuples(st.none(), st.none()),
)


class TestConformance(TransformationConformance):
    transformation = MessageTimestampRouter

    def config(self) -> dict[str, str]:
        return _DAYS

    def values(self) -> Any:
        return _values


@given(st.lists(_values.filter(lambda each: each[1] is not None), max_size=6))
def test_records_and_columns_give_the_same(values: list[Any]) -> None:
    made = with_config(MessageTimestampRouter, _DAYS)
    records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
    expected = [told(made.apply(record)) for record in records]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


def test_the_example_of_the_documentation() -> None:
    config = {**_DAYS, "topic.format": "foo-${topic}-${timestamp}", "topic.timestamp.format": "yyyy.MM.dd"}
    made = with_config(MessageTimestampRouter, config)
    one = made.apply(SinkRecord("bar", {"time": "2019-08-06"}))
    assert (one.topic, one.value) == ("foo-bar-2019.08.06", {"time": "2019-08-06"})


@pytest.mark.parametrize(
    ("schema", "value", "topic"),
    [
        (None, {"ts": "2019-08-06", "time": "2019-08-07"}, "t-20190807"),
        (None, {"ts": "2019-08-06", "time": None}, "t-20190806"),
        (_ROW, {"time": "2019-08-06", "n": 1}, "t-20190806"),
        (_ROW, {"time": None, "n": 1}, "t-20200202"),
    ],
)
def test_the_first_field_that_is_there_counts(schema: Schema | None, value: Any, topic: str) -> None:
    assert changed(MessageTimestampRouter, _DAYS, schema, value).topic == topic


@pytest.mark.parametrize(
    ("value", "topic"),
    [
        (1_565_049_600_000, "t-20190806"),
        ("1565049600000", "t-20190806"),
        (-1, "t-19691231"),
        (dt.date(2019, 8, 6), "t-20190806"),
        (dt.datetime(2019, 8, 6, 23, 59, tzinfo=dt.UTC), "t-20190806"),
    ],
)
def test_without_a_pattern_it_is_milliseconds(value: Any, topic: str) -> None:
    assert changed(MessageTimestampRouter, _KEYS, None, {"ts": value}).topic == topic


def test_a_field_of_the_type_timestamp() -> None:
    schema = Schema.struct({"ts": logical.TIMESTAMP})
    value = {"ts": dt.datetime(2019, 8, 6, tzinfo=dt.UTC)}
    assert changed(MessageTimestampRouter, _DAYS, schema, value).topic == "t-20190806"


@pytest.mark.parametrize(
    ("config", "schema", "value", "says"),
    [
        (_DAYS, None, None, "this value is null.*RecordIsTombstone"),
        (_DAYS, None, "text", "this value is str"),
        (_DAYS, schemas.STRING, "text", "this value is str"),
        (_DAYS, None, {"x": 1}, "no time in any of the fields timestamp, time, ts"),
        (_DAYS, None, {"ts": 5}, "is int, but message.timestamp.format is for strings"),
        (_DAYS, None, {"ts": "6 August"}, "cannot be read"),
        (_KEYS, None, {"ts": "2019-08-06"}, "not a whole number of milliseconds"),
        (_KEYS, None, {"ts": True}, "not a whole number of milliseconds"),
        (_KEYS, None, {"ts": 1.5}, "not a whole number of milliseconds"),
    ],
)
def test_values_without_such_a_time_are_refused(
    config: dict[str, str], schema: Schema | None, value: Any, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        raise refused(MessageTimestampRouter, config, schema, value)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({}, "message.timestamp.keys"),
        ({"message.timestamp.keys": "a,,b"}, "message.timestamp.keys"),
        ({**_KEYS, "message.timestamp.format": "YYYY"}, "message.timestamp.format"),
        ({**_KEYS, "topic.timestamp.format": "'x"}, "topic.timestamp.format"),
    ],
)
def test_wrong_settings(config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(MessageTimestampRouter, config)
    assert caught.value.key == key
