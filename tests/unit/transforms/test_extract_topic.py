"""ExtractTopic."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Header, Headers, Schema, SinkBatch, SinkRecord, Type
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.extract_topic import ExtractTopicHeader, ExtractTopicKey, ExtractTopicValue

from .forms import forms, told, with_config
from .shaping import changed, refused

_INNER = Schema.struct({"f3": schemas.OPTIONAL_STRING}, optional=True)
_ROW = Schema.struct(
    {
        "f1": _INNER,
        "f2": schemas.OPTIONAL_STRING,
        "n": schemas.OPTIONAL_INT32,
        "d": schemas.OPTIONAL_STRING.replace(default="standard"),
    },
    optional=True,
)
_VALUE = {"f1": {"f3": "deep"}, "f2": "flat", "n": 3, "d": None}
_SKIP = {"skip.missing.or.null": "true"}
_PATH = {"field.format": "JSON_PATH"}


class TestValues(TransformationConformance):
    transformation = ExtractTopicValue

    def config(self) -> dict[str, str]:
        return {"field": "f2", **_SKIP}

    def values(self) -> Any:
        return _values


class TestHeaders(TransformationConformance):
    transformation = ExtractTopicHeader

    def config(self) -> dict[str, str]:
        return {"field": "to", **_SKIP}


_names = st.none() | st.sampled_from(["a", "b", ""])
_values = st.one_of(
    st.tuples(st.just(_ROW), st.none() | st.fixed_dictionaries({"f2": _names, "f1": st.none()})),
    st.tuples(st.none(), st.none() | st.fixed_dictionaries({}, optional={"f2": _names, "f1": st.none()})),
)


@given(st.lists(_values, max_size=8))
def test_records_and_columns_give_the_same(values: list[Any]) -> None:
    for config in ({"field": "f2", **_SKIP}, {"field": "$.f1.f3", **_PATH, **_SKIP}):
        made = with_config(ExtractTopicValue, config)
        records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
        expected = [told(made.apply(record)) for record in records]
        for batch in forms(records):
            assert list(map(told, made.apply_batch(batch))) == expected


@pytest.mark.parametrize("schema", [_ROW, None])
@pytest.mark.parametrize(
    ("config", "topic"),
    [
        ({"field": "f2"}, "flat"),
        ({"field": "$.f2", **_PATH}, "flat"),
        ({"field": '$["f1"]["f3"]', **_PATH}, "deep"),
        ({"field": "$.f1.f3", "field.format": "json_path"}, "deep"),
        ({"field": "f1.f3", **_PATH}, "deep"),
    ],
)
def test_a_field_names_the_topic(config: dict[str, str], topic: str, schema: Schema | None) -> None:
    one = changed(ExtractTopicValue, config, schema, _VALUE)
    assert (one.topic, one.original_topic, one.value, one.value_schema) == (topic, "t", _VALUE, schema)
    assert changed(ExtractTopicKey, config, schema, _VALUE).topic == topic


def test_a_default_stands_for_null() -> None:
    assert changed(ExtractTopicValue, {"field": "d"}, _ROW, _VALUE).topic == "standard"
    assert changed(ExtractTopicValue, {"field": "d", **_SKIP}, _ROW, None).topic == "t"


@pytest.mark.parametrize("schema", [schemas.STRING, None])
def test_a_whole_text_names_the_topic(schema: Schema | None) -> None:
    assert changed(ExtractTopicKey, {}, schema, "orders").topic == "orders"
    assert changed(ExtractTopicValue, _PATH, schema, "orders").topic == "orders"


@pytest.mark.parametrize(
    ("config", "schema", "value"),
    [
        ({"field": "f2"}, _ROW, {"f2": None}),
        ({"field": "f2"}, _ROW, {"f2": ""}),
        ({"field": "f2"}, _ROW, None),
        ({"field": "no"}, _ROW, _VALUE),
        ({"field": "no"}, None, _VALUE),
        ({"field": "f2"}, None, None),
        ({"field": "f1.f3"}, None, _VALUE),
        ({"field": "$.f1.no", **_PATH}, _ROW, _VALUE),
        ({"field": "$.f1.f3", **_PATH}, None, {"f1": None}),
        ({}, schemas.OPTIONAL_STRING, None),
        ({}, None, None),
    ],
)
def test_what_is_missing_or_null_is_refused_or_leaves_the_topic(
    config: dict[str, str], schema: Schema | None, value: Any
) -> None:
    error = refused(ExtractTopicValue, config, schema, value)
    assert isinstance(error, DataError)
    assert "skip.missing.or.null=true" in str(error)
    assert changed(ExtractTopicValue, {**config, **_SKIP}, schema, value).topic == "t"


@pytest.mark.parametrize(
    ("config", "schema", "value", "says"),
    [
        ({"field": "n"}, _ROW, _VALUE, 'The field "n" of the value .* it is int'),
        ({}, _ROW, _VALUE, "The value .* it is dict"),
        ({}, None, 5, "The value .* it is int"),
        ({"field": "f2"}, schemas.STRING, "text", "has no fields: it is STRING"),
        ({"field": "f2"}, None, "text", "has no fields: it is str"),
    ],
)
def test_what_is_no_text_is_refused_even_so(
    config: dict[str, str], schema: Schema | None, value: Any, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        raise refused(ExtractTopicValue, {**config, **_SKIP}, schema, value)


def test_the_last_header_of_a_name_names_the_topic() -> None:
    named = Headers([Header("to", "a"), Header("to", "b", schemas.STRING), Header("x", 1)])
    records = [SinkRecord("t", 1, headers=headers) for headers in (named, Headers([Header("x", "c")]), named)]
    batch = SinkBatch.of(records)
    made = with_config(ExtractTopicHeader, {"field": "to", **_SKIP})
    assert [record.topic for record in made.apply_batch(batch)] == ["b", "t", "b"]
    assert [made.apply(record).topic for record in records] == ["b", "t", "b"]
    strict = with_config(ExtractTopicHeader, {"field": "to"})
    with pytest.raises(DataError, match='The header "to" names the topic, but it is missing or null'):
        strict.apply_batch(batch)
    with pytest.raises(DataError, match="must be a string, but it is int"):
        with_config(ExtractTopicHeader, {"field": "x"}).apply(records[0])


@pytest.mark.parametrize(
    ("kind", "config", "key"),
    [
        (ExtractTopicValue, {"field.format": "XML"}, "field.format"),
        (ExtractTopicValue, {"field": "$.a[", **_PATH}, "field"),
        (ExtractTopicValue, {"field": "$..a", **_PATH}, "field"),
        (ExtractTopicHeader, {}, "field"),
        (ExtractTopicHeader, {"field": ""}, "field"),
        (ExtractTopicHeader, {"field": "x", **_PATH}, "field.format"),
    ],
)
def test_wrong_settings(kind: Any, config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(kind, config)
    assert caught.value.key == key


def test_maps_with_a_schema_have_fields_too() -> None:
    schema = Schema(Type.MAP, key_schema=schemas.STRING, value_schema=schemas.STRING)
    assert changed(ExtractTopicValue, {"field": "f2"}, schema, {"f2": "x"}).topic == "x"
