"""Debezium's Filter and ContentBasedRouter, with expressions in place of scripts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.content_based import ContentBasedRouter, FilterByExpression

from .forms import forms, told, with_config

ROW = Schema.struct({"id": schemas.INT32, "name": schemas.OPTIONAL_STRING}, optional=True)
ENVELOPE = Schema.struct({"before": ROW, "after": ROW, "op": schemas.STRING}, name="s.Envelope", optional=True)
UPDATE = {"before": {"id": 2, "name": "x"}, "after": {"id": 2, "name": "y"}, "op": "u"}
CREATE = {"before": None, "after": {"id": 2, "name": "y"}, "op": "c"}
#: Those of Debezium's documentation, in SQL.
CONDITION = {"condition": "op = 'u' and before.id = 2"}
ROUTE = {"topic.expression": "case when op = 'u' then 'updates' end"}

_rows = st.none() | st.fixed_dictionaries({"id": st.integers(1, 3), "name": st.none() | st.just("x")})
_events = st.fixed_dictionaries({"before": _rows, "after": _rows, "op": st.sampled_from("cud")})
_values = st.one_of(
    st.tuples(st.sampled_from([ENVELOPE, None]), _events), st.sampled_from([(None, None), (ENVELOPE, None)])
)


class TestFilter(TransformationConformance):
    transformation = FilterByExpression

    def config(self) -> dict[str, str]:
        return {**CONDITION, "null.handling.mode": "drop"}

    def values(self) -> Any:
        return _values


class TestRouter(TransformationConformance):
    transformation = ContentBasedRouter

    def config(self) -> dict[str, str]:
        return ROUTE

    def values(self) -> Any:
        return _values


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b1", "b2"]), _values), max_size=10),
    st.sampled_from(["keep", "drop", "evaluate"]),
    st.sampled_from(["", r"b\d"]),
    st.sampled_from(["op = 'u' and before.id = 2", "value is null or op <> 'c'", "record.topic = 'b1'", "key.id = 1"]),
)
def test_records_and_columns_give_the_same(rows: list[Any], nulls: str, topics: str, condition: str) -> None:
    config = {"condition": condition, "null.handling.mode": nulls, "topic.regex": topics}
    made = with_config(FilterByExpression, config)
    records = [
        SinkRecord(topic, value, schema, key={"id": offset % 2}, offset=offset)
        for offset, (topic, (schema, value)) in enumerate(rows)
    ]
    expected = [told(one) for one in map(made.apply, records) if one is not None]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


@pytest.mark.parametrize("schema", [ENVELOPE, None])
def test_a_condition_keeps_what_it_is_true_for(schema: Schema | None) -> None:
    made = with_config(FilterByExpression, CONDITION)
    kept = SinkRecord("t", UPDATE, schema)
    assert made.apply(kept) is kept
    assert made.apply(SinkRecord("t", CREATE, schema)) is None  # before is null, so that the condition is null


@pytest.mark.parametrize("schema", [ENVELOPE, None])
def test_an_expression_says_the_topic(schema: Schema | None) -> None:
    made = with_config(ContentBasedRouter, ROUTE)
    one = made.apply(SinkRecord("t", UPDATE, schema, partition=3))
    assert (one.topic, one.original_topic, one.value, one.partition) == ("updates", "t", UPDATE, 3)
    other = SinkRecord("t", CREATE, schema)
    assert made.apply(other) is other


def test_headers_keys_and_topics_are_seen_too() -> None:
    record = SinkRecord("t", UPDATE, key={"id": 5}, headers=Headers([Header("to", "x", schemas.STRING)]))
    config = {"topic.expression": "record.topic || '-' || cast(headers.to as varchar) || key.id"}
    assert with_config(ContentBasedRouter, config).apply(record).topic == "t-x5"
    made = with_config(FilterByExpression, {"condition": "headers.to = 'x' and key.id = 5"})
    assert len(made.apply_batch(forms([record, record.replace(headers=Headers())])[0])) == 1


@pytest.mark.parametrize(("mode", "kept"), [("", 1), ("keep", 1), ("DROP", 0), ("evaluate", 0)])
def test_a_tombstone_is_kept_dropped_or_asked(mode: str, kept: int) -> None:
    config = {**CONDITION, "null.handling.mode": mode} if mode else CONDITION
    record = SinkRecord("t", None, ENVELOPE)
    made = with_config(FilterByExpression, config)
    assert (made.apply(record) is not None) == kept
    assert [len(made.apply_batch(batch)) for batch in forms([record])] == [kept] * 3


def test_only_records_of_some_topics_are_asked() -> None:
    config = {"topic.regex": "db\\..*", "null.handling.mode": "drop"}
    made = with_config(FilterByExpression, {**CONDITION, **config})
    for value in (CREATE, None):
        assert made.apply(SinkRecord("orders", value)) is not None
        assert made.apply(SinkRecord("db.orders", value)) is None
    assert with_config(ContentBasedRouter, {**ROUTE, **config}).apply(SinkRecord("x", UPDATE)).topic == "x"


@pytest.mark.parametrize("language", ["jsr223.groovy", "jsr223.graal.js", "wasm.chicory", "JSR223.groovy"])
@pytest.mark.parametrize("kind", [FilterByExpression, ContentBasedRouter])
def test_languages_of_the_jvm_are_refused_with_a_translation(kind: Any, language: str) -> None:
    with pytest.raises(
        ConfigError, match="is a scripting language of the JVM.*docs/expressions.md.*op = 'u'"
    ) as caught:
        with_config(kind, {**CONDITION, **ROUTE, "language": language})
    assert caught.value.key == "language"


@pytest.mark.parametrize("language", ["sql", "SQL", "expression"])
def test_languages(language: str) -> None:
    assert with_config(FilterByExpression, {**CONDITION, "language": language})


@pytest.mark.parametrize(
    ("kind", "config", "key"),
    [
        (FilterByExpression, {}, "condition"),
        (FilterByExpression, {"condition": ""}, "condition"),
        (FilterByExpression, {"condition": "op = "}, "condition"),
        (FilterByExpression, {"condition": "1 + 1"}, "condition"),
        (FilterByExpression, {**CONDITION, "language": "python"}, "language"),
        (FilterByExpression, {**CONDITION, "topic.regex": "("}, "topic.regex"),
        (FilterByExpression, {**CONDITION, "null.handling.mode": "fail"}, "null.handling.mode"),
        (ContentBasedRouter, {}, "topic.expression"),
        (ContentBasedRouter, {"topic.expression": "a, b = 1"}, "topic.expression"),
        (ContentBasedRouter, {"topic.expression": "uper(op)"}, "topic.expression"),
    ],
)
def test_wrong_settings(kind: Any, config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(kind, config)
    assert caught.value.key == key


def test_what_a_schema_lacks_is_an_error_with_its_key_and_place() -> None:
    made = with_config(FilterByExpression, {"condition": "op = 'u' and no = 1"})
    with pytest.raises(DataError, match='"condition" at column 14, "no = 1": the value has no field "no"'):
        made.apply(SinkRecord("t", UPDATE, ENVELOPE))
    made = with_config(ContentBasedRouter, {"topic.expression": "no"})
    with pytest.raises(DataError, match='"topic.expression" at column 1, "no": the value has no field "no"'):
        made.apply(SinkRecord("t", UPDATE, ENVELOPE))


@pytest.mark.parametrize("expression", ["after.id", "''"])
def test_what_is_no_topic_is_refused(expression: str) -> None:
    with pytest.raises(DataError, match="is not a valid topic of a record"):
        with_config(ContentBasedRouter, {"topic.expression": expression}).apply(SinkRecord("t", UPDATE, ENVELOPE))
