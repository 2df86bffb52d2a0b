"""The columns that structs have in a table: Connect's types as the Arrow types that Delta, Parquet and Spark have.

| Connect | column |
|---|---|
| INT8 ... INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES | the type of that name and width |
| STRUCT, ARRAY, MAP | struct, list, map |
| Decimal | decimal128: as many digits as `connect.decimal.precision` says, else 38 |
| Date | date32 |
| Time | int32: milliseconds since midnight |
| Timestamp | timestamp[us, UTC] |

Spark and Delta count time in microseconds and have no time of day. A Time therefore becomes what Connect encodes it as,
which sorts, compares and subtracts; its field carries the logical type's name in its metadata, so that a table can say
what the number is. Structs without fields, and what contains nothing but such, have no column: no format can write one.

Imported where a table is: it loads pyarrow.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data import logical
from connect.data.arrow import PLAIN_TYPES, arrow_type
from connect.data.schema import Schema, Type, is_required
from connect.data.struct_columns import FieldColumn
from connect.data.widening import PRECISION, precision_of
from connect.errors import SchemaError

#: Of a field's metadata: the name of the logical type that the column's type does not tell.
LOGICAL_NAME: Final = b"connect.name"
_MOST_DIGITS: Final = 38
_MICROSECONDS: Final = pa.timestamp("us")
_MILLISECONDS: Final = pa.timestamp("ms", "UTC")
_LOGICAL: Final = {
    logical.DATE_NAME: (Type.INT32, pa.date32()),
    logical.TIME_NAME: (Type.INT32, pa.int32()),
    logical.TIMESTAMP_NAME: (Type.INT64, pa.timestamp("us", "UTC")),
}


def table_schema(schema: Schema, *, required: bool = False) -> pa.Schema:
    """The columns of a table whose rows are structs of this schema, in the schema's order.

    Args:
        schema: a STRUCT.
        required: whether fields that are neither optional nor have a default become columns without null. Otherwise all
            columns are nullable: required fields of a record are checked when its row is made.

    Raises:
        SchemaError: a field has a type that no table has: a decimal with more than 38 digits after the point.
    """
    return pa.schema(_fields(schema, required))


@lru_cache(maxsize=1000)
def column_type(schema: Schema) -> pa.DataType | None:
    """The type of a column that holds values of this schema; None where there is none. Errors as `table_schema`."""
    return _type(schema, False)


def _type(schema: Schema, required: bool) -> pa.DataType | None:
    if schema.name == logical.DECIMAL_NAME:
        return _decimal(schema)
    if schema.name in _LOGICAL and schema.type is _LOGICAL[schema.name][0]:
        return _LOGICAL[schema.name][1]
    match schema.type:
        case Type.STRUCT:
            fields = _fields(schema, required)
            return pa.struct(fields) if fields else None
        case Type.ARRAY:
            element = _inner("item", schema.value_schema, required)
            return None if element is None else pa.list_(element)
        case Type.MAP:
            assert schema.key_schema is not None
            key, value = _type(schema.key_schema, required), _inner("value", schema.value_schema, required)
            return None if key is None or value is None else pa.map_(key, value)
    return PLAIN_TYPES[schema.type]


def _fields(schema: Schema, required: bool) -> list[pa.Field]:
    fields = []
    for field in schema.fields:
        chosen = _type(field.schema, required)
        if chosen is not None:
            nullable = not (required and is_required(field.schema))
            fields.append(pa.field(field.name, chosen, nullable, _told(field.schema)))
    return fields


def _inner(name: str, schema: Schema | None, required: bool) -> pa.Field | None:
    assert schema is not None
    chosen = _type(schema, required)
    return None if chosen is None else pa.field(name, chosen, not (required and is_required(schema)), _told(schema))


def _told(schema: Schema) -> dict[bytes | str, bytes | str] | None:
    """What the type of a column cannot express, in the metadata of its field."""
    return {LOGICAL_NAME: logical.TIME_NAME} if schema.name == logical.TIME_NAME else None


def _decimal(schema: Schema) -> pa.DataType:
    scale, precision = max(0, logical.scale_of(schema)), precision_of(schema) or _MOST_DIGITS
    if scale > _MOST_DIGITS:
        raise SchemaError(f"A decimal with {scale} digits after the point has no column type: tables have 38 at most.")
    return pa.decimal128(min(max(precision, scale, 1), _MOST_DIGITS), scale)


# The way back: tables that others made.


def schema_of_table(columns: pa.Schema) -> Schema:
    """The STRUCT schema of a table's rows: the inverse of `table_schema`.

    What a table does not store (names, versions and defaults of schemas) is missing in it.

    Raises:
        SchemaError: a column has a type that no Connect value has.
    """
    return Schema.struct({column.name: _schema(column, column.name) for column in columns})


def _schema(column: pa.Field, path: str) -> Schema:
    kind: Any = column.type
    plain = _OF_ARROW.get(kind)
    attributes: dict[str, Any] = {"optional": column.nullable}
    if (column.metadata or {}).get(LOGICAL_NAME) == logical.TIME_NAME.encode() and pa.types.is_int32(kind):
        return logical.TIME.replace(**attributes)
    if plain is not None:
        return plain.replace(**attributes)
    if pa.types.is_timestamp(kind):
        return logical.TIMESTAMP.replace(**attributes)
    if pa.types.is_time(kind):
        return logical.TIME.replace(**attributes)
    if pa.types.is_decimal(kind):
        digits = {PRECISION: str(kind.precision), logical.SCALE: str(kind.scale)}
        return logical.decimal(kind.scale).replace(parameters=digits, **attributes)
    if pa.types.is_struct(kind):
        return Schema.struct({each.name: _schema(each, f"{path}.{each.name}") for each in kind}, **attributes)
    if pa.types.is_map(kind):
        key, value = _schema(kind.key_field, f"{path}.key"), _schema(kind.item_field, f"{path}.value")
        return Schema.map(key, value, **attributes)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Schema.array(_schema(kind.value_field, f"{path}.element"), **attributes)
    raise SchemaError(f'The column "{path}" is of type {kind}, which no record can hold.')


_OF_ARROW: Final[dict[pa.DataType, Schema]] = {
    **{arrow: Schema(kind) for kind, arrow in PLAIN_TYPES.items()},
    pa.large_string(): Schema(Type.STRING),
    pa.string_view(): Schema(Type.STRING),
    pa.large_binary(): Schema(Type.BYTES),
    pa.binary_view(): Schema(Type.BYTES),
    pa.date32(): logical.DATE,
}


def connect_column(schema: Schema, array: pa.Array) -> FieldColumn:
    """The values of a column that others wrote, in the schema of `schema_of_table`.

    In Arrow where Connect has an Arrow form for them. Precision that Connect lacks is cut off: timestamps and times of
    day are whole milliseconds. A timestamp without a zone is read as UTC.
    """
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
    """A value from Arrow, and its nested values, in Connect's form."""
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
