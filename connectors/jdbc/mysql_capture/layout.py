"""How rows lie in the log: how many bytes each column has there, and how they are read.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
"""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Callable
from typing import Final, NamedTuple

from connect import ConnectError
from connectors.jdbc.mysql_capture import json_binary, times, types, values
from connectors.jdbc.mysql_capture.facts import ColumnFacts
from connectors.jdbc.mysql_capture.values import Reader

(TINY, SHORT, LONG, FLOAT, DOUBLE, TIMESTAMP, LONGLONG, INT24) = (1, 2, 3, 4, 5, 7, 8, 9)
(DATE, TIME, DATETIME, YEAR, VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2) = (10, 11, 12, 13, 15, 16, 17, 18, 19)
(BLOB_COMPRESSED, VARCHAR_COMPRESSED, JSON, DECIMAL, ENUM, SET) = (140, 141, 245, 246, 247, 248)
(BLOB, STRING, GEOMETRY) = (252, 254, 255)


class Layout(NamedTuple):
    """Where a column's bytes are.

    Attributes:
        kind: the type, with that of an ENUM or SET, which the log calls a string.
        size: how many bytes it has; 0 where these are preceded by their number.
        prefix: how many bytes that number has.
        detail: the type's metadata: digits of a decimal or a fraction, the length of a text, bits.
    """

    kind: int
    size: int
    prefix: int
    detail: int


_FIXED: Final = {TINY: 1, SHORT: 2, INT24: 3, LONG: 4, LONGLONG: 8, FLOAT: 4, DOUBLE: 8, YEAR: 1, DATE: 3, TIME: 3}
_OLD: Final = {TIMESTAMP: 4, DATETIME: 8}
_FRACTIONS: Final = {TIMESTAMP2: 4, DATETIME2: 5, TIME2: 3}


