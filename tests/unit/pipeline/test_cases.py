"""What is expected of an outcome: every way in which it can differ is found, and nothing else."""

import datetime as dt
from decimal import Decimal

import pytest

from connect import Transformation
from connect.data import Header, Headers, Schema, logical
from connect.data.schema import INT32, STRING
from connect.pipeline import sink_chain, source_chain
from connect.pipeline.cases import ExpectationError, check_form, differences, problems
from connect.pipeline.chain import Chain
from connect.pipeline.samples import sample
from connect.pipeline.steps import Transform
from connect.pipeline.trial import Trial
from connect.plugins import Plugins

WORKER = {"key.converter": "StringConverter", "value.converter": "JsonConverter"}


class Make(Transformation):
    def __init__(self, **changes):
        self.changes = changes

    def apply(self, record):
        return record.replace(**self.changes) if self.changes else None


class Throw(Transformation):
    def apply(self, record):
        raise KeyError("no such field: id")


def outcome(*steps, kind="sink", **fields):
    make = sink_chain if kind == "sink" else source_chain
    chain = make(Plugins(), {**WORKER, "value.converter.schemas.enable": "false"}, {}, lambda _: None)
    places = [*chain.steps, *steps] if kind == "sink" else [*steps, *chain.steps]
    return Trial(Chain(places, chain.policy)).run(sample(kind, fields, "orders"))


def said(expected, found):
    check_form(expected)
    return [str(problem) for problem in problems(expected, found)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (1, 1),
        (1.5, 1.5),
        (True, True),
        (None, None),
        ("a", "a"),
        ([1, {"a": 2}], [1, {"a": 2}]),
        ("1.50", Decimal("1.50")),
        (1.5, Decimal("1.50")),
        (3, Decimal("3.00")),
        ("2026-01-02T03:04:05.000Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (1000, dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
        ("2026-01-02", dt.date(2026, 1, 2)),
        ("03:04:05", dt.time(3, 4, 5)),
        ("text", b"text"),
        ({"base64": "/w=="}, b"\xff"),
        (b"\xff", b"\xff"),
        (float("nan"), float("nan")),
        ((1, 2), [1, 2]),
    ],
)
def test_values_that_are_what_is_wanted(wanted, found):
    assert list(differences("value", wanted, found, partial=False)) == []


@pytest.mark.parametrize(
    ("wanted", "found", "told"),
    [
        (1, 2, "value: expected 1, got 2"),
        (1, 1.0, "value: expected 1, got 1.0"),
        (1, True, "value: expected 1, got true"),
        (1, "1", 'value: expected 1, got "1"'),
        (1.5, Decimal("1.6"), 'value: expected 1.5, got "1.6"'),
        (True, Decimal(1), 'value: expected true, got "1"'),
        ("1.6", 1.6, 'value: expected "1.6", got 1.6'),
        ("x", Decimal(1), 'value: expected "x", got "1"'),
        (None, 0, "value: expected null, got 0"),
        ("2026-01-02", "2026-01-03", 'value: expected "2026-01-02", got "2026-01-03"'),
        (0, dt.date(1970, 1, 1), 'value: expected 0, got "1970-01-01"'),
        (dt.date(1970, 1, 1), "1970-01-01", 'value: expected "1970-01-01" (date), got "1970-01-01" (str)'),
        ("a", b"b", 'value: expected "a", got {"text": "b"}'),
        ([1], [1, 2], "value: expected 1 elements, got 2: [1, 2]"),
        ([1, 2], [1, 3], "value[1]: expected 2, got 3"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "value.a.b: expected 1, got 2"),
        ({"a": 1}, {}, "value.a: expected 1, got nothing"),
        ({}, {"a": None}, "value.a: expected nothing, got null"),
        ({"a": 1}, [1], 'value: expected {"a": 1}, got [1]'),
    ],
)
def test_values_that_are_not(wanted, found, told):
    assert [str(problem) for problem in differences("value", wanted, found, partial=False)] == [told]


def test_partly_means_that_more_may_be_there():
    assert list(differences("value", {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, partial=True)) == []
    assert len(list(differences("value", {"a": {"b": 1}}, {"a": {"c": 2}}, partial=True))) == 1


def test_what_is_not_named_is_not_looked_at():
    found = outcome(Transform(Make(topic="other", timestamp=5)), key="k", value={"id": 5}, headers={"a": "x"})
    assert said({"value": {"id": 5}}, found) == []
    assert said({"topic": "orders", "timestamp": 4, "partition": 1, "key": "l"}, found) == [
        'topic: expected "orders", got "other"',
        "partition: expected 1, got 0",
        "timestamp: expected 4, got 5",
        'key: expected "l", got "k"',
    ]


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"headers": {"a": 1, "b": "x"}}, []),
        ({"headers": [["a", 1], ["b", "x"]]}, []),
        ({"headers": {"b": "x"}, "match": "partial"}, []),
        ({"headers": {"b": "x"}}, ["headers: expected b, got a, b"]),
        ({"headers": [["b", "x"], ["a", 1]]}, ["headers: expected b, a, got a, b"]),
        ({"headers": {}}, ["headers: expected none, got a, b"]),
        ({"headers": {"a": 2, "b": "x"}}, ["headers.a: expected 2, got 1"]),
        ({"headers": {"c": None}, "match": "partial"}, ["headers.c: expected null, got nothing"]),
    ],
)
def test_headers(expected, told):
    found = outcome(Transform(Make(headers=Headers([Header("a", 1), Header("b", "x")]))), value=1)
    assert said(expected, found) == told


