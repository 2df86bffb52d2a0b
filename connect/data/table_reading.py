"""Columns of tables that others wrote (Parquet, Delta, what Spark hands over), as Connect has them.

Which schema a column has is said by `connect.data.tables.schema_of_table`. What is finer than Connect knows is cut off:
timestamps and times of day are whole milliseconds. A timestamp without a zone is taken as UTC.

Imported where a table is: it loads pyarrow.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data import logical
from connect.data.arrow import arrow_type
from connect.data.schema import Schema, Type
from connect.data.struct_columns import FieldColumn

_MICROSECONDS: Final = pa.timestamp("us")
_MILLISECONDS: Final = pa.timestamp("ms", "UTC")


def connect_column(schema: Schema, array: pa.Array) -> FieldColumn:
    """The values of a column, in Arrow where Connect has an Arrow form for them."""
    if arrow_type(schema) is None:
        return FieldColumn(schema, [_value(schema, item) for item in array.to_pylist()])
    return FieldColumn(schema, array=_fitted(schema, array))


def milliseconds(array: pa.Array) -> pa.Array:
    """Timestamps, with or without a zone, as whole milliseconds of UTC: earlier, never later."""
    if array.type.unit == "ns":
        array = pc.floor_temporal(array.view(pa.timestamp("ns")), unit="microsecond")
    plain = array.cast(pa.timestamp("us", array.type.tz)).view(pa.int64()).view(_MICROSECONDS)
    return pc.floor_temporal(plain, unit="millisecond").cast(pa.timestamp("ms")).view(pa.int64()).view(_MILLISECONDS)


def _fitted(schema: Schema, array: pa.Array) -> pa.Array:
    wanted = arrow_type(schema)
    if array.type == wanted:
        return array
    mask = array.is_null() if array.null_count else None
    if schema.type is Type.STRUCT:
        children = [_fitted(field.schema, child) for field, child in zip(schema.fields, array.flatten(), strict=True)]
        return pa.StructArray.from_arrays(children, [field.name for field in schema.fields], mask=mask)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        lengths = pc.fill_null(pc.list_value_length(array).cast(pa.int32()), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
        return pa.ListArray.from_arrays(offsets, _fitted(schema.value_schema, array.flatten()), mask=mask)
    if pa.types.is_timestamp(array.type):
        return milliseconds(array)
    # What is left loses nothing, but for the time of day below a millisecond.
    return array.cast(wanted, safe=not pa.types.is_time(array.type))


def _value(schema: Schema, item: Any) -> Any:
    """A value that Arrow made, and what is in it, as Connect has it."""
    if item is None:
        return None
    if schema.type is Type.STRUCT:
        return {field.name: _value(field.schema, item[field.name]) for field in schema.fields}
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return [_value(schema.value_schema, each) for each in item]
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        return {_value(schema.key_schema, key): _value(schema.value_schema, value) for key, value in item}
    if schema.name == logical.TIMESTAMP_NAME:
        aware = item.replace(tzinfo=dt.UTC) if item.tzinfo is None else item.astimezone(dt.UTC)
        return aware.replace(microsecond=aware.microsecond // 1000 * 1000)
    if schema.name == logical.TIME_NAME:
        return item.replace(microsecond=item.microsecond // 1000 * 1000)
    return item
