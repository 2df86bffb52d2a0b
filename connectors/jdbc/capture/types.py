"""Columns of PostgreSQL as fields of records: schema, reader, and replacement for missing values.

The schemas are Debezium's, so that consumers of its topics can read these.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any, Final

from connect import Schema, Type, logical, schema
from connect.data.unavailable import as_uuid
from connectors.jdbc.capture import text
from connectors.jdbc.capture.catalog import PgType, Types
from connectors.jdbc.changes.forms import BYTES_WRITTEN, POINT

Reader = Callable[[bytes], Any]

_VARIABLE: Final = Schema.struct(
    {"scale": schema.INT32, "value": schema.BYTES},
    name="io.debezium.data.VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
)


@dataclass(frozen=True, slots=True)
class Modes:
    """How values are to be written; see the keys of these names."""

    decimal: str
    time: str
    binary: str
    hstore: str
    interval: str
    money_digits: int
    unknown: bool
    placeholder: str


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How a column's values are converted.

    Attributes:
        schema: not optional.
        read: makes a value from its text form.
        fallback: replaces null where none may be: columns that are NOT NULL, in rows of which only the key is known.
        unavailable: replaces a large value that was not sent.
        element_optional: whether it may be null as an element of an array.
        default: a default that Debezium gives a column whose default is computed, such as now(); None for none.
        literal: whether a constant default becomes one of the field.
        constant: reads such a default, where its text differs from that of a value; None for `read`.
    """

    schema: Schema
    read: Reader
    fallback: Any
    unavailable: Any = None
    element_optional: bool = True
    default: Any = None
    literal: bool = True
    constant: Reader | None = None


def column_type(types: Types, oid: int, modifier: int, modes: Modes) -> ColumnType | None:
    """Of a column's type; None for one that is left out."""
    of = types[oid]
    while of.kind == "d":
        modifier = of.modifier if of.modifier != -1 else modifier
        of = types[of.base]
    if of.element:
        return _array(types, of, modifier, modes)
    if of.kind == "e":
        name = Schema(Type.STRING, name="io.debezium.data.Enum", version=1, parameters={"allowed": ",".join(of.labels)})
        return ColumnType(name, bytes.decode, "", modes.placeholder, element_optional=False)
    make = _BY_NAME.get(of.name)
    if make is not None:
        return make(modifier, modes)
    if not modes.unknown:
        return None
    return _binary(modes, lambda value: value)


def _array(types: Types, of: PgType, modifier: int, modes: Modes) -> ColumnType | None:
    element = column_type(types, of.element, modifier, modes)
    if element is None:
        return None
    item = element.schema.as_optional() if element.element_optional else element.schema
    unavailable = _unsent(types[of.element].name, element, modes.placeholder)
    null = None if element.element_optional else element.fallback
    return ColumnType(Schema.array(item), text.array(element.read, null), [], unavailable, literal=False)


def _unsent(name: str, element: ColumnType, placeholder: str) -> list[Any] | None:
    """What replaces a large array that was not sent, as in Debezium; None where that has nothing, too."""
    if name == "uuid":
        return [as_uuid(placeholder)]
    if name in _NUMBERS and logical.python_type(element.schema) is None:
        return list(placeholder.encode())
    return [element.unavailable] if isinstance(element.unavailable, str | bytes) else None


#: Types of which arrays have the placeholder's bytes as their numbers.
_NUMBERS: Final = frozenset({"int4", "int8", "date"})


def _plain(of: Schema, read: Reader, fallback: Any, **more: Any) -> Callable[[int, Modes], ColumnType]:
    made = ColumnType(of, read, fallback, **more)
    return lambda _, __: made


def _text(name: str | None = None, **more: Any) -> Callable[[int, Modes], ColumnType]:
    of = schema.STRING if name is None else Schema(Type.STRING, name=name, version=1)
    return lambda _, modes: ColumnType(of, bytes.decode, "", modes.placeholder, **more)