def layout(kind: int, metadata: int) -> Layout:
    """Of a type and its metadata in a table map. Raises ConnectError: it is not known."""
    if size := _FIXED.get(kind) or _OLD.get(kind):
        return Layout(kind, size, 0, metadata)
    if (size := _FRACTIONS.get(kind)) is not None:
        return Layout(kind, size + (metadata + 1) // 2, 0, metadata)
    if kind == DECIMAL:
        return Layout(kind, values.decimal_size(metadata >> 8, metadata & 0xFF), 0, metadata)
    if kind in (VARCHAR, VARCHAR_COMPRESSED, 253):
        return Layout(VARCHAR if kind == 253 else kind, 0, 1 if metadata < 256 else 2, metadata)
    if kind in (BLOB, BLOB_COMPRESSED, JSON, GEOMETRY, 242):
        return Layout(kind, 0, metadata, metadata)
    if kind == BIT:
        bits = (metadata >> 8) * 8 + (metadata & 0xFF)
        return Layout(kind, (bits + 7) // 8, 0, bits)
    if kind in (STRING, ENUM, SET):
        real, length = metadata >> 8, metadata & 0xFF
        if real in (ENUM, SET):
            return Layout(real, length, 0, length)
        # Two bits of the length are hidden in the type.
        length |= (real & 0x30 ^ 0x30) << 4
        return Layout(STRING, 0, 1 if length < 256 else 2, length)
    raise ConnectError(f"The binary log has a column of a type that is not known ({kind}).")


SHAPES: Final = (
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    "geometrycollection",
)
#: Which types of the log a type of a column can have; others, which are not captured, have any.
_BASES: Final[dict[str, tuple[int, ...]]] = {
    "tinyint": (TINY,),
    "smallint": (SHORT,),
    "mediumint": (INT24,),
    "int": (LONG,),
    "bigint": (LONGLONG,),
    "float": (FLOAT,),
    "double": (DOUBLE,),
    "decimal": (DECIMAL,),
    "bit": (BIT,),
    "year": (YEAR,),
    "date": (DATE,),
    "time": (TIME, TIME2),
    "datetime": (DATETIME, DATETIME2),
    "timestamp": (TIMESTAMP, TIMESTAMP2),
    "enum": (ENUM,),
    "set": (SET,),
    "json": (JSON,),
    **dict.fromkeys(SHAPES, (GEOMETRY,)),
    **dict.fromkeys(("char", "binary", "uuid", "inet4", "inet6"), (STRING,)),
    **dict.fromkeys(("varchar", "varbinary"), (VARCHAR, VARCHAR_COMPRESSED)),
    **dict.fromkeys(
        ("tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"),
        (BLOB, BLOB_COMPRESSED),
    ),
}


def fits(of: Layout, facts: ColumnFacts) -> bool:
    """Whether a column of this definition lies like that."""
    kinds = _BASES.get(facts.base)
    if kinds is not None and of.kind not in kinds:
        return False
    if facts.base == "decimal":
        precision, scale = facts.precision
        return of.detail == precision << 8 | scale
    if of.kind in _FRACTIONS:
        return of.detail == (facts.length or 0)
    if of.kind == BIT:
        return of.detail == (facts.length or 1)
    if of.kind == ENUM:
        return of.size == (1 if len(facts.labels) < 256 else 2)
    if facts.base in ("binary", "varbinary"):
        return of.detail == (facts.length if facts.length is not None else 1)
    if facts.base in ("char", "varchar") and facts.length:
        return (of.detail - (of.kind == VARCHAR_COMPRESSED)) % facts.length == 0
    if of.kind == BLOB and facts.length is None:  # else it is the smallest type that has room for so much
        return of.prefix == {"t": 1, "m": 3, "l": 4}.get(facts.base[0] if facts.base not in ("text", "blob") else "", 2)
    return True


def reader(of: Layout, facts: ColumnFacts, modes: types.Modes) -> Reader:
    """Reads the bytes of a column of the log; see `values` for what comes out.

    Raises:
        ConnectError: there is no reader.
    """
    if of.kind in (TINY, SHORT, INT24, LONG, LONGLONG):
        return values.unsigned if facts.unsigned else values.integer
    if facts.base in _ADDRESSES and of.kind == STRING:
        return _ADDRESSES[facts.base]
    if of.kind in _PLAIN:
        return _PLAIN[of.kind]
    if of.kind in (VARCHAR, VARCHAR_COMPRESSED, STRING, BLOB, BLOB_COMPRESSED):
        return _text(of, facts)
    make = _MADE.get(of.kind)
    if make is None:
        raise ConnectError(f"The binary log has a column of a type that cannot be read ({of.kind}, {facts.base}).")
    return make(of, facts, modes)


_PLAIN: Final[dict[int, Reader]] = {
    FLOAT: values.single,
    DOUBLE: values.double,
    YEAR: values.year,
    BIT: values.big,
    TIME: times.time_old,
    TIMESTAMP: times.timestamp_old,
    JSON: json_binary.text,
    GEOMETRY: values.as_is,
}
_MADE: Final[dict[int, Callable[[Layout, ColumnFacts, types.Modes], Reader]]] = {
    DECIMAL: lambda of, _, __: values.decimal(of.detail >> 8, of.detail & 0xFF),
    DATE: lambda _, __, modes: times.date(modes.adjusted),
    DATETIME: lambda _, __, modes: times.datetime_old(modes.adjusted),
    DATETIME2: lambda of, _, modes: times.datetime(of.detail, modes.adjusted),
    TIMESTAMP2: lambda of, _, __: times.timestamp(of.detail),
    TIME2: lambda of, _, __: times.time(of.detail),
    ENUM: lambda _, facts, __: values.enum(facts.labels),
    SET: lambda _, facts, __: values.members(facts.labels),
}


def _text(of: Layout, facts: ColumnFacts) -> Reader:
    read: Reader
    if facts.charset is not None:
        try:
            read = values.text(facts.charset)
        except LookupError:
            raise ConnectError(
                f"The column {facts.name} has the character set {facts.charset}, which cannot be read from the binary "
                "log. Leave the column out (column.exclude.list), or convert it."
            ) from None
    else:
        read = values.padded(of.detail) if facts.base == "binary" else values.as_is
    if of.kind in (VARCHAR_COMPRESSED, BLOB_COMPRESSED):
        return lambda raw: read(values.unpacked(raw))
    return read


_ADDRESSES: Final[dict[str, Reader]] = {
    "uuid": lambda raw: str(uuid.UUID(bytes=raw.ljust(16, b"\0"))),
    "inet4": lambda raw: str(ipaddress.IPv4Address(raw.ljust(4, b"\0"))),
    "inet6": lambda raw: _inet6(raw.ljust(16, b"\0")),
}


def _inet6(raw: bytes) -> str:
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return f"::ffff:{ipaddress.IPv4Address(raw[12:])}"
    return str(ipaddress.IPv6Address(raw))
