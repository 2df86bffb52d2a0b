"""The messages of pgoutput, version 1 of its protocol.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from connect import DataError

_BEGIN: Final = Struct("!xQqI").unpack_from
_COMMIT: Final = Struct("!xBQQq").unpack_from
_OID: Final = Struct("!I").unpack_from
_COUNT: Final = Struct("!H").unpack_from
_COLUMN: Final = Struct("!Ii").unpack_from
_LENGTH: Final = Struct("!I").unpack_from
_EPOCH_2000: Final = 946_684_800_000_000

SAME: Final = ord("u")
#: The row after a change; what stands before it is the row before, or its key alone.
NEW: Final = ord("N")


class Unchanged:
    """Stands for a large value that a change did not touch, and that the server therefore does not send."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()

#: The values of a row in their text form.
Row = list[bytes | None]


class Begin(NamedTuple):
    """A transaction begins. `final` is where its commit is, `at` when, in microseconds since 1970."""

    final: int
    at: int
    xid: int


class Commit(NamedTuple):
    """It ends. `end` is the position behind its commit."""

    lsn: int
    end: int
    at: int


class RelationColumn(NamedTuple):
    """A column of a relation message. `key`: part of the replica identity."""

    name: str
    type_oid: int
    modifier: int
    key: bool


class Relation(NamedTuple):
    """A table's definition from here on."""

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[RelationColumn, ...]


def begin(data: memoryview) -> Begin:
    """Of a message B."""
    final, at, xid = _BEGIN(data)
    return Begin(final, at + _EPOCH_2000, xid)


def commit(data: memoryview) -> Commit:
    """Of a message C."""
    _, lsn, end, at = _COMMIT(data)
    return Commit(lsn, end, at + _EPOCH_2000)


def relation(data: memoryview) -> Relation:
    """Of a message R."""
    raw = bytes(data)
    (oid,) = _OID(raw, 1)
    schema, at = _string(raw, 5)
    table, at = _string(raw, at)
    identity = chr(raw[at])
    (count,) = _COUNT(raw, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        key = bool(raw[at] & 1)
        name, at = _string(raw, at + 1)
        type_oid, modifier = _COLUMN(raw, at)
        at += 8
        columns.append(RelationColumn(name, type_oid, modifier, key))
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def truncated(data: memoryview) -> list[int]:
    """The oids of the tables that a truncate message empties."""
    (count,) = _OID(data, 1)
    return [_OID(data, 6 + 4 * number)[0] for number in range(count)]


def row(data: bytes, at: int) -> tuple[Row, int, bool]:
    """The tuple that begins here: its values, where it ends, and whether one of them is UNCHANGED."""
    (count,) = _COUNT(data, at)
    at += 2
    values: list[bytes | None] = []
    append = values.append
    toast = False
    length = _LENGTH
    for _ in range(count):
        kind = data[at]
        if kind == 116:  # TEXT, spelled out: this is the hottest loop of all
            start = at + 5
            at = start + length(data, at + 1)[0]
            append(data[start:at])
        elif kind == 110:  # NULL
            append(None)
            at += 1
        elif kind == SAME:
            append(UNCHANGED)  # type: ignore[arg-type]  # whoever asks `toast` knows
            toast = True
            at += 1
        else:
            raise DataError(f"pgoutput sent a value of the unknown kind {chr(kind)!r}.")
    return values, at, toast


def _string(raw: bytes, at: int) -> tuple[str, int]:
    end = raw.index(0, at)
    return raw[at:end].decode(), end + 1