def _binary(modes: Modes, read: Callable[[bytes], bytes]) -> ColumnType:
    gone = modes.placeholder.encode()
    write = BYTES_WRITTEN[modes.binary]
    if write is None:
        return ColumnType(schema.BYTES, read, b"", gone, literal=False)
    return ColumnType(schema.STRING, lambda value: write(read(value)), "", modes.placeholder, literal=False)


def _numeric(modifier: int, modes: Modes) -> ColumnType:
    if modes.decimal == "double":
        return ColumnType(schema.FLOAT64, float, 0.0)
    if modifier == -1:
        if modes.decimal == "string":
            return ColumnType(schema.STRING, bytes.decode, "0", modes.placeholder)
        return ColumnType(_VARIABLE, _variable, {"scale": 0, "value": b"\0"}, literal=False)
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    scale = scale - 0x800 if scale >= 0x400 else scale
    if modes.decimal == "string":
        return ColumnType(
            schema.STRING,
            bytes.decode,
            str(Decimal(0).quantize(Decimal(1).scaleb(-scale))),
            constant=lambda value: str(Decimal(value.decode()).quantize(Decimal(1).scaleb(-scale), context=_WIDE)),
        )
    if scale < 0:
        return _decimal(scale, lambda value: Decimal(value.decode()), precision)
    # The server has rounded it to its scale, and writes all digits of that.
    return replace(
        _decimal(scale, lambda value: Decimal(value.decode()), precision),
        read=lambda value: None if value == b"NaN" else Decimal(value.decode()),
        constant=_decimal(scale, lambda value: Decimal(value.decode())).read,
    )


#: As many digits as a column that says their number can have, on either side of the point.
_WIDE: Final = Context(prec=2000)


def _decimal(scale: int, read: Callable[[bytes], Decimal], precision: int | None = None) -> ColumnType:
    parameters = {"scale": str(scale)} | ({} if precision is None else {"connect.decimal.precision": str(precision)})
    step = Decimal(1).scaleb(-scale)

    def exact(value: bytes) -> Decimal | None:
        number = read(value)
        if not number.is_finite():
            return None
        return number if number.as_tuple().exponent == -scale else number.quantize(step, context=_WIDE)

    of = Schema(Type.BYTES, name=logical.DECIMAL_NAME, version=1, parameters=parameters)
    return ColumnType(of, exact, Decimal(0).quantize(step))


def _variable(value: bytes) -> dict[str, Any] | None:
    number = Decimal(value.decode())
    if not number.is_finite():
        return None
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    while exponent < 0 and digits[-1] == 0:
        digits, exponent = digits[:-1] or (0,), exponent + 1
    unscaled = int(Decimal((sign, digits, 0)))  # not by way of a text, for there may be 130,000 digits
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return {"scale": -exponent, "value": unscaled.to_bytes(length, "big", signed=True)}


def _money(modifier: int, modes: Modes) -> ColumnType:
    if modes.decimal == "string":
        zero = str(Decimal(0).quantize(Decimal(1).scaleb(-modes.money_digits)))
        return ColumnType(schema.STRING, lambda value: str(text.money(value)), zero, literal=False)
    if modes.decimal == "double":
        return ColumnType(schema.FLOAT64, lambda value: float(text.money(value)), 0.0, literal=False)
    return replace(_decimal(modes.money_digits, text.money), literal=False)


def _bit(modifier: int, modes: Modes) -> ColumnType:
    if modifier == 1:
        return ColumnType(schema.BOOLEAN, lambda value: value == b"1", False)
    return _bits(modifier, modes)


def _bits(modifier: int, modes: Modes) -> ColumnType:
    length = str(modifier if modifier > 0 else 2**31 - 1)
    of = Schema(Type.BYTES, name="io.debezium.data.Bits", version=1, parameters={"length": length})
    return ColumnType(of, text.bits, b"")


def _named(of: Type, name: str) -> Schema:
    return Schema(of, name=f"io.debezium.time.{name}", version=1)


def _date(modifier: int, modes: Modes) -> ColumnType:
    if modes.time == "connect":
        return ColumnType(logical.DATE, text.as_date, text.as_date(b"1970-01-01"))
    return ColumnType(_named(Type.INT32, "Date"), text.days, 0)


