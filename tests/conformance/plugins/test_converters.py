"""The converters pass the suite that every plug-in should pass."""

import struct
from typing import Any

import pytest
from hypothesis import strategies as st

from connect import Schema, schema
from connect.converters import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    JsonConverter,
    LongConverter,
    ShortConverter,
    StringConverter,
)
from connect.testing.conformance import ConverterConformance, schemaless_values, values_with_schemas

pytestmark = pytest.mark.quick  # no server, some seconds

Pair = tuple[Schema | None, Any]


class _Same(ConverterConformance):
    """A value comes back under the one schema of its converter."""

    SCHEMA: Schema
    TAKES: st.SearchStrategy[Any]

    def values(self) -> st.SearchStrategy[Pair]:
        return st.tuples(st.just(self.SCHEMA), st.none() | self.TAKES)

    def comes_back(self, schema: Schema | None, value: Any) -> Pair:
        return self.SCHEMA, value


class TestString(_Same):
    converter = StringConverter
    SCHEMA, TAKES = schema.OPTIONAL_STRING, st.text(st.characters(exclude_categories=["Cs"]))


class TestString16(TestString):
    def config(self) -> dict[str, str]:
        return {"converter.encoding": "UTF-16"}


class TestByteArray(_Same):
    converter = ByteArrayConverter
    SCHEMA, TAKES = schema.OPTIONAL_BYTES, st.binary()


class TestShort(_Same):
    converter = ShortConverter
    SCHEMA, TAKES = schema.OPTIONAL_INT16, st.integers(-(1 << 15), (1 << 15) - 1)


class TestInteger(_Same):
    converter = IntegerConverter
    SCHEMA, TAKES = schema.OPTIONAL_INT32, st.integers(-(1 << 31), (1 << 31) - 1)


class TestLong(_Same):
    converter = LongConverter
    SCHEMA, TAKES = schema.OPTIONAL_INT64, st.integers(-(1 << 63), (1 << 63) - 1)


class TestFloat(_Same):
    converter = FloatConverter
    SCHEMA, TAKES = schema.OPTIONAL_FLOAT32, st.binary(min_size=4, max_size=4).map(lambda b: struct.unpack("f", b)[0])


class TestDouble(_Same):
    converter = DoubleConverter
    SCHEMA, TAKES = schema.OPTIONAL_FLOAT64, st.floats()


class TestBoolean(_Same):
    converter = BooleanConverter
    SCHEMA, TAKES = schema.OPTIONAL_BOOLEAN, st.booleans()


class TestJson(ConverterConformance):
    converter = JsonConverter

    def values(self) -> st.SearchStrategy[Pair]:
        return values_with_schemas()

    def comes_back(self, schema: Schema | None, value: Any) -> Pair:
        return schema, _without_minus_zero(value)


class TestSchemalessJson(ConverterConformance):
    converter = JsonConverter

    def config(self) -> dict[str, str]:
        return {"schemas.enable": "false"}

    def values(self) -> st.SearchStrategy[Pair]:
        return schemaless_values()

    def comes_back(self, schema: Schema | None, value: Any) -> Pair:
        return schema, _without_minus_zero(value)


def _without_minus_zero(value: Any) -> Any:
    """Java reads -0.0 as 0.0."""
    if isinstance(value, dict):
        return {key: _without_minus_zero(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_minus_zero(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value
