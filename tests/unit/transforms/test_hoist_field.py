"""HoistField. Expected values are what Kafka Connect's own class gives; `hoisted` is KIP-821's."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, Type
from connect.data.schema import INT32, OPTIONAL_STRING, STRING
from transforms.hoist_field import HoistFieldKey, HoistFieldValue

from .forms import with_config
from .shaping import V2, changed, refused, shaped

_STRUCT = Schema.struct({"a": INT32, "b": OPTIONAL_STRING}, name="inner", doc="kept").as_optional()


@pytest.mark.parametrize("value", [None, 5, "text", {"a": 1}, [1]])
def test_a_value_without_a_schema_becomes_a_field_of_a_map(value: Any) -> None:
    assert shaped(HoistFieldValue, {"field": "line"}, None, value) == (None, {"line": value})


@pytest.mark.parametrize(
    ("schema", "value"),
    [(STRING, "text"), (OPTIONAL_STRING, None), (_STRUCT, {"a": 1, "b": None}), (_STRUCT, None)],
)
def test_a_value_with_a_schema_becomes_a_field_of_a_struct(schema: Schema, value: Any) -> None:
    for name in ("line", "a.b"):
        assert shaped(HoistFieldValue, {"field": name}, schema, value) == (Schema.struct({name: schema}), {name: value})


@pytest.mark.parametrize("schema", [STRING, Schema(Type.STRING, default="d"), _STRUCT.replace(optional=False)])
def test_a_null_that_its_schema_does_not_allow_is_refused(schema: Schema) -> None:
    assert isinstance(refused(HoistFieldValue, {"field": "line"}, schema, None), DataError)


def test_a_field_of_a_struct_needs_a_name() -> None:
    assert isinstance(refused(HoistFieldValue, {"field": ""}, STRING, "text"), DataError)
    assert shaped(HoistFieldValue, {"field": ""}, None, "text") == (None, {"": "text"})


@pytest.mark.parametrize(
    ("hoisted", "value", "found"),
    [
        ("item.name", {"item": {"name": "x", "n": 1}}, {"item": {"line": {"name": "x"}, "n": 1}}),
        ("item", {"item": {"name": "x"}}, {"line": {"item": {"name": "x"}}}),
        ("item.no", {"item": {"name": "x"}}, {"item": {"name": "x"}}),
        ("item.name", {"item": None}, {"item": None}),
        ("item.name", {"item": {"name": None}}, {"item": {"line": {"name": None}}}),
        ("item.name", {}, {}),
        ("item.name", None, None),
    ],
)
def test_a_field_at_a_path_is_hoisted_where_it_is(hoisted: str, value: Any, found: Any) -> None:
    assert shaped(HoistFieldValue, {"field": "line", "hoisted": hoisted, **V2}, None, value) == (None, found)


def test_the_schema_of_what_is_hoisted() -> None:
    schema = Schema.struct({"item": _STRUCT, "n": INT32}, name="top")
    config = {"field": "line", "hoisted": "item.a", **V2}
    line = Schema.struct({"a": INT32})
    item = Schema.struct({"line": line, "b": OPTIONAL_STRING}, name="inner", doc="kept").as_optional()
    expected = Schema.struct({"item": item, "n": INT32}, name="top")
    for inner, found in (({"a": 1, "b": "x"}, {"line": {"a": 1}, "b": "x"}), (None, None)):
        assert shaped(HoistFieldValue, config, schema, {"item": inner, "n": 2}) == (expected, {"item": found, "n": 2})
    assert shaped(HoistFieldValue, {**config, "hoisted": "item.no"}, schema, {"item": None, "n": 2}).schema == schema


def test_in_the_first_version_a_name_is_a_name() -> None:
    config = {"field": "line", "hoisted": "a.b"}
    assert shaped(HoistFieldValue, config, None, {"a.b": 1, "a": {"b": 2}}).value == {"line": {"a.b": 1}, "a": {"b": 2}}


def test_keys() -> None:
    one = changed(HoistFieldKey, {"field": "id"}, STRING, "text")
    assert (one.key, one.key_schema, one.value) == ({"id": "text"}, Schema.struct({"id": STRING}), "text")


@pytest.mark.parametrize("config", [{}, {"field": "a", "hoisted": "`b", **V2}])
def test_wrong_settings(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        with_config(HoistFieldValue, config)
