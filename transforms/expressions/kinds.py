"""The types of expressions, and how they map to Connect's schemas."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

from connect import Schema, Type, logical
from connect.data import schema as schemas


class Kind(enum.Enum):
    """A type; its value is the word for messages. Whole numbers have 64 bits; floating point numbers are doubles."""

    BOOLEAN = "a boolean"
    INTEGER = "a whole number"
    DOUBLE = "a double"
    DECIMAL = "a decimal"
    TEXT = "a string"
    BYTES = "bytes"
    DATE = "a date"
    TIME = "a time"
    TIMESTAMP = "a timestamp"
    LIST = "a list"
    OBJECT = "an object"
    INTERVAL = "an interval"
    NULL = "null"
    ANY = "of a type that is known only at run time"


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of time: months, which differ in length, and the rest."""

    months: int
    rest: dt.timedelta


class Typed(NamedTuple):
    """The type of an expression.

    Attributes:
        kind: see `Kind`.
        scale: digits after the point, of a decimal.
        schema: the schema of a part of a record that is passed on as it is; else None.
    """

    kind: Kind
    scale: int = 0
    schema: Schema | None = None


ANY: Final = Typed(Kind.ANY)
NUMBERS: Final = (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL)

KIND_OF: Final[dict[type, Kind]] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.DOUBLE,
    Decimal: Kind.DECIMAL,
    str: Kind.TEXT,
    bytes: Kind.BYTES,
    dt.date: Kind.DATE,
    dt.time: Kind.TIME,
    dt.datetime: Kind.TIMESTAMP,
    list: Kind.LIST,
    dict: Kind.OBJECT,
    Interval: Kind.INTERVAL,
    type(None): Kind.NULL,
}

_LOGICAL: Final = {
    logical.DATE_NAME: Kind.DATE,
    logical.TIME_NAME: Kind.TIME,
    logical.TIMESTAMP_NAME: Kind.TIMESTAMP,
}
_BY_TYPE: Final = {
    Type.BOOLEAN: Kind.BOOLEAN,
    Type.STRING: Kind.TEXT,
    Type.BYTES: Kind.BYTES,
    Type.FLOAT32: Kind.DOUBLE,
    Type.FLOAT64: Kind.DOUBLE,
    Type.ARRAY: Kind.LIST,
    Type.MAP: Kind.OBJECT,
    Type.STRUCT: Kind.OBJECT,
}
_SCHEMAS: Final = {
    Kind.BOOLEAN: schemas.OPTIONAL_BOOLEAN,
    Kind.INTEGER: schemas.OPTIONAL_INT64,
    Kind.DOUBLE: schemas.OPTIONAL_FLOAT64,
    Kind.TEXT: schemas.OPTIONAL_STRING,
    Kind.BYTES: schemas.OPTIONAL_BYTES,
    Kind.DATE: logical.DATE.as_optional(),
    Kind.TIME: logical.TIME.as_optional(),
    Kind.TIMESTAMP: logical.TIMESTAMP.as_optional(),
}


def kind_of(value: Any) -> Kind:
    """The kind of a value; ANY for a value of a type that Connect does not know."""
    return KIND_OF.get(type(value), Kind.ANY)


def of_value(value: Any) -> Typed:
    """The type of a constant."""
    kind = kind_of(value)
    if kind is Kind.DECIMAL:
        exponent = value.as_tuple().exponent
        return Typed(kind, max(-exponent, 0) if isinstance(exponent, int) else 0)
    return Typed(kind)


def of_schema(schema: Schema | None) -> Typed:
    """The type that a schema describes."""
    if schema is None:
        return ANY
    if schema.name == logical.DECIMAL_NAME:
        return Typed(Kind.DECIMAL, logical.scale_of(schema), schema)
    kind = _LOGICAL.get(schema.name or "") or _BY_TYPE.get(schema.type, Kind.INTEGER)
    return Typed(kind, 0, schema)


def to_schema(typed: Typed) -> Schema | None:
    """The schema of results of this type; None when it is unknown."""
    if typed.schema is not None:
        return typed.schema
    if typed.kind is Kind.DECIMAL:
        return logical.decimal(typed.scale, optional=True)
    return _SCHEMAS.get(typed.kind)


def common(types: list[Typed]) -> Typed | None:
    """The type that holds the results of all of these, such as the branches of CASE. None when there is none."""
    some = [each for each in types if each.kind is not Kind.NULL]
    if not some:
        return Typed(Kind.NULL)
    if any(each.kind is Kind.ANY for each in some):
        return ANY
    kinds = {each.kind for each in some}
    if len(kinds) == 1:
        first = some[0]
        if first.kind is Kind.DECIMAL:
            return Typed(Kind.DECIMAL, max(each.scale for each in some))
        alike = all(each.schema == first.schema for each in some)
        if alike and first.schema is not None:
            return first._replace(schema=first.schema.as_optional())
        # Lists and objects of different schemas have no common type.
        return None if first.kind in (Kind.LIST, Kind.OBJECT) else Typed(first.kind)
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        return Typed(Kind.DECIMAL, max(each.scale for each in some))
    return Typed(Kind.DOUBLE) if kinds <= set(NUMBERS) else None
