"""Columns of MySQL and MariaDB as fields of records: schema, writer, and what stands for missing values.

The schemas are Debezium's, so that consumers of its topics can read these.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final

from connect import Schema, Type, logical, schema
from connect.data.times import EPOCH
from connectors.jdbc.changes.forms import BYTES_WRITTEN, POINT
from connectors.jdbc.mysql_capture import times, values
from connectors.jdbc.mysql_capture.facts import ColumnFacts
from connectors.jdbc.mysql_capture.values import Reader

_GEOMETRY: Final = Schema.struct(
    {"wkb": schema.BYTES, "srid": schema.OPTIONAL_INT32},
    name="io.debezium.data.geometry.Geometry",
    version=1,
    doc="Geometry",
)


@dataclass(frozen=True, slots=True)
class Modes:
    """How values are to be written; see the keys of these names. `adjusted`: years of two digits become four."""

    decimal: str
    time: str
    binary: str
    bigint: str
    adjusted: bool


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How a column's values are converted.

    Attributes:
        schema: not optional.
        text: reads the text of a query's answer, or of a default.
        write: makes the value of what a reader gave, see `values`; None for the same.
        fallback: replaces what cannot be, such as a date of zeros, where null may not be.
        default: a default that Debezium gives a column whose default is the time; None for none.
        literal: whether a constant default becomes one of the field.
    """

    schema: Schema
    text: Reader
    write: Callable[[Any], Any] | None
    fallback: Any
    default: Any = None
    literal: bool = True

    def read(self, reader: Reader) -> Reader:
        """A reader of one of the two forms, with what is made of its values."""
        write = self.write
        if write is None:
            return reader

        def read(raw: bytes) -> Any:
            value = reader(raw)
            return None if value is None else write(value)

        return read


def column_type(facts: ColumnFacts, modes: Modes) -> ColumnType | None:
    """Of a column's type; None for one that is left out."""
    make = _BY_BASE.get(facts.base)
    return None if make is None else make(facts, modes)


_Make = Callable[[ColumnFacts, Modes], ColumnType]


def _named(of: Type, name: str, **parameters: str) -> Schema:
    return Schema(of, name=f"io.debezium.{name}", version=1, parameters=parameters or None)


def _int(signed: Schema, unsigned: Schema) -> _Make:
    of_signed = ColumnType(signed, int, None, 0)
    of_unsigned = ColumnType(unsigned, int, None, 0)
    return lambda facts, _: of_unsigned if facts.unsigned else of_signed


def _bigint(facts: ColumnFacts, modes: Modes) -> ColumnType:
    if not facts.unsigned:
        return ColumnType(schema.INT64, int, None, 0)
    if modes.bigint == "precise":
        parameters = {"scale": "0", "connect.decimal.precision": "20"}
        of = Schema(Type.BYTES, name=logical.DECIMAL_NAME, version=1, parameters=parameters)
        return ColumnType(of, int, Decimal, Decimal(0))
    return ColumnType(schema.INT64, int, _wrap, 0)


