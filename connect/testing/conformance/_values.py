"""Values of every kind, with schemas and without, for hypothesis to draw from."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from connect.data import logical
from connect.data import schema as schemas
from connect.data.schema import Schema
from connect.data.times import EPOCH

SchemaAndValue = tuple[Schema | None, Any]

_ORDER = Schema.struct(
    {
        "id": schemas.INT64,
        "name": schemas.OPTIONAL_STRING,
        "paid": schemas.OPTIONAL_BOOLEAN,
        "price": schemas.OPTIONAL_FLOAT64,
        "tags": Schema.array(schemas.STRING, optional=True),
        "at": logical.TIMESTAMP.as_optional(),
    },
    name="conformance.Order",
)

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_floats = st.floats(allow_nan=False, allow_infinity=False)
_moments = st.integers(-(10**12), 10**13).map(lambda ms: EPOCH + dt.timedelta(0, 0, ms * 1000))


def _whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


@cache
def any_values() -> st.SearchStrategy[SchemaAndValue]:
    """Pairs of schema and value: every type, nulls where they are allowed, structures, and schemaless values."""
    return st.one_of(schemaless_values(), values_with_schemas())


@cache
def schemaless_values() -> st.SearchStrategy[SchemaAndValue]:
    """Values of JSON, without a schema."""
    return st.tuples(st.none(), json_values())


@cache
def json_values() -> st.SearchStrategy[Any]:
    """Null, booleans, whole numbers, floats, texts, lists and objects."""
    leaves = st.none() | st.booleans() | _whole(64) | _floats | _text
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3))


@cache
def values_with_schemas() -> st.SearchStrategy[SchemaAndValue]:
    """Every type of Connect, including logical types."""
    plain: dict[Schema, st.SearchStrategy[Any]] = {
        schemas.BOOLEAN: st.booleans(),
        schemas.INT8: _whole(8),
        schemas.INT16: _whole(16),
        schemas.INT32: _whole(32),
        schemas.INT64: _whole(64),
        schemas.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
        schemas.FLOAT64: _floats,
        schemas.STRING: _text,
        schemas.BYTES: st.binary(max_size=12),
        logical.DATE: st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1)),
        logical.TIMESTAMP: _moments,
        logical.decimal(2): _whole(64).map(lambda unscaled: Decimal(unscaled).scaleb(-2)),
        Schema.array(schemas.INT32): st.lists(_whole(32), max_size=3),
        Schema.map(schemas.STRING, schemas.INT32): st.dictionaries(_text, _whole(32), max_size=3),
        _ORDER: _orders(),
    }
    pairs = [st.tuples(st.just(schema), values) for schema, values in plain.items()]
    nulls = [st.tuples(st.just(schema.as_optional()), st.none() | values) for schema, values in plain.items()]
    return st.one_of(*pairs, *nulls)


def _orders() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "id": _whole(64),
            "name": st.none() | _text,
            "paid": st.none() | st.booleans(),
            "price": st.none() | _floats,
            "tags": st.none() | st.lists(_text, max_size=3),
            "at": st.none() | _moments,
        }
    )


def typed(value: Any) -> Any:
    """The value with its types: 1, 1.0 and True are three, 0.0 is not -0.0. The order in a dict does not count."""
    if isinstance(value, dict):
        return "dict", sorted(((typed(key), typed(item)) for key, item in value.items()), key=repr)
    if isinstance(value, list | tuple):
        return "list", [typed(item) for item in value]
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    return type(value).__name__, repr(value)
