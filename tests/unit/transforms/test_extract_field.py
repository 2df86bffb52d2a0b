"""ExtractField. Expected values are what Kafka Connect's own class gives."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, Type
from connect.data.schema import INT32, OPTIONAL_STRING, STRING
from connect.data.struct_columns import StructColumns
from tests.support.arrow_columns import of_rows
from transforms.extract_field import ExtractFieldKey, ExtractFieldValue

from .forms import with_config
from .shaping import V2, changed, refused, shaped

_WITH_DEFAULT = Schema(Type.STRING, optional=True, default="d")
_INNER = Schema.struct({"x": INT32, "y": _WITH_DEFAULT})
_SCHEMA = Schema.struct({"in": _INNER.as_optional(), "y": _WITH_DEFAULT, "c": STRING, "a.b": INT32})
_VALUE = {"in": {"x": 1, "y": None}, "y": None, "c": "text", "a.b": 5}


@pytest.mark.parametrize(
    ("field", "schema", "value"),
    [
        ("c", STRING, "text"),
        ("y", _WITH_DEFAULT, "d"),
        ("in", _INNER.as_optional(), {"x": 1, "y": None}),
        ("a.b", INT32, 5),
    ],
)
def test_a_field_of_a_struct(field: str, schema: Schema, value: Any) -> None:
    assert shaped(ExtractFieldValue, {"field": field}, _SCHEMA, _VALUE) == (schema, value)


@pytest.mark.parametrize(
    ("field", "value"), [("in.x", 1), ("in.y", "d"), ("c", "text"), ("`a.b`", 5), ("in", {"x": 1, "y": None})]
)
def test_a_field_at_a_path(field: str, value: Any) -> None:
    assert shaped(ExtractFieldValue, {"field": field, **V2}, _SCHEMA, _VALUE).value == value


def test_below_a_null_all_is_null_even_where_there_is_a_default() -> None:
    for field, schema in (("in.x", INT32), ("in.y", _WITH_DEFAULT)):
        assert shaped(ExtractFieldValue, {"field": field, **V2}, _SCHEMA, {**_VALUE, "in": None}) == (schema, None)


def test_null_may_stay_where_there_is_a_default() -> None:
    config = {"field": "y", "replace.null.with.default": "false"}
    assert shaped(ExtractFieldValue, config, _SCHEMA, _VALUE) == (_WITH_DEFAULT, None)
    assert shaped(ExtractFieldValue, {**config, **V2, "field": "in.y"}, _SCHEMA, _VALUE) == (_WITH_DEFAULT, None)


@pytest.mark.parametrize(
    ("config", "value", "found"),
    [
        ({"field": "a"}, {"a": 1}, 1),
        ({"field": "a"}, {"b": 1}, None),
        ({"field": "a.b"}, {"a": {"b": 1}}, None),
        ({"field": "a.b", **V2}, {"a": {"b": 1}}, 1),
        ({"field": "a.b", **V2}, {"a": None}, None),
        ({"field": "a.b", **V2}, {}, None),
        ({"field": "a"}, None, None),
    ],
)
def test_a_field_of_a_map(config: dict[str, str], value: Any, found: Any) -> None:
    assert shaped(ExtractFieldValue, config, None, value) == (None, found)


def test_null_of_a_schema_gives_null_of_the_field_s() -> None:
    assert shaped(ExtractFieldValue, {"field": "c"}, _SCHEMA.as_optional(), None) == (STRING, None)


@pytest.mark.parametrize(
    ("config", "schema", "value"),
    [
        ({"field": "no"}, _SCHEMA, _VALUE),
        ({"field": "no"}, _SCHEMA, None),
        ({"field": "in.no", **V2}, _SCHEMA, _VALUE),
        ({"field": "no.x", **V2}, _SCHEMA, _VALUE),
        ({"field": "c.x", **V2}, _SCHEMA, _VALUE),
        ({"field": "a"}, STRING, "text"),
        ({"field": "a"}, OPTIONAL_STRING, None),
        ({"field": "a"}, None, "text"),
        ({"field": "a"}, None, [1]),
        ({"field": "a.b", **V2}, None, {"a": "text"}),
    ],
)
def test_what_has_no_such_field_is_refused(config: dict[str, str], schema: Schema | None, value: Any) -> None:
    assert isinstance(refused(ExtractFieldValue, config, schema, value), DataError)


def test_structs_in_arrow_stay_there_where_none_is_null() -> None:
    extract = with_config(ExtractFieldValue, {"field": "in"})
    assert isinstance(extract, ExtractFieldValue)
    for given, kind in (({"x": 1, "y": None}, StructColumns), (None, type(None))):
        column = of_rows(_SCHEMA, [{**_VALUE, "in": given}] * 2)
        assert column is not None
        found = extract.convert_arrow(column)
        assert found is not None
        assert type(found.struct_columns) is kind
        assert list(found) == [given, given]


def test_keys() -> None:
    one = changed(ExtractFieldKey, {"field": "a"}, None, {"a": 1})
    assert (one.key, one.value) == (1, {"a": 1})


@pytest.mark.parametrize(
    "config", [{}, {"field": "`a", **V2}, {"field": "", **V2}, {"field": "a", "field.syntax.version": "V3"}]
)
def test_wrong_settings(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        with_config(ExtractFieldValue, config)
