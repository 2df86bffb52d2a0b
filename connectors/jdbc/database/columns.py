"""A database's columns in Kafka Connect: kinds of columns, and the schema of rows with them.

Kinds are common to all databases; each reader maps the columns of its database to them.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect import ConnectError, Schema, Type
from connect.data import logical

#: `numeric.mapping`.
NONE: Final = "none"
PRECISION_ONLY: Final = "precision_only"
BEST_FIT: Final = "best_fit"
BEST_FIT_EAGER_DOUBLE: Final = "best_fit_eager_double"
NUMERIC_MAPPINGS: Final = (NONE, PRECISION_ONLY, BEST_FIT, BEST_FIT_EAGER_DOUBLE)

#: `timestamp.granularity`.
LOGICAL: Final = "connect_logical"
GRANULARITIES: Final = (
    LOGICAL,
    "micros_long",
    "micros_string",
    "micros_iso_datetime_string",
    "nanos_long",
    "nanos_string",
    "nanos_iso_datetime_string",
)

#: Digits after the point that a number gets whose column says nothing about them.
UNTOLD_SCALE: Final = 30
_INT64_DIGITS: Final = 18


class Kind(enum.Enum):
    """What a column holds."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    NUMERIC = "numeric"
    STRING = "string"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    #: A date and time as a clock on a wall shows it: which moment that was, `db.timezone` says.
    WALL_CLOCK = "timestamp without time zone"
    #: A moment, whatever zone it is shown in.
    MOMENT = "timestamp with time zone"


WHOLE: Final = frozenset({Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64})
TIMES: Final = frozenset({Kind.WALL_CLOCK, Kind.MOMENT, Kind.DATE})

_PLAIN: Final = {
    Kind.BOOLEAN: Type.BOOLEAN,
    Kind.INT8: Type.INT8,
    Kind.INT16: Type.INT16,
    Kind.INT32: Type.INT32,
    Kind.INT64: Type.INT64,
    Kind.FLOAT32: Type.FLOAT32,
    Kind.FLOAT64: Type.FLOAT64,
    Kind.STRING: Type.STRING,
    Kind.BYTES: Type.BYTES,
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table or of a query's result.

    Attributes:
        precision: digits of a NUMERIC; None where the column does not limit them.
        scale: the number of them after the point; None where the column does not define it.
        fraction: digits of a second that a WALL_CLOCK or MOMENT stores.
        counts: whether the database numbers rows by it.
        declared: the type in the database's words.
    """

    name: str
    kind: Kind
    nullable: bool = True
    precision: int | None = None
    scale: int | None = None
    fraction: int = 6
    counts: bool = False
    declared: str = ""


@dataclass(frozen=True, slots=True)
class Mapping:
    """How columns become fields: `numeric.mapping` and `timestamp.granularity`."""

    numeric: str = NONE
    timestamps: str = LOGICAL


def row_schema(columns: Sequence[Column], name: str | None, mapping: Mapping) -> Schema:
    """The schema of rows with these columns.

    Raises:
        ConnectError: two columns have one name.
    """
    fields: dict[str, Schema] = {}
    for column in columns:
        if column.name in fields:
            raise ConnectError(
                f'Two columns are called "{column.name}", which one record cannot hold. Rename one in the query (AS).'
            )
        fields[column.name] = field_schema(column, mapping)
    return Schema.struct(fields, name=name)


def field_schema(column: Column, mapping: Mapping) -> Schema:
    """The schema of a column's values."""
    schema = _schema(column, mapping)
    return schema.as_optional() if column.nullable else schema


def _schema(column: Column, mapping: Mapping) -> Schema:
    if column.kind in _PLAIN:
        return Schema(_PLAIN[column.kind])
    if column.kind is Kind.DATE:
        return logical.DATE
    if column.kind is Kind.TIME:
        return logical.TIME
    if column.kind is Kind.NUMERIC:
        return _numeric(column, mapping.numeric)
    if mapping.timestamps == LOGICAL:
        return logical.TIMESTAMP
    return Schema(Type.INT64 if mapping.timestamps.endswith("_long") else Type.STRING)


def _numeric(column: Column, chosen: str) -> Schema:
    precision, scale = column.precision, column.scale
    if scale is None:
        eager = chosen in (BEST_FIT, BEST_FIT_EAGER_DOUBLE)
        return Schema(Type.FLOAT64) if eager else logical.decimal(UNTOLD_SCALE)
    small = precision is not None and precision <= _INT64_DIGITS
    whole = scale == 0 if chosen == PRECISION_ONLY else scale <= 0
    if chosen != NONE and small and whole:
        assert precision is not None
        return Schema(_whole(precision - min(scale, 0)))
    if scale > 0 and (chosen == BEST_FIT_EAGER_DOUBLE or (chosen == BEST_FIT and small)):
        return Schema(Type.FLOAT64)
    return logical.decimal(max(scale, 0))


def _whole(digits: int) -> Type:
    if digits <= 2:
        return Type.INT8
    if digits <= 4:
        return Type.INT16
    return Type.INT32 if digits <= 9 else Type.INT64
