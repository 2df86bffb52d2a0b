"""Connect's types as Iceberg's, and back.

| Connect | Iceberg |
|---|---|
| INT8, INT16, INT32 | int |
| INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES | long, float, double, boolean, string, binary |
| STRUCT, ARRAY, MAP | struct, list, map |
| Decimal | decimal: as many digits as `connect.decimal.precision` says, else 38 |
| Date, Time, Timestamp | date, time, timestamptz |
| STRING called uuid | uuid |

As Iceberg's own connector does it. The way back knows timestamps without a zone, of nanoseconds, and fixed as well.
Loads pyiceberg: for tasks only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from pyiceberg import types as iceberg
from pyiceberg.schema import Schema as IcebergSchema

from connect.data import logical, widening
from connect.data.evolution import AddField, Change, WidenField
from connect.data.schema import Schema, Type, is_required
from connect.data.widening import PRECISION, precision_of
from connect.errors import SchemaError

UUID: Final = "uuid"
_MOST_DIGITS: Final = 38

_PLAIN: Final = {
    Type.INT8: iceberg.IntegerType(),
    Type.INT16: iceberg.IntegerType(),
    Type.INT32: iceberg.IntegerType(),
    Type.INT64: iceberg.LongType(),
    Type.FLOAT32: iceberg.FloatType(),
    Type.FLOAT64: iceberg.DoubleType(),
    Type.BOOLEAN: iceberg.BooleanType(),
    Type.STRING: iceberg.StringType(),
    Type.BYTES: iceberg.BinaryType(),
}
_LOGICAL: Final[dict[str | None, tuple[Type, iceberg.IcebergType]]] = {
    logical.DATE_NAME: (Type.INT32, iceberg.DateType()),
    logical.TIME_NAME: (Type.INT32, iceberg.TimeType()),
    logical.TIMESTAMP_NAME: (Type.INT64, iceberg.TimestamptzType()),
    UUID: (Type.STRING, iceberg.UUIDType()),
}
_BACK: Final[dict[type, Schema]] = {
    iceberg.BooleanType: Schema(Type.BOOLEAN),
    iceberg.IntegerType: Schema(Type.INT32),
    iceberg.LongType: Schema(Type.INT64),
    iceberg.FloatType: Schema(Type.FLOAT32),
    iceberg.DoubleType: Schema(Type.FLOAT64),
    iceberg.StringType: Schema(Type.STRING),
    iceberg.BinaryType: Schema(Type.BYTES),
    iceberg.FixedType: Schema(Type.BYTES),
    iceberg.UUIDType: Schema(Type.STRING, name=UUID),
    iceberg.DateType: logical.DATE,
    iceberg.TimeType: logical.TIME,
    iceberg.TimestampType: logical.TIMESTAMP,
    iceberg.TimestamptzType: logical.TIMESTAMP,
    iceberg.TimestampNanoType: logical.TIMESTAMP,
    iceberg.TimestamptzNanoType: logical.TIMESTAMP,
}


def to_iceberg(schema: Schema, *, optional: bool = False) -> IcebergSchema:
    """The columns of a table whose rows are structs of this schema.

    What has no content (a struct without fields, and what contains nothing but such) has no column. Ids are counted
    from 1; a catalog gives its own.

    Args:
        schema: a STRUCT.
        optional: whether all columns are, whatever the schema says.

    Raises:
        SchemaError: a decimal has more than 38 digits after the point.
    """
    return IcebergSchema(*_fields(schema, itertools.count(1), optional))


def _fields(schema: Schema, ids: Iterator[int], optional: bool) -> list[iceberg.NestedField]:
    found = []
    for field in schema.fields:
        number = next(ids)
        kind = _type(field.schema, ids, optional)
        if kind is not None:
            required = is_required(field.schema) and not optional
            found.append(iceberg.NestedField(number, field.name, kind, required=required))
    return found


def _type(schema: Schema, ids: Iterator[int], optional: bool) -> iceberg.IcebergType | None:
    if schema.name == logical.DECIMAL_NAME:
        return _decimal(schema)
    if schema.name in _LOGICAL and schema.type is _LOGICAL[schema.name][0]:
        return _LOGICAL[schema.name][1]
    match schema.type:
        case Type.STRUCT:
            fields = _fields(schema, ids, optional)
            return iceberg.StructType(*fields) if fields else None
        case Type.ARRAY:
            assert schema.value_schema is not None
            number, element = next(ids), _type(schema.value_schema, ids, optional)
            required = is_required(schema.value_schema) and not optional
            return None if element is None else iceberg.ListType(number, element, required)
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            of_key, of_value = next(ids), next(ids)
            key, value = _type(schema.key_schema, ids, optional), _type(schema.value_schema, ids, optional)
            required = is_required(schema.value_schema) and not optional
            return None if key is None or value is None else iceberg.MapType(of_key, key, of_value, value, required)
    return _PLAIN[schema.type]


def _decimal(schema: Schema) -> iceberg.IcebergType:
    scale, precision = max(0, logical.scale_of(schema)), precision_of(schema) or _MOST_DIGITS
    if scale > _MOST_DIGITS:
        raise SchemaError(f"A decimal with {scale} digits after the point has no column type: Iceberg has 38 at most.")
    return iceberg.DecimalType(min(max(precision, scale, 1), _MOST_DIGITS), scale)


def of_iceberg(schema: IcebergSchema) -> Schema:
    """The STRUCT schema of a table's rows.

    Raises:
        SchemaError: a column has a type that no Connect value has.
    """
    return Schema.struct({field.name: _back(field.field_type, field.optional, field.name) for field in schema.fields})


def _back(kind: iceberg.IcebergType, optional: bool, path: str) -> Schema:
    if (plain := _BACK.get(type(kind))) is not None:
        return plain.replace(optional=optional)
    if isinstance(kind, iceberg.DecimalType):
        digits = {PRECISION: str(kind.precision), logical.SCALE: str(kind.scale)}
        return logical.decimal(kind.scale).replace(parameters=digits, optional=optional)
    if isinstance(kind, iceberg.StructType):
        fields = {f.name: _back(f.field_type, f.optional, f"{path}.{f.name}") for f in kind.fields}
        return Schema.struct(fields, optional=optional)
    if isinstance(kind, iceberg.ListType):
        element = _back(kind.element_type, not kind.element_required, f"{path}.element")
        return Schema.array(element, optional=optional)
    if isinstance(kind, iceberg.MapType):
        key = _back(kind.key_type, False, f"{path}.key")
        value = _back(kind.value_type, not kind.value_required, f"{path}.value")
        return Schema.map(key, value, optional=optional)
    raise SchemaError(f'The column "{path}" is of type {kind}, which no record can hold.')


class IcebergFormat:
    """What Iceberg makes of schemas, and which changes it allows. See `spark_sink.rows.shape.Format`.

    Args:
        ignores_case: whether names that differ only in case are one column.
        optional: whether new columns are optional, whatever a record's schema says.
    """

    widens = True
    requires = True

    def __init__(self, *, ignores_case: bool, optional: bool) -> None:
        self.ignores_case = ignores_case
        self._optional = optional

    def stored(self, schema: Schema) -> Schema:
        return of_iceberg(to_iceberg(schema, optional=self._optional))

    def refusal(self, change: Change, *, exists: bool) -> str | None:
        if isinstance(change, AddField) and "" in (change.path[-1], *_names(change.schema)):
            return "a column of a table needs a name, and a field has none; ReplaceField renames fields"
        if not isinstance(change, WidenField) or not exists or _promotes(change.was, change.schema):
            return None
        now, wanted = widening.type_name(change.was), widening.type_name(change.schema)
        return f"{'.'.join(change.path)} would have to become {wanted}, and Iceberg does not make that of {now}"


def _names(schema: Schema) -> list[str]:
    """The names of all fields within a value."""
    inner = [each for each in (schema.key_schema, schema.value_schema) if each is not None]
    own = [name for field in schema.fields for name in (field.name, *_names(field.schema))]
    return own + [name for each in inner for name in _names(each)]


def _promotes(known: Schema, wanted: Schema) -> bool:
    """Whether Iceberg's specification lets a column change its type so."""
    if known.name == logical.DECIMAL_NAME == wanted.name:
        return logical.scale_of(known) == logical.scale_of(wanted)
    if known.name is not None or wanted.name is not None:
        return False
    return (known.type, wanted.type) in {(Type.INT32, Type.INT64), (Type.FLOAT32, Type.FLOAT64)}
