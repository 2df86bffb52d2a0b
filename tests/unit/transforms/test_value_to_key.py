"""ValueToKey. Expected values are what Kafka Connect's own class gives; paths are ours."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, SinkBatch, Type, Values
from connect.data.schema import INT32, OPTIONAL_STRING, STRING
from transforms.value_to_key import ValueToKey

from .forms import with_config
from .shaping import V2, changed, refused

_WITH_DEFAULT = Schema(Type.STRING, optional=True, default="d")
_INNER = Schema.struct({"x": INT32, "y": _WITH_DEFAULT}).as_optional()
_FIELDS = {"a": INT32, "b": _WITH_DEFAULT, "in": _INNER, "a.b": INT32}
_SCHEMA = Schema.struct(_FIELDS, name="top", version=2).as_optional()
_VALUE = {"a": 1, "b": None, "in": {"x": 2, "y": None}, "a.b": 5}


def _key(config: dict[str, str], schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
    one = changed(ValueToKey, config, schema, value)
    assert one.value == value
    assert one.value_schema is schema
    return one.key_schema, one.key


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ("a", {"a": 1}),
        ("b,a", {"b": "d", "a": 1}),
        ("a,a", {"a": 1}),
        ("in", {"in": {"x": 2, "y": None}}),
        ("a.b", {"a.b": 5}),
    ],
)
def test_fields_of_structs(fields: str, key: dict[str, Any]) -> None:
    found_schema, found = _key({"fields": fields}, _SCHEMA, _VALUE)
    assert found_schema == Schema.struct({name: _FIELDS[name] for name in key})
    assert [each.name for each in found_schema.fields] == list(key)
    assert found == key


@pytest.mark.parametrize(
    ("fields", "key"),
    [("a", {"a": 1}), ("b,a", {"b": None, "a": 1}), ("no,a", {"no": None, "a": 1}), ("a.b", {"a.b": 5})],
)
def test_fields_of_maps(fields: str, key: dict[str, Any]) -> None:
    assert _key({"fields": fields}, None, _VALUE) == (None, key)


def test_null_may_stay_where_there_is_a_default() -> None:
    config = {"fields": "b", "replace.null.with.default": "false"}
    assert _key(config, _SCHEMA, _VALUE) == (Schema.struct({"b": _WITH_DEFAULT}), {"b": None})


def test_fields_at_paths() -> None:
    config = {"fields": "in.x,in.y,a", **V2}
    schema = Schema.struct({"x": INT32, "y": _WITH_DEFAULT, "a": INT32})
    assert _key(config, _SCHEMA, _VALUE) == (schema, {"x": 2, "y": "d", "a": 1})
    assert _key(config, _SCHEMA, {**_VALUE, "in": None}) == (schema, {"x": None, "y": None, "a": 1})
    assert _key(config, None, {"in": {"x": 2}}) == (None, {"x": 2, "y": None, "a": None})


@pytest.mark.parametrize(
    ("config", "schema", "value"),
    [
        ({"fields": "no"}, _SCHEMA, _VALUE),
        ({"fields": "a,in.no", **V2}, _SCHEMA, _VALUE),
        ({"fields": "a.x", **V2}, _SCHEMA, _VALUE),
        ({"fields": "a.x", **V2}, None, {"a": 1}),
        ({"fields": "a"}, None, None),
        ({"fields": "a"}, _SCHEMA, None),
        ({"fields": "a"}, OPTIONAL_STRING, None),
        ({"fields": "a"}, STRING, "text"),
        ({"fields": "a"}, None, "text"),
    ],
)
def test_values_without_such_fields_are_refused(config: dict[str, str], schema: Schema | None, value: Any) -> None:
    assert isinstance(refused(ValueToKey, config, schema, value), DataError)


def test_schemas_may_alternate_and_a_batch_may_be_empty() -> None:
    batch = SinkBatch.of(
        record
        for schema in (_SCHEMA, None, _SCHEMA)
        for record in SinkBatch("t", Values([_VALUE], schema), offsets=[0])
    )
    made = with_config(ValueToKey, {"fields": "b"})
    assert [(r.key_schema is None, r.key) for r in made.apply_batch(batch)] == [
        (False, {"b": "d"}),
        (True, {"b": None}),
        (False, {"b": "d"}),
    ]
    assert list(made.apply_batch(batch.slice(0, 0))) == []


@pytest.mark.parametrize(
    "config",
    [{}, {"fields": ""}, {"fields": "a,,b"}, {"fields": "`a", **V2}, {"fields": "a.x,b.x", **V2}],
)
def test_wrong_settings(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(ValueToKey, config)
    assert caught.value.key == "fields"