def _wrap(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _decimal(facts: ColumnFacts, modes: Modes) -> ColumnType:
    precision, scale = facts.precision
    zero = Decimal((0, (0,), -scale))
    if modes.decimal == "double":
        return ColumnType(schema.FLOAT64, values.decimal_text, float, 0.0)
    step = Decimal((0, (1,), -scale))

    def exact(raw: bytes) -> Decimal:
        # The text of a default may have fewer digits than its column, or more.
        number = Decimal(raw.decode())
        return number if number.as_tuple().exponent == -scale else number.quantize(step, context=_WIDE)

    if modes.decimal == "string":
        return ColumnType(schema.STRING, exact, _plain, _plain(zero))
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    of = Schema(Type.BYTES, name=logical.DECIMAL_NAME, version=1, parameters=parameters)
    return ColumnType(of, exact, None, zero)


def _plain(number: Decimal) -> str:
    return format(number, "f")


_WIDE: Final = Context(prec=80)


def _float(facts: ColumnFacts, modes: Modes) -> ColumnType:
    # A float with a number of digits is one of eight bytes in records.
    if facts.base == "float" and facts.scale is None:
        return ColumnType(schema.FLOAT32, float, None, 0.0)
    return ColumnType(schema.FLOAT64, _single_text if facts.base == "float" else float, None, 0.0)


def _single_text(raw: bytes) -> float:
    return values.single(struct.pack("<f", float(raw)))


def _bit(facts: ColumnFacts, modes: Modes) -> ColumnType:
    length = facts.length or 1
    if length == 1:
        return ColumnType(schema.BOOLEAN, values.big, bool, False)
    size = (length + 7) // 8
    of = _named(Type.BYTES, "data.Bits", length=str(length))
    return ColumnType(of, values.big, lambda number: number.to_bytes(size, "little"), bytes(size))


def _date(facts: ColumnFacts, modes: Modes) -> ColumnType:
    text = times.date_text(modes.adjusted)
    if modes.time == "connect":
        return ColumnType(logical.DATE, text, lambda days: EPOCH.date() + dt.timedelta(days), EPOCH.date())
    return ColumnType(_named(Type.INT32, "time.Date"), text, None, 0)


def _time(facts: ColumnFacts, modes: Modes) -> ColumnType:
    if modes.time == "connect":
        return ColumnType(logical.TIME, times.time_text, _time_of_day, dt.time())
    return ColumnType(_named(Type.INT64, "time.MicroTime"), times.time_text, None, 0)


def _time_of_day(micros: int) -> dt.time | None:
    seconds, fraction = divmod(micros, 1_000_000)
    if not 0 <= seconds < 86_400:
        return None
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction // 1000 * 1000)


def _datetime(facts: ColumnFacts, modes: Modes) -> ColumnType:
    text = times.datetime_text(modes.adjusted)
    if modes.time == "connect":
        return ColumnType(
            logical.TIMESTAMP,
            text,
            lambda micros: EPOCH + dt.timedelta(milliseconds=micros // 1000),
            EPOCH,
            default=EPOCH,
        )
    if (facts.length or 0) <= 3:
        of = _named(Type.INT64, "time.Timestamp")
        return ColumnType(of, text, lambda micros: micros // 1000, 0, default=0)
    return ColumnType(_named(Type.INT64, "time.MicroTimestamp"), text, None, 0, default=0)


def _timestamp(facts: ColumnFacts, modes: Modes) -> ColumnType:
    write = times.zoned(facts.length or 0)
    of = _named(Type.STRING, "time.ZonedTimestamp")
    text = times.datetime_text(False)  # sessions are in UTC, and a timestamp has a year of four digits
    return ColumnType(of, text, write, "1970-01-01T00:00:00Z", default="1970-01-01T00:00:00Z")


def _year(facts: ColumnFacts, modes: Modes) -> ColumnType:
    return ColumnType(_named(Type.INT32, "time.Year"), int, None, 0)


def _text(name: str | None = None, **more: Any) -> _Make:
    made = ColumnType(schema.STRING if name is None else _named(Type.STRING, name), values.utf8, None, "", **more)
    return lambda _, __: made


def _json(facts: ColumnFacts, modes: Modes) -> ColumnType:
    return ColumnType(_named(Type.STRING, "data.Json"), values.utf8, None, "{}", literal=False)


def _labels(name: str) -> _Make:
    def make(facts: ColumnFacts, modes: Modes) -> ColumnType:
        allowed = ",".join(label.replace(",", "\\,") for label in facts.labels)
        return ColumnType(_named(Type.STRING, name, allowed=allowed), values.utf8, None, "")

    return make


def _binary(facts: ColumnFacts, modes: Modes) -> ColumnType:
    text = values.padded(facts.length or 1) if facts.base == "binary" else values.as_is
    write = BYTES_WRITTEN[modes.binary]
    if write is None:
        return ColumnType(schema.BYTES, text, None, b"")
    return ColumnType(schema.STRING, text, write, "")


def _geometry(facts: ColumnFacts, modes: Modes) -> ColumnType:
    return ColumnType(_GEOMETRY, values.as_is, _shape, {"wkb": b"", "srid": None}, literal=False)


def _shape(raw: bytes) -> dict[str, Any]:
    return {"wkb": raw[4:], "srid": int.from_bytes(raw[:4], "little") or None}


def _point(facts: ColumnFacts, modes: Modes) -> ColumnType:
    return ColumnType(POINT, values.as_is, _place, {"x": 0.0, "y": 0.0, "wkb": None, "srid": None}, literal=False)


def _place(raw: bytes) -> dict[str, Any]:
    x, y = struct.unpack("<dd" if raw[4] else ">dd", raw[9:25])
    return {"x": x, "y": y, **_shape(raw)}


#: By the name that information_schema has for them.
_BY_BASE: Final[dict[str, _Make]] = {
    "tinyint": _int(schema.INT16, schema.INT16),
    "smallint": _int(schema.INT16, schema.INT32),
    "mediumint": _int(schema.INT32, schema.INT32),
    "int": _int(schema.INT32, schema.INT64),
    "bigint": _bigint,
    "decimal": _decimal,
    "float": _float,
    "double": _float,
    "bit": _bit,
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "year": _year,
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), _text()),
    **dict.fromkeys(("uuid", "inet4", "inet6"), _text()),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _binary),
    "enum": _labels("data.Enum"),
    "set": _labels("data.EnumSet"),
    "json": _json,
    "point": _point,
    **dict.fromkeys(
        ("geometry", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"),
        _geometry,
    ),
}
