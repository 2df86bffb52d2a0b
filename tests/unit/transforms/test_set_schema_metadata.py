"""SetSchemaMetadata. Expected values are what Kafka Connect's own class gives."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, Type
from connect.data.schema import INT8, INT32, OPTIONAL_STRING, STRING
from transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue

from .forms import with_config
from .shaping import changed, refused, shaped

_WITH_DEFAULT = Schema(Type.STRING, optional=True, default="d")
_INNER = Schema.struct({"y": _WITH_DEFAULT}, name="inner", version=1)
_SCHEMA = Schema(
    Type.STRUCT,
    fields={"a": INT32, "b": _WITH_DEFAULT, "in": _INNER},
    name="top",
    version=3,
    doc="of top",
    parameters={"p": "q"},
    optional=True,
    default={"a": 1, "b": "x", "in": {"y": "z"}},
)
_VALUE = {"a": 1, "b": None, "in": {"y": None}}


@pytest.mark.parametrize(
    ("config", "about"),
    [
        ({"schema.name": "order"}, {"name": "order"}),
        ({"schema.version": "7"}, {"version": 7}),
        ({"schema.name": "order", "schema.version": "-1"}, {"name": "order", "version": -1}),
    ],
)
def test_only_name_and_version_change(config: dict[str, str], about: dict[str, Any]) -> None:
    schema = _SCHEMA.replace(**about)
    assert shaped(SetSchemaMetadataValue, config, _SCHEMA, _VALUE) == (schema, {**_VALUE, "b": "d"})
    assert shaped(SetSchemaMetadataValue, config, _SCHEMA, None) == (schema, None)


def test_null_may_stay_where_there_is_a_default() -> None:
    config = {"schema.name": "order", "replace.null.with.default": "false"}
    assert shaped(SetSchemaMetadataValue, config, _SCHEMA, _VALUE).value == _VALUE


def test_a_null_without_a_schema_passes() -> None:
    assert shaped(SetSchemaMetadataValue, {"schema.name": "order"}, None, None) == (None, None)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, {"a": 1}),
        (None, "text"),
        (STRING, "text"),
        (OPTIONAL_STRING, None),
        (Schema(Type.ARRAY, value_schema=INT8), [1]),
        (Schema(Type.MAP, key_schema=STRING, value_schema=INT8), {"a": 1}),
    ],
)
def test_what_has_no_struct_s_schema_is_refused(schema: Schema | None, value: Any) -> None:
    assert isinstance(refused(SetSchemaMetadataValue, {"schema.name": "order"}, schema, value), DataError)


def test_keys() -> None:
    one = changed(SetSchemaMetadataKey, {"schema.name": "id"}, _SCHEMA, _VALUE)
    assert one.key_schema is not None
    assert one.value_schema is _SCHEMA
    assert (one.key_schema.name, one.key) == ("id", {**_VALUE, "b": "d"})


@pytest.mark.parametrize("config", [{}, {"schema.version": "x"}, {"replace.null.with.default": "false"}])
def test_wrong_settings(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        with_config(SetSchemaMetadataValue, config)
