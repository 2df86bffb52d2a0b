"""Definitions of tables from the log alone: what binlog_row_metadata=FULL adds to a table map.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from connectors.jdbc.mysql_capture import layout as lies
from connectors.jdbc.mysql_capture import values
from connectors.jdbc.mysql_capture.binlog import TableMap, packed
from connectors.jdbc.mysql_capture.database import CapturedServer
from connectors.jdbc.mysql_capture.facts import ColumnFacts, TableFacts
from connectors.jdbc.mysql_capture.layout import Layout

(_SIGNS, _CHARSET, _CHARSETS, _NAMES, _SETS, _ENUMS, _SHAPES, _KEY, _KEY_PARTS, _LABELS, _LABELS_2) = range(1, 12)

_NUMERIC: Final = (
    lies.TINY,
    lies.SHORT,
    lies.INT24,
    lies.LONG,
    lies.LONGLONG,
    lies.FLOAT,
    lies.DOUBLE,
    lies.DECIMAL,
    lies.YEAR,
)
_TEXTUAL: Final = (lies.VARCHAR, lies.VARCHAR_COMPRESSED, lies.STRING, lies.BLOB, lies.BLOB_COMPRESSED)
_BASE: Final = {
    lies.TINY: "tinyint",
    lies.SHORT: "smallint",
    lies.INT24: "mediumint",
    lies.LONG: "int",
    lies.LONGLONG: "bigint",
    lies.FLOAT: "float",
    lies.DOUBLE: "double",
    lies.DECIMAL: "decimal",
    lies.BIT: "bit",
    lies.YEAR: "year",
    lies.DATE: "date",
    lies.TIME: "time",
    lies.TIME2: "time",
    lies.DATETIME: "datetime",
    lies.DATETIME2: "datetime",
    lies.TIMESTAMP: "timestamp",
    lies.TIMESTAMP2: "timestamp",
    lies.ENUM: "enum",
    lies.SET: "set",
    lies.JSON: "json",
    lies.GEOMETRY: "geometry",
}
_BINARY: Final = 63  # the collation of bytes
_UTF8: Final = 45


class Metadata:
    """Reads definitions. Collations are numbers in the log: the server says what they are called."""

    def __init__(self) -> None:
        self._server: CapturedServer | None = None
        self._charsets: dict[int, str] = {}

    def use(self, server: CapturedServer) -> None:
        """Ask this server."""
        self._server = server

    @staticmethod
    def whole(found: TableMap) -> bool:
        """Whether the table map names its columns."""
        return _NAMES in found.optional

    def facts(self, found: TableMap, layouts: list[Layout], known: TableFacts | None) -> TableFacts:
        """The definition that the log has; what it does not say comes from a known one, where that is of the same type.

        Args:
            known: what the catalog said of the table.
        """
        names = list(_texts(found.optional[_NAMES]))
        if known is not None and [column.name for column in known.columns] == names:
            made = self._columns(found, layouts, names)
            if all(map(_same, made, known.columns)):
                return known
        else:
            made = self._columns(found, layouts, names)
        by_name = {column.name: column for column in known.columns} if known is not None else {}
        columns = []
        for column, of in zip(made, layouts, strict=True):
            was = by_name.get(column.name)
            if was is not None and lies.fits(of, was) and _same(column, was):
                columns.append(replace(was, not_null=column.not_null))
            else:
                columns.append(column)
        key = tuple(names[place] for place in self._key(found))
        uniques = known.uniques if known is not None else ()
        uniques = tuple(each for each in uniques if set(each[1]) <= set(names))
        return TableFacts(found.database, found.table, tuple(columns), key, uniques)

    @staticmethod
    def _key(found: TableMap) -> Iterator[int]:
        if data := found.optional.get(_KEY):
            yield from _numbers(data)
        elif data := found.optional.get(_KEY_PARTS):
            yield from list(_numbers(data))[::2]  # each with the length of its prefix

    def _columns(self, found: TableMap, layouts: list[Layout], names: list[str]) -> list[ColumnFacts]:
        signs = _bits(found.optional.get(_SIGNS, b""))
        # MariaDB counts shapes among the texts.
        textual = (*_TEXTUAL, lies.GEOMETRY) if self._server is None or self._server.mariadb else _TEXTUAL
        collations = self._collations(found, layouts, textual, _CHARSET, _CHARSETS)
        label_collations = self._collations(found, layouts, (lies.ENUM, lies.SET), _LABELS, _LABELS_2)
        sets, enums = _lists(found.optional.get(_SETS, b"")), _lists(found.optional.get(_ENUMS, b""))
        shapes = _numbers(found.optional.get(_SHAPES, b""))
        columns = []
        for place, (of, name) in enumerate(zip(layouts, names, strict=True)):
            base = _BASE.get(of.kind, "")
            made = ColumnFacts(name, base, not_null=not found.nullable[place])
            if of.kind in _NUMERIC:
                made = replace(made, unsigned=next(signs, False))
            if of.kind == lies.DECIMAL:
                made = replace(made, length=of.detail >> 8, scale=of.detail & 0xFF)
            elif of.kind in (lies.BIT, lies.TIME2, lies.DATETIME2, lies.TIMESTAMP2):
                made = replace(made, length=of.detail or None)
            elif of.kind in (lies.ENUM, lies.SET):
                charset = self._charset(label_collations.get(place, _UTF8))
                labels = next(enums if of.kind == lies.ENUM else sets, [])
                made = replace(made, labels=tuple(map(_reader(charset), labels)), charset=charset)
            elif of.kind == lies.GEOMETRY:
                number = next(shapes, 0)
                made = replace(made, base=lies.SHAPES[number] if number < len(lies.SHAPES) else "geometry")
            elif of.kind in _TEXTUAL:
                made = self._text(made, of, collations.get(place, _BINARY))
            columns.append(made)
        return columns

    def _text(self, made: ColumnFacts, of: Layout, collation: int) -> ColumnFacts:
        size = {1: "tiny", 2: "", 3: "medium", 4: "long"}.get(of.prefix, "")
        blob = of.kind in (lies.BLOB, lies.BLOB_COMPRESSED)
        if collation == _BINARY:
            if blob:
                return replace(made, base=f"{size}blob")
            return replace(made, base="binary" if of.kind == lies.STRING else "varbinary", length=of.detail)
        base = f"{size}text" if blob else "char" if of.kind == lies.STRING else "varchar"
        return replace(made, base=base, charset=self._charset(collation))

    def _collations(
        self, found: TableMap, layouts: list[Layout], kinds: tuple[int, ...], default: int, every: int
    ) -> dict[int, int]:
        """The collations of columns of some kinds, by their places."""
        places = [place for place, of in enumerate(layouts) if of.kind in kinds]
        if data := found.optional.get(every):
            return dict(zip(places, _numbers(data), strict=False))
        numbers = list(_numbers(found.optional.get(default, b"")))
        if not numbers:
            return {}
        by_number = dict(zip(numbers[1::2], numbers[2::2], strict=False))
        return {place: by_number.get(number, numbers[0]) for number, place in enumerate(places)}

    def _charset(self, collation: int) -> str:
        if not self._charsets and self._server is not None:
            self._charsets = self._server.collations()
        return self._charsets.get(collation, "utf8mb4")


def _same(one: ColumnFacts, other: ColumnFacts) -> bool:
    """Whether rows are read alike."""
    if (one.unsigned, one.labels, one.not_null) != (other.unsigned, other.labels, other.not_null):
        return False
    if other.base in ("uuid", "inet4", "inet6"):
        return one.base == "binary"
    if one.base != other.base or one.charset != other.charset:
        return False
    return one.base != "decimal" or one.precision == other.precision


def _numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = packed(data, at)
        yield number


def _texts(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        length, at = packed(data, at)
        yield data[at : at + length].decode()
        at += length


def _reader(charset: str) -> Callable[[bytes], str]:
    try:
        return values.text(charset)
    except LookupError:
        return lambda raw: raw.decode(errors="replace")


def _lists(data: bytes) -> Iterator[list[bytes]]:
    at = 0
    while at < len(data):
        count, at = packed(data, at)
        found = []
        for _ in range(count):
            length, at = packed(data, at)
            found.append(data[at : at + length])
            at += length
        yield found


def _bits(data: bytes) -> Iterator[bool]:
    for byte in data:
        for place in range(7, -1, -1):
            yield bool(byte >> place & 1)