def _time(modifier: int, modes: Modes) -> ColumnType:
    if modes.time == "connect":
        return ColumnType(logical.TIME, text.as_time, text.as_time(b"00:00:00"))
    if modes.time == "adaptive" and 0 <= modifier <= 3:
        return ColumnType(_named(Type.INT32, "Time"), text.millis_of_day, 0)
    return ColumnType(_named(Type.INT64, "MicroTime"), text.micros_of_day, 0)


def _timestamp(modifier: int, modes: Modes) -> ColumnType:
    if modes.time == "connect":
        epoch = text.as_datetime(b"1970-01-01 00:00:00")
        return ColumnType(logical.TIMESTAMP, text.as_datetime, epoch, default=epoch)
    if 0 <= modifier <= 3:
        return ColumnType(_named(Type.INT64, "Timestamp"), text.millis, 0, default=0)
    return ColumnType(_named(Type.INT64, "MicroTimestamp"), text.micros, 0, default=0)


def _timestamptz(modifier: int, modes: Modes) -> ColumnType:
    read = text.zoned_timestamp(6 if modifier == -1 else modifier)
    return ColumnType(
        _named(Type.STRING, "ZonedTimestamp"),
        read,
        "1970-01-01T00:00:00Z",
        default=read(b"1970-01-01 00:00:00+00"),
    )


def _interval(modifier: int, modes: Modes) -> ColumnType:
    if modes.interval == "string":
        return ColumnType(_named(Type.STRING, "Interval"), text.interval_iso, text.interval_iso(b"00:00:00"))
    return ColumnType(_named(Type.INT64, "MicroDuration"), text.interval_micros, 0)


def _hstore(modifier: int, modes: Modes) -> ColumnType:
    if modes.hstore == "map":
        of = Schema.map(schema.STRING, schema.OPTIONAL_STRING)
        return ColumnType(of, text.hstore, {}, {modes.placeholder: modes.placeholder}, literal=False)
    return ColumnType(_JSON, text.hstore_json, "{}", modes.placeholder, literal=False)


def _point(value: bytes) -> dict[str, Any]:
    x, y = text.point(value)
    return {"x": x, "y": y, "wkb": struct.pack("<BIdd", 1, 1, x, y), "srid": None}


_JSON: Final = Schema(Type.STRING, name="io.debezium.data.Json", version=1)
_ZERO_UUID: Final = "00000000-0000-0000-0000-000000000000"

#: Base types by the name that pg_type has for them.
_BY_NAME: Final[dict[str, Callable[[int, Modes], ColumnType]]] = {
    "bool": _plain(schema.BOOLEAN, text.boolean, False),
    "int2": _plain(schema.INT16, int, 0, default=0),
    "int4": _plain(schema.INT32, int, 0, default=0),
    "int8": _plain(schema.INT64, int, 0, default=0),
    "oid": _plain(schema.INT64, int, 0),
    "float4": _plain(schema.FLOAT32, float, 0.0),
    "float8": _plain(schema.FLOAT64, float, 0.0),
    "numeric": _numeric,
    "money": _money,
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "char", "citext"), _text()),
    **dict.fromkeys(
        ("inet", "cidr", "macaddr", "macaddr8", "int4range", "int8range", "numrange", "tsrange", "tstzrange"),
        _text(literal=False),
    ),
    "daterange": _text(literal=False),
    "bytea": lambda _, modes: _binary(modes, text.bytea),
    "bit": _bit,
    "varbit": _bits,
    "date": _date,
    "time": _time,
    "timetz": _plain(_named(Type.STRING, "ZonedTime"), text.zoned_time, "00:00:00Z"),
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "uuid": _text("io.debezium.data.Uuid", default=_ZERO_UUID),
    "json": _text("io.debezium.data.Json"),
    "jsonb": _text("io.debezium.data.Json"),
    "xml": _text("io.debezium.data.Xml"),
    "ltree": _text("io.debezium.data.Ltree"),
    "tsvector": _text("io.debezium.data.Tsvector"),
    "hstore": _hstore,
    "point": _plain(POINT, _point, _point(b"(0,0)"), literal=False),
}
