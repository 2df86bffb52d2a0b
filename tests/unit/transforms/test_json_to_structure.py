"""JSON in texts made structures."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Schema, SinkRecord
from connect.data import schema as schemas
from connect.data.struct_columns import StructColumns
from connect.testing.conformance import TransformationConformance
from transforms.json_to_structure import JsonToStructureKey, JsonToStructureValue

from .forms import forms, told, with_config

POINT = Schema.struct({"x": schemas.INT32, "y": schemas.OPTIONAL_STRING})
CONTENT = '{"type":"struct","fields":[{"field":"x","type":"int32"},{"field":"y","type":"string","optional":true}]}'
ROW = Schema.struct({"id": schemas.INT64, "doc": schemas.OPTIONAL_STRING, "n": schemas.STRING})


def value_of(value: Any, schema: Schema | None = None, **config: str) -> Any:
    made = with_config(JsonToStructureValue, {key.replace("_", "."): each for key, each in config.items()})
    return made.apply(SinkRecord("t", value, schema))


def test_a_whole_value_becomes_what_its_json_says() -> None:
    for text in ('{"a": [1, 2.5, null]}', b'{"a": [1, 2.5, null]}'):
        changed = value_of(text, schemas.STRING if isinstance(text, str) else schemas.BYTES)
        assert (changed.value, changed.value_schema) == ({"a": [1, 2.5, None]}, None)
    declared = value_of('{"x": 1}', schemas.STRING, schema_content=CONTENT)
    assert (declared.value, declared.value_schema) == ({"x": 1, "y": None}, POINT.as_optional())
    assert value_of(None, schemas.OPTIONAL_STRING).value is None


def test_keys_have_their_own() -> None:
    made = with_config(JsonToStructureKey, {})
    changed = made.apply(SinkRecord("t", "{}", None, '{"id": 1}', schemas.STRING))
    assert (changed.key, changed.key_schema, changed.value) == ({"id": 1}, None, "{}")


def test_fields_are_replaced_or_stand_beside() -> None:
    row = {"id": 1, "doc": '{"x": 1}', "n": "z"}
    assert value_of(row, fields="doc,none").value == {**row, "doc": {"x": 1}}
    assert value_of(row, fields="doc", target_field="point").value == {**row, "point": {"x": 1}}
    replaced = value_of(row, ROW, fields="doc", schema_content=CONTENT)
    assert replaced.value == {**row, "doc": {"x": 1, "y": None}}
    assert [(f.name, f.schema) for f in replaced.value_schema][1] == ("doc", POINT.as_optional())
    beside = value_of(row, ROW, fields="doc", target_field="point", schema_content=CONTENT)
    assert [f.name for f in beside.value_schema] == ["id", "doc", "n", "point"]
    assert beside.value == {**row, "point": {"x": 1, "y": None}}


def test_paths_lead_inside_of_structs() -> None:
    made = with_config(JsonToStructureValue, {"fields": "a.b", "field.syntax.version": "V2"})
    assert made.apply(SinkRecord("t", {"a": {"b": "[1]", "c": "[2]"}})).value == {"a": {"b": [1], "c": "[2]"}}


MALFORMED = ["{", "", " ", "nul", '{"a":1]', "\ud800"]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_json_fails_stays_or_becomes_null(text: str) -> None:
    row = {"id": 1, "doc": text, "n": "z"}
    with pytest.raises(DataError, match="cannot be read as JSON"):
        value_of(row, fields="doc")
    assert value_of(row, fields="doc", on_malformed="null").value == {**row, "doc": None}
    kept = value_of(row, ROW, fields="doc", on_malformed="keep", schema_content=CONTENT)
    assert (kept.value, kept.value_schema) == (row, ROW)
    assert value_of(text, schemas.STRING, on_malformed="keep").value_schema is schemas.STRING


def test_what_is_no_text_and_what_has_no_schema_is_refused() -> None:
    with pytest.raises(DataError, match="but this is int"):
        value_of({"doc": 1}, fields="doc")
    with pytest.raises(DataError, match="of type int64"):
        value_of({"id": 1, "n": ""}, ROW, fields="id", schema_content=CONTENT)
    with pytest.raises(DataError, match="Declare its schema in schema.content"):
        value_of({"id": 1, "doc": "{}", "n": ""}, ROW, fields="doc")
    for config in ({"fields": "a,b", "target.field": "c"}, {"schema.content": "{"}, {"schema.content": '{"type":"x"}'}):
        with pytest.raises(ConfigError):
            with_config(JsonToStructureValue, config)


def test_other_columns_are_passed_on() -> None:
    batch = forms([SinkRecord("t", {"id": n, "doc": '{"x":1}', "n": ""}, ROW, offset=n) for n in range(200)])[1]
    before = batch.values.struct_columns
    made = with_config(JsonToStructureValue, {"fields": "doc", "schema.content": CONTENT})
    after = made.apply_batch(batch).values.struct_columns
    assert isinstance(before, StructColumns)
    assert isinstance(after, StructColumns)
    assert after.field("id").items is before.field("id").items


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
).map(json.dumps)
_points = st.fixed_dictionaries({"x": st.integers(0, 9)}).map(json.dumps)


@given(
    st.lists(st.none() | st.none().map(lambda _: "{") | _points, max_size=5),
    st.sampled_from(["fail", "keep", "null"]),
    st.booleans(),
    st.booleans(),
)
def test_records_lists_and_columns_give_the_same(
    texts: list[Any], malformed: str, with_schema: bool, beside: bool
) -> None:
    config = {"fields": "doc", "on.malformed": malformed, "schema.content": CONTENT}
    made = with_config(JsonToStructureValue, config | ({"target.field": "point"} if beside else {}))
    schema = ROW if with_schema else None
    records = [
        SinkRecord("t", {"id": number, "doc": text, "n": "z"}, schema, offset=number)
        for number, text in enumerate(texts)
    ]
    records.append(SinkRecord("t", None, schema, offset=99))
    try:
        expected = [told(made.apply(record)) for record in records]
    except DataError:
        for batch in forms(records):
            with pytest.raises(DataError):
                made.apply_batch(batch)
        return
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


class TestConformance(TransformationConformance):
    transformation = JsonToStructureValue

    def config(self) -> dict[str, str]:
        return {"on.malformed": "keep"}

    def values(self) -> Any:
        return st.tuples(st.sampled_from([None, schemas.STRING]), _json | st.sampled_from(["{", ""])) | st.just(
            (None, None)
        )
