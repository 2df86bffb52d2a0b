"""Connect schemas and values that fit them, for round trips."""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from typing import Any

from hypothesis import strategies as st

from connect.data import Schema, Type, logical, schema

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,7}", fullmatch=True)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
PRIMITIVES = [
    schema.INT8,
    schema.INT16,
    schema.INT32,
    schema.INT64,
    schema.FLOAT32,
    schema.FLOAT64,
    schema.BOOLEAN,
    schema.STRING,
    schema.BYTES,
]


def leaves() -> st.SearchStrategy[Schema]:
    logicals = st.sampled_from([logical.DATE, logical.TIME, logical.TIMESTAMP]) | st.integers(0, 6).map(logical.decimal)
    plain = st.sampled_from(PRIMITIVES) | logicals
    return st.builds(lambda s, optional: s.as_optional() if optional else s, plain, st.booleans())


def structs(keys: list[Schema], named: Callable[[int], str | None]) -> st.SearchStrategy[Schema]:
    """Structs of structs, arrays and maps; each with a name of its own."""

    def inner(each: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
        element = each.filter(lambda s: s.type not in (Type.ARRAY, Type.MAP))
        arrays = st.builds(lambda s, optional: Schema.array(s, optional=optional), element, st.booleans())
        maps = st.builds(Schema.map, st.sampled_from(keys), element)
        return arrays | maps | st.dictionaries(NAMES, each, min_size=1, max_size=4).map(Schema.struct)

    fields = st.recursive(leaves(), inner, max_leaves=8)
    unnamed = st.dictionaries(NAMES, fields, min_size=1, max_size=6).map(Schema.struct)
    return unnamed.map(lambda s: _with_names(s, map(named, count())))


def _with_names(of: Schema, names: Iterator[str | None]) -> Schema:
    if of.value_schema is not None:
        return of.replace(value_schema=_with_names(of.value_schema, names))
    if of.type is not Type.STRUCT:
        return of
    name = next(names)
    return of.replace(name=name, fields={field.name: _with_names(field.schema, names) for field in of.fields})


def values(of: Schema, *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Values of this schema."""
    found = _values(of)
    return st.none() | found if of.optional and nulls else found


def _values(of: Schema) -> st.SearchStrategy[Any]:
    match of.name:
        case logical.DECIMAL_NAME:
            scale = logical.scale_of(of)
            return st.integers(-(10**20), 10**20).map(lambda n: Decimal(f"{n}E-{scale}"))
        case logical.DATE_NAME:
            return st.dates()
        case logical.TIME_NAME:
            return st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))
        case logical.TIMESTAMP_NAME:
            seconds = st.datetimes(timezones=st.just(dt.UTC))
            return seconds.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))
    match of.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            high = 1 << (_BITS[of.type] - 1)
            return st.integers(-high, high - 1)
        case Type.FLOAT32 | Type.FLOAT64:
            return st.floats(width=32 if of.type is Type.FLOAT32 else 64, allow_nan=False, allow_infinity=False)
        case Type.BOOLEAN:
            return st.booleans()
        case Type.STRING:
            return st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
        case Type.BYTES:
            return st.binary(max_size=5)
        case Type.ARRAY:
            assert of.value_schema is not None
            return st.lists(values(of.value_schema, nulls=False), max_size=3)
        case Type.MAP:
            assert of.key_schema is not None
            assert of.value_schema is not None
            items = values(of.value_schema, nulls=False)
            return st.dictionaries(values(of.key_schema, nulls=False), items, max_size=3)
    return st.fixed_dictionaries({field.name: values(field.schema) for field in of.fields})
