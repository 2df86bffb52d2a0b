"""HeaderFrom. Expected values are what Kafka Connect's own class gives."""

import copy
from typing import Any

import pytest

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord
from connect.data.schema import INT32, OPTIONAL_STRING, STRING
from transforms.header_from import HeaderFromKey, HeaderFromValue

from .forms import configured, forms, told


def _changed(schema: Schema | None, value: Any, **config: str) -> SinkRecord:
    """The changed record, the same in each form of a batch; the input is left alone."""
    before = copy.deepcopy(value)
    transformation = configured(HeaderFromValue, **config)
    record = SinkRecord("t", value, schema, headers=Headers([Header("x", "old", STRING)]))
    changed = transformation.apply(record)
    for batch in forms([record] * 3):
        assert [told(r) for r in transformation.apply_batch(batch)] == [told(changed)] * 3
    assert value == before
    assert changed.headers[0] == Header("x", "old", STRING)
    return changed


def test_fields_are_moved_or_copied() -> None:
    value = {"a": 5, "b": "x", "c": [1]}
    moved = _changed(None, value, fields="a,b", headers="x,y", operation="move")
    assert moved.value == {"c": [1]}
    assert list(moved.headers)[1:] == [Header("x", 5), Header("y", "x")]
    kept = _changed(None, value, fields="a,b", headers="x,y", operation="copy")
    assert kept.value == value
    assert kept.headers == moved.headers


def test_a_missing_field_of_a_schemaless_value_gives_a_header_of_null() -> None:
    assert _changed(None, {"a": 5}, fields="z", headers="h", operation="move").headers[1] == Header("h", None)


_STRUCT = Schema.struct({"a": OPTIONAL_STRING.replace(default="dflt"), "b": INT32}, name="nm", version=3, optional=True)


def test_a_header_has_its_fields_schema_and_default() -> None:
    moved = _changed(_STRUCT, {"a": None, "b": 4}, fields="a", headers="h", operation="move")
    assert moved.headers[1] == Header("h", "dflt", OPTIONAL_STRING.replace(default="dflt"))
    assert moved.value == {"b": 4}
    assert moved.value_schema == Schema.struct({"b": INT32}, name="nm", version=3)  # no longer optional, as in Java


def test_defaults_may_be_left_out() -> None:
    config = {"headers": "h", "operation": "move", "replace_null_with_default": "false"}
    assert _changed(_STRUCT, {"a": None, "b": 4}, fields="a", **config).headers[1].value is None
    assert _changed(_STRUCT, {"a": None, "b": 4}, fields="b", **config).value == {"a": None}
    config["replace_null_with_default"] = "true"
    assert _changed(_STRUCT, {"a": None, "b": 4}, fields="b", **config).value == {"a": "dflt"}


def test_all_fields_may_be_moved() -> None:
    moved = _changed(_STRUCT, {"a": "x", "b": 4}, fields="a,b", headers="p,q", operation="move")
    assert moved.value == {}
    assert [header.value for header in moved.headers][1:] == ["x", 4]


def test_fields_inside_of_others_are_named_by_their_path() -> None:
    config = {"fields": "in.a,b", "headers": "p,q", "operation": "move", "field_syntax_version": "V2"}
    moved = _changed(None, {"in": {"a": 1, "k": 2}, "b": 3}, **config)
    assert moved.value == {"in": {"k": 2}}
    assert [header.value for header in moved.headers][1:] == [1, 3]
    schema = Schema.struct({"in": Schema.struct({"a": INT32, "k": STRING}).as_optional(), "b": INT32})
    moved = _changed(schema, {"in": {"a": 1, "k": "x"}, "b": 3}, **config)
    assert moved.value == {"in": {"k": "x"}}
    assert list(moved.headers)[1:] == [Header("p", 1, INT32), Header("q", 3, INT32)]
    assert _changed(schema, {"in": None, "b": 3}, **config).headers[1] == Header("p", None, INT32)


@pytest.mark.parametrize(
    ("schema", "value"), [(None, None), (_STRUCT, None), (None, "x"), (STRING, "x"), (_STRUCT, {"b": 1})]
)
@pytest.mark.parametrize("operation", ["move", "copy"])
def test_what_has_no_such_fields_is_an_error(schema: Schema | None, value: Any, operation: str) -> None:
    transformation = configured(HeaderFromValue, fields="zz", headers="h", operation=operation)
    record = SinkRecord("t", value, schema)
    with pytest.raises(DataError):
        transformation.apply(record)
    for batch in forms([record]):
        with pytest.raises(DataError):
            transformation.apply_batch(batch)


def test_keys_have_headers_too() -> None:
    changed = configured(HeaderFromKey, fields="a", headers="h", operation="move").apply(
        SinkRecord("t", {"a": 1}, key={"a": 2})
    )
    assert (changed.key, changed.value, changed.headers[0].value) == ({}, {"a": 1}, 2)


@pytest.mark.parametrize(
    "config",
    [
        {"fields": "a,b", "headers": "x", "operation": "copy"},
        {"fields": "a", "headers": "x", "operation": "Copy"},
        {"fields": "", "headers": "", "operation": "copy"},
        {"fields": "a", "headers": "x"},
    ],
)
def test_wrong_settings_are_refused(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        configured(HeaderFromValue, **config)