def test_headers_of_one_key_are_each_looked_for():
    found = outcome(Transform(Make(headers=Headers([Header("a", 1), Header("a", 2)]))), value=1)
    assert said({"headers": [["a", 2]], "match": "partial"}, found) == []
    assert said({"headers": [["a", 2], ["a", 2]], "match": "partial"}, found) == ["headers.a: expected 2, got 1"]
    assert said({"headers": [["a", 1], ["a", 2]]}, found) == []


def test_schemas_are_compared_as_text_or_whole():
    schema = Schema.struct({"id": INT32, "at": logical.TIMESTAMP.as_optional()})
    found = outcome(Transform(Make(value={"id": 1, "at": None}, value_schema=schema)), key="k", value=1)
    written = "STRUCT{id: INT32, at: org.apache.kafka.connect.data.Timestamp:INT64?}"
    assert said({"value_schema": written, "key_schema": "STRING?"}, found) == []
    assert said({"value_schema": "STRUCT{id: INT64}"}, found) == [
        f"value_schema: expected STRUCT{{id: INT64}}, got {written}"
    ]
    assert said({"key_schema": {"type": "string", "optional": True}}, found) == []
    assert said({"key_schema": {"type": "string"}}, found) == ["key_schema: expected STRING, got STRING?"]
    assert said({"key_schema": None}, found) == ["key_schema: expected no schema, got STRING?"]
    assert said({"value_schema": None}, outcome(value=1)) == []
    assert said({"value_schema": "INT32"}, outcome(value=1)) == ["value_schema: expected INT32, got no schema"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"a": 1, "b": "x"}, []),
        ({"text": '{"a":1,"b":"x"}'}, []),
        ('{"a":1,"b":"x"}', []),
        ({"base64": "eyJhIjoxLCJiIjoieCJ9"}, []),
        ({"a": 1}, ['value.b: expected nothing, got "x"']),
        ('{"a": 1}', ['value: expected bytes "{\\"a\\": 1}", got bytes "{\\"a\\":1,\\"b\\":\\"x\\"}"']),
        (None, ['value: expected null, got bytes "{\\"a\\":1,\\"b\\":\\"x\\"}"']),
    ],
)
def test_of_a_source_bytes_are_compared_exactly_or_by_what_their_json_means(wanted, told):
    assert said({"value": wanted}, outcome(kind="source", value={"a": 1, "b": "x"})) == told


def test_null_is_no_json_and_bytes_that_are_none_are_shown():
    assert said({"value": {"a": 1}}, outcome(kind="source", value=None)) == ['value: expected {"a": 1}, got null']
    assert said({"value": None}, outcome(kind="source", value=None)) == []
    assert said({"key": 5}, outcome(kind="source", key="x", value=1)) == ['key: expected JSON: 5, got bytes "x"']
    assert said({"headers": {"h": 1}}, outcome(kind="source", value=1, headers={"h": 1})) == []


def test_a_record_that_is_dropped():
    dropped = outcome(Transform(Make(), alias="filter"), value=1)
    assert said({"dropped": True}, dropped) == []
    assert said({"dropped": "filter"}, dropped) == []
    assert said({"dropped": "other"}, dropped) == [
        "expected it to be dropped by other, got it dropped by transformation filter (Make)"
    ]
    assert said({"value": 1}, dropped) == ["expected it to be kept, got it dropped by transformation filter (Make)"]
    assert said({"dropped": True}, outcome(value=5)) == [
        "expected it to be dropped, got a record in topic orders with the value 5"
    ]
    assert said({"error": True}, dropped) == ["expected an error, got it dropped by transformation filter (Make)"]


def test_a_record_that_fails():
    failed = outcome(Transform(Throw(), alias="pick"), value={})
    full = {"stage": "transformation", "class": "KeyError", "message": "no such .*id", "transformation": "pick"}
    assert said({"error": True}, failed) == []
    assert said({"error": full}, failed) == []
    wrong = {"stage": "VALUE_CONVERTER", "class": "ValueError", "message": "^id", "transformation": "other"}
    assert said({"error": wrong}, failed) == [
        "error.stage: expected VALUE_CONVERTER, got TRANSFORMATION",
        "error.class: expected ValueError, got KeyError",
        "error.transformation: expected other, got pick",
        "error.message: expected what matches ^id, got 'no such field: id'",
    ]
    assert said({"value": 1}, failed) == [
        "expected it to be kept, got an error in transformation pick (Throw): KeyError: 'no such field: id'"
    ]
    data_error = outcome(value="{")
    assert said({"error": {"class": "DataError"}}, data_error) == []
    for name in ("connect.errors.DataError", "DataException", "org.apache.kafka.connect.errors.DataException"):
        assert said({"error": {"class": name}}, data_error) == []


@pytest.mark.parametrize(
    ("expected", "path"),
    [
        ([], ()),
        ({}, ()),
        ({"match": "partial"}, ()),
        ({"valeu": 1}, ("valeu",)),
        ({"value": 1, "match": "some"}, ("match",)),
        ({"dropped": False}, ("dropped",)),
        ({"dropped": True, "value": 1}, ("dropped",)),
        ({"error": True, "value": 1}, ("error",)),
        ({"error": False}, ("error",)),
        ({"error": {"stages": "x"}}, ("error", "stages")),
        ({"error": {"message": "("}}, ("error", "message")),
        ({"headers": "a"}, ("headers",)),
        ({"value_schema": {"type": "number"}}, ("value_schema",)),
    ],
)
def test_what_cannot_be_an_expectation_is_refused_with_its_place(expected, path):
    with pytest.raises(ExpectationError) as refused:
        check_form(expected)
    assert refused.value.path == path


def test_a_schema_that_is_only_text_is_text():
    assert said({"value_schema": repr(STRING)}, outcome(Transform(Make(value_schema=STRING, value="a")), value=1)) == []
