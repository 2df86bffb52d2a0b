"""Events of the binary log: headers, and the bodies that matter to change capture.

Rows stay bytes here, see `connectors.jdbc.mysql_capture.tables`.

https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Binary__log__event.html
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from connect import ConnectError, DataError

QUERY: Final = 2
STOP: Final = 3
ROTATE: Final = 4
FORMAT: Final = 15
XID: Final = 16
TABLE_MAP: Final = 19
INCIDENT: Final = 26
HEARTBEAT: Final = 27
GTID: Final = 33
XA_PREPARE: Final = 38
PARTIAL_UPDATE: Final = 39
TRANSACTION_PAYLOAD: Final = 40
HEARTBEAT_2: Final = 41
MARIADB_GTID: Final = 162
QUERY_COMPRESSED: Final = 165
_PREVIOUS_GTIDS: Final = 35

#: Events of rows: the operation, whether they have the second form of header, whether rows are compressed.
ROWS: Final = {
    23: ("c", False, False),
    24: ("u", False, False),
    25: ("d", False, False),
    30: ("c", True, False),
    31: ("u", True, False),
    32: ("d", True, False),
    166: ("c", False, True),
    167: ("u", False, True),
    168: ("d", False, True),
    169: ("c", True, True),
    170: ("u", True, True),
    171: ("d", True, True),
}
_HEADER: Final = struct.Struct("<IBIIIH")
HEADER_LENGTH: Final = 19


@dataclass(slots=True)
class Event:
    """One event.

    Attributes:
        at: when it was written, in seconds since 1970.
        kind: its number.
        server_id: of the server where it began.
        end: the position behind it in its file; 0 for one that the server made for this connection alone.
        begin: where it begins, likewise.
        body: without header and checksum.
    """

    at: int
    kind: int
    server_id: int
    end: int
    begin: int
    body: bytes


class Parser:
    """Parses events, of one connection. A file says of itself whether its events have checksums."""

    def __init__(self) -> None:
        self._checksums: bool | None = None  # None before that is known

    def parse(self, data: bytes) -> Event:
        """Raises DataError: the checksum is another one."""
        at, kind, server_id, size, end, _ = _HEADER.unpack_from(data)
        if kind == FORMAT:
            # The last bytes are the algorithm and a checksum; servers older than these two know neither.
            self._checksums = data[-5] == 1
            body = data[HEADER_LENGTH:-5]
        elif self._checksums is None:
            # What comes before the first file began: made up by the server, whose name of a file is all that matters.
            summed = len(data) > HEADER_LENGTH + 4 and zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
            body = data[HEADER_LENGTH:-4] if summed else data[HEADER_LENGTH:]
        elif self._checksums:
            if zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
                raise DataError(f"An event of the binary log (kind {kind}, before {end}) does not match its checksum.")
            body = data[HEADER_LENGTH:-4]
        else:
            body = data[HEADER_LENGTH:]
        return Event(at, kind, server_id, end, max(end - size, 0), body)


def rotate(body: bytes) -> tuple[str, int]:
    """The next file, and the position in it."""
    return body[8:].decode(), int.from_bytes(body[:8], "little")


@dataclass(slots=True)
class Query:
    """A statement.

    Attributes:
        database: the session's default one; may be empty.
        thread: the session's number.
        error: with which it ended; 0 for none.
    """

    thread: int
    database: str
    error: int
    sql: str


def query(event: Event) -> Query:
    """A statement, compressed or not."""
    body = event.body
    thread, _, length, error, variables = struct.unpack_from("<IIBHH", body)
    at = 13 + variables
    database, text = body[at : at + length], body[at + length + 1 :]
    if event.kind == QUERY_COMPRESSED:
        text = uncompressed(text)
    return Query(thread, database.decode(errors="replace"), error, text.decode(errors="replace"))


def uncompressed(data: bytes) -> bytes:
    """What MariaDB's log_bin_compress packed: a byte about its length, the length, and a stream of zlib.

    Raises:
        DataError: it is packed in another way.
    """
    head = data[0]
    if head & 0xF0 != 0x80:
        raise DataError(f"An event of the binary log is compressed in a way that is not known ({head:#x}).")
    width = head & 0x07
    size = int.from_bytes(data[1 : 1 + width], "big")
    found = zlib.decompress(data[1 + width :], bufsize=max(size, 1))
    if len(found) != size:
        raise DataError("An event of the binary log has another length than it says.")
    return found


def incident(body: bytes) -> str:
    """What the server says about changes that it could not write into its log."""
    return body[3 : 3 + body[2]].decode(errors="replace") if len(body) > 2 else ""


def mariadb_gtid(event: Event) -> tuple[str, bool]:
    """`domain-server-number` of a transaction that begins, and whether a COMMIT ends it; one statement stands alone."""
    number, domain, flags = struct.unpack_from("<QIB", event.body)
    return f"{domain}-{event.server_id}-{number}", not flags & 1


def mysql_gtid(body: bytes) -> str:
    """`uuid:number` of a transaction that begins."""
    sid = body[1:17].hex()
    uuid = "-".join((sid[:8], sid[8:12], sid[12:16], sid[16:20], sid[20:]))
    return f"{uuid}:{int.from_bytes(body[17:25], 'little')}"


@dataclass(frozen=True, slots=True)
class TableMap:
    """What the log says of a table before rows of it.

    Attributes:
        number: what events of rows call the table.
        types: of its columns, numbers of the protocol.
        metadata: of each column, depending on its type: see `column_metadata`.
        nullable: of each column.
        optional: what may be added, by its number: names, signs, labels and so on (binlog_row_metadata).
    """

    number: int
    database: str
    table: str
    types: bytes
    metadata: tuple[int, ...]
    nullable: tuple[bool, ...]
    optional: dict[int, bytes]


#: How many bytes of metadata a type has; others have none.
_METADATA: Final = {
    **dict.fromkeys((4, 5, 245, 252, 255, 17, 18, 19, 140, 242), 1),
    **dict.fromkeys((15, 16, 246, 247, 248, 253, 254, 141), 2),
}
#: Those whose two bytes are in the order of reading.
_BIG: Final = frozenset((246, 247, 248, 254))


def table_map(body: bytes) -> TableMap:
    """The content of a table map event."""
    number = int.from_bytes(body[:6], "little")
    at = 8
    length = body[at]
    database = body[at + 1 : at + 1 + length].decode()
    at += length + 2
    length = body[at]
    table = body[at + 1 : at + 1 + length].decode()
    at += length + 2
    count, at = packed(body, at)
    types = body[at : at + count]
    at += count
    size, at = packed(body, at)
    end = at + size
    metadata = []
    for kind in types:
        width = _METADATA.get(kind, 0)
        metadata.append(int.from_bytes(body[at : at + width], "big" if kind in _BIG else "little"))
        at += width
    at = end
    bits = int.from_bytes(body[at : at + (count + 7) // 8], "little")
    at += (count + 7) // 8
    optional = {}
    while at < len(body):
        kind = body[at]
        length, at = packed(body, at + 1)
        optional[kind] = body[at : at + length]
        at += length
    nullable = tuple(bool(bits >> place & 1) for place in range(count))
    return TableMap(number, database, table, types, tuple(metadata), nullable, optional)


@dataclass(slots=True)
class Rows:
    """Rows of one table that one event has.

    Attributes:
        op: c, u or d.
        number: the table's, see `TableMap`.
        last: whether the statement ends here.
        width: the number of columns.
        present: which columns the rows have, as bits from the first on; of an update the row before.
        present_after: the same of the row after.
        data: the rows, one behind the other.
        at: where in them the first begins.
    """

    op: str
    number: int
    last: bool
    width: int
    present: int
    present_after: int
    data: bytes
    at: int


def rows(event: Event) -> Rows:
    """The content of an event of rows, its rows still packed."""
    op, second, packed_rows = ROWS[event.kind]
    body = event.body
    number, flags = int.from_bytes(body[:6], "little"), int.from_bytes(body[6:8], "little")
    at = 8
    if second:
        at += int.from_bytes(body[8:10], "little")
    width, at = packed(body, at)
    size = (width + 7) // 8
    present = int.from_bytes(body[at : at + size], "little")
    at += size
    after = present
    if op == "u":
        after = int.from_bytes(body[at : at + size], "little")
        at += size
    if packed_rows:
        body, at = uncompressed(body[at:]), 0
    return Rows(op, number, bool(flags & 1), width, present, after, body, at)


def packed(data: bytes, at: int) -> tuple[int, int]:
    """A number of the protocol's own length, and the place behind it."""
    first = data[at]
    if first < 251:
        return first, at + 1
    width = {252: 2, 253: 3, 254: 8}.get(first)
    if width is None:
        raise DataError("The binary log has a length that is none.")
    return int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width


def refuse(kind: int) -> None:
    """Raises ConnectError for an event that cannot be read here."""
    if kind == TRANSACTION_PAYLOAD:
        raise ConnectError(
            "The binary log has compressed transactions, which are not supported. Set "
            "binlog_transaction_compression=OFF."
        )
    if kind == PARTIAL_UPDATE:
        raise ConnectError(
            "The binary log has parts of JSON columns, which are not supported. Set binlog_row_value_options=''."
        )
