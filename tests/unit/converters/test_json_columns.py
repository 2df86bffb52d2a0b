"""Structs in Arrow columns become the very bytes that the same structs become as dicts."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.converters import JsonConverter
from connect.data import Schema, StructColumns, Type, Values, logical
from connect.data.arrow import from_python
from connect.data.column import Constant
from connect.errors import DataError

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MOMENTS = st.integers(-(10**13), 10**13).map(lambda ms: EPOCH + dt.timedelta(milliseconds=ms))
TIMES = st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))


def decimals(scale: int) -> Any:
    return st.integers(-(10**37), 10**37).map(lambda unscaled: Decimal(f"{unscaled}E-{scale}"))


KINDS: list[tuple[Schema, Any]] = [
    (Schema(Type.INT8), st.integers(-128, 127)),
    (Schema(Type.INT64), st.integers(-(1 << 63), (1 << 63) - 1)),
    (Schema(Type.FLOAT64), st.floats()),
    (Schema(Type.FLOAT32), st.floats(width=32)),
    (Schema(Type.BOOLEAN), st.booleans()),
    (Schema(Type.STRING), st.text(st.characters(codec="utf-8"))),
    (Schema(Type.STRING), st.text("abc é")),
    (Schema(Type.BYTES), st.binary()),
    (logical.DATE, st.dates()),
    (logical.TIME, TIMES),
    (logical.TIMESTAMP, MOMENTS),
    (logical.decimal(2), decimals(2)),
    (logical.decimal(12), decimals(12)),
    (Schema.array(Schema(Type.INT32)), st.lists(st.integers(-5, 5), max_size=3)),
    (Schema(Type.STRING, optional=True, default="d"), st.none() | st.text("xyz")),
]


@st.composite
def structs(draw: st.DrawFn) -> tuple[Schema, list[list[Any]]]:
    chosen = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    count = draw(st.integers(1, 8))
    fields, columns = {}, []
    for at, (schema, values) in enumerate(chosen):
        optional = draw(st.booleans())
        fields[f'f"{at}'] = schema.as_optional() if optional else schema
        each = st.none() | values if optional else values
        columns.append(draw(st.lists(each, min_size=count, max_size=count)))
    return Schema.struct(fields, name="row"), columns


@given(structs(), st.booleans(), st.booleans(), st.booleans())
def test_the_same_bytes(made: tuple[Schema, list[list[Any]]], envelope: bool, numeric: bool, cut: bool) -> None:
    schema, columns = made
    converter = JsonConverter()
    config = {"schemas.enable": str(envelope).lower(), "decimal.format": "NUMERIC" if numeric else "BASE64"}
    converter.configure(config, is_key=False)
    arrays = [from_python(field.schema, items) for field, items in zip(schema.fields, columns, strict=True)]
    in_columns: Values = StructColumns(schema, arrays)
    if cut and len(in_columns) > 1:
        in_columns = in_columns.between(1, len(in_columns))
    # As dicts, of what Arrow holds: it has no other NaN than one.
    as_dicts = Values(list(in_columns.to_list()), schema)
    topics = Constant("t", len(in_columns))
    assert converter.from_connect_batch(topics, in_columns) == converter.from_connect_batch(topics, as_dicts)


def test_null_where_none_may_be_is_refused() -> None:
    converter = JsonConverter()
    schema = Schema.struct({"a": Schema(Type.INT32)})
    with pytest.raises(DataError, match="null where the schema requires"):
        converter.from_connect_batch(Constant("t", 2), StructColumns(schema, [pa.array([1, None], pa.int32())]))
