"""Events of the binary log on their bytes, of MySQL's too, and positions in it."""

from __future__ import annotations

import struct
import time
import zlib
from types import SimpleNamespace
from typing import Any

import pytest

from connect import ConnectError, DataError
from connectors.jdbc.mysql_capture import binlog, replication
from connectors.jdbc.mysql_capture.facts import ColumnFacts
from connectors.jdbc.mysql_capture.layout import fits, layout
from connectors.jdbc.mysql_capture.metadata import Metadata
from connectors.jdbc.mysql_capture.position import MariaGtids, MySqlGtids, Resume, snapshotting, stored, streamed


def event(kind: int, body: bytes, *, end: int = 500, at: int = 1_700_000_000, summed: bool = False) -> bytes:
    size = 19 + len(body) + (4 if summed else 0)
    raw = struct.pack("<IBIIIH", at, kind, 7, size, end, 0) + body
    return raw + zlib.crc32(raw).to_bytes(4, "little") if summed else raw


def description(checksums: bool) -> bytes:
    return event(binlog.FORMAT, b"\4\0" + b"8.4.0".ljust(50, b"\0") + bytes(40) + bytes([checksums]) + b"\0\0\0\0")


def test_checksums_are_those_that_the_file_has() -> None:
    parser = binlog.Parser()
    made_up = event(binlog.ROTATE, struct.pack("<Q", 4) + b"binlog.000007", summed=True, at=0)
    assert binlog.rotate(parser.parse(made_up).body) == ("binlog.000007", 4)
    parser.parse(description(True))
    found = parser.parse(event(binlog.XID, bytes(8), summed=True, end=531))
    assert (found.body, found.begin, found.end) == (bytes(8), 500, 531)
    damaged = bytearray(event(binlog.XID, bytes(8), summed=True))
    damaged[20] ^= 1
    with pytest.raises(DataError, match="checksum"):
        parser.parse(bytes(damaged))
    parser.parse(description(False))
    assert parser.parse(event(binlog.XID, bytes(8))).body == bytes(8)
    plain = event(binlog.ROTATE, struct.pack("<Q", 4) + b"binlog.000007", at=0)
    assert binlog.rotate(binlog.Parser().parse(plain).body) == ("binlog.000007", 4)


def statement(sql: bytes, kind: int = binlog.QUERY) -> binlog.Event:
    body = struct.pack("<IIBHH", 42, 0, 4, 0, 3) + b"xyz" + b"shop\0" + sql
    return binlog.Event(0, kind, 1, 0, 0, body)


def test_statements() -> None:
    found = binlog.query(statement("DROP TABLE größe".encode()))
    assert (found.thread, found.database, found.sql) == (42, "shop", "DROP TABLE größe")
    packed = b"\x82" + (10_000).to_bytes(2, "big") + zlib.compress(b"x" * 10_000)
    assert binlog.query(statement(packed, binlog.QUERY_COMPRESSED)).sql == "x" * 10_000
    with pytest.raises(DataError):
        binlog.uncompressed(b"\x92" + packed[1:])
    with pytest.raises(DataError):
        binlog.uncompressed(b"\x82\x00\x01" + packed[3:])


def test_gtids_of_events() -> None:
    maria = binlog.Event(0, binlog.MARIADB_GTID, 9, 0, 0, struct.pack("<QIB", 77, 3, 1))
    assert binlog.mariadb_gtid(maria) == ("3-9-77", False)
    sid = bytes.fromhex("3e11fa4771ca11e19e33c80aa9429562")
    assert binlog.mysql_gtid(b"\1" + sid + struct.pack("<Q", 23)) == "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"


def a_table_map(optional: bytes = b"") -> bytes:
    types = bytes([3, 15, 254, 246, 18, 16])
    metadata = struct.pack("<H", 80) + bytes([247, 1]) + bytes([9, 3]) + bytes([6]) + bytes([5, 0])
    return (
        (66).to_bytes(6, "little") + b"\1\0" + b"\4shop\0" + b"\4line\0" + bytes([len(types)]) + types
        + bytes([len(metadata)]) + metadata + bytes([0b111110]) + optional
    )  # fmt: skip


def lengths(*texts: bytes) -> bytes:
    return b"".join(bytes([len(text)]) + text for text in texts)


def test_a_table_map() -> None:
    found = binlog.table_map(a_table_map())
    assert (found.number, found.database, found.table) == (66, "shop", "line")
    assert found.nullable == (False, True, True, True, True, True)
    layouts = [layout(kind, metadata) for kind, metadata in zip(found.types, found.metadata, strict=True)]
    assert [(of.kind, of.size, of.prefix) for of in layouts] == [
        *((3, 4, 0), (15, 0, 1), (247, 1, 0), (246, 5, 0), (18, 8, 0), (16, 1, 0))
    ]
    assert not Metadata.whole(found)
    columns = [
        *(ColumnFacts("a", "int"), ColumnFacts("b", "varchar", 20), ColumnFacts("c", "enum", labels=("x",))),
        *(ColumnFacts("d", "decimal", 9, 3), ColumnFacts("e", "datetime", 6), ColumnFacts("f", "bit", 5)),
    ]
    assert all(map(fits, layouts, columns))
    others = [
        *(ColumnFacts("a", "bigint"), ColumnFacts("b", "varchar", 21), ColumnFacts("c", "set", labels=("x",))),
        *(ColumnFacts("d", "decimal", 9, 2), ColumnFacts("e", "datetime", 3), ColumnFacts("f", "bit", 6)),
    ]
    assert not any(map(fits, layouts, others))


def test_a_definition_from_the_log_alone() -> None:
    optional = b"".join(
        bytes([kind, len(data)]) + data
        for kind, data in {
            1: bytes([0b10000000]),  # of the numbers only the first is unsigned
            2: bytes([8]),  # latin1
            4: lengths(b"id", "wört".encode(), b"mood", b"price", b"at", b"flags"),
            6: bytes([2]) + lengths(b"sad", b"ok"),
            8: bytes([0]),
        }.items()
    )
    found = binlog.table_map(a_table_map(optional))
    layouts = [layout(kind, metadata) for kind, metadata in zip(found.types, found.metadata, strict=True)]
    metadata = Metadata()
    metadata._charsets = {8: "latin1", 45: "utf8mb4"}
    assert metadata.whole(found)
    table = metadata.facts(found, layouts, None)
    assert table.columns == (
        ColumnFacts("id", "int", unsigned=True, not_null=True),
        ColumnFacts("wört", "varchar", charset="latin1"),
        ColumnFacts("mood", "enum", labels=("sad", "ok"), charset="utf8mb4"),
        ColumnFacts("price", "decimal", 9, 3),
        ColumnFacts("at", "datetime", 6),
        ColumnFacts("flags", "bit", 5),
    )
    assert table.key == ("id",)


def test_rows_of_both_forms() -> None:
    first = (66).to_bytes(6, "little") + b"\1\0" + b"\3" + b"\7" + b"rows"
    found = binlog.rows(binlog.Event(0, 23, 1, 0, 0, first))
    assert (found.op, found.number, found.last, found.width, found.present) == ("c", 66, True, 3, 7)
    assert found.data[found.at :] == b"rows"
    second = (66).to_bytes(6, "little") + b"\1\0" + struct.pack("<H", 5) + b"abc" + b"\3" + b"\7\3" + b"rows"
    found = binlog.rows(binlog.Event(0, 31, 1, 0, 0, second))
    assert (found.op, found.present, found.present_after, found.data[found.at :]) == ("u", 7, 3, b"rows")
    packed = first[:-4] + b"\x81\x04" + zlib.compress(b"rows")
    found = binlog.rows(binlog.Event(0, 168, 1, 0, 0, packed))
    assert (found.op, found.data, found.at) == ("d", b"rows", 0)


@pytest.mark.parametrize(
    ("kind", "said"), [(binlog.TRANSACTION_PAYLOAD, "binlog_transaction_compression"), (binlog.PARTIAL_UPDATE, "JSON")]
)
def test_events_that_cannot_be_read_are_named(kind: int, said: str) -> None:
    with pytest.raises(ConnectError, match=said):
        binlog.refuse(kind)
    binlog.refuse(161)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (None, ("nothing", None)),
        ({"file": "b.1", "pos": 4, "snapshot": "INITIAL", "snapshot_completed": False}, ("snapshot", None)),
        ({"file": "b.1", "pos": 4, "snapshot": True}, ("snapshot", None)),
        (
            {"file": "b.1", "pos": 4, "snapshot": "INITIAL", "snapshot_completed": True},
            ("stream", Resume("b.1", 4)),
        ),
        (
            # As Debezium has stored it.
            {"ts_sec": 5, "file": "b.1", "pos": 43890, "gtids": "0-1-101", "row": 1, "server_id": 1, "event": 2},
            ("stream", Resume("b.1", 43890, 2, 1, "0-1-101")),
        ),
        ({"transaction_id": None, "file": "b.1", "pos": 4}, ("stream", Resume("b.1", 4))),
    ],
)
def test_stored_offsets(offset: dict[str, Any] | None, expected: tuple[str, Resume | None]) -> None:
    assert stored(offset) == expected


def test_an_offset_of_another_form_is_an_error() -> None:
    with pytest.raises(ConnectError, match="has no file and pos"):
        stored({"lsn": 5})


def test_offsets_are_read_as_they_are_written() -> None:
    resume = Resume("b.1", 99, 3, 7, "0-1-5")
    assert stored(streamed(resume, 1, 5)) == ("stream", resume)
    assert stored(snapshotting(resume, 5, "initial", True)) == ("stream", Resume("b.1", 99, gtids="0-1-5"))
    assert stored(snapshotting(resume, 5, "initial", False)) == ("snapshot", None)


def test_sets_of_gtids() -> None:
    maria = MariaGtids("0-1-5,\n10-2-7")
    maria.add("2-1-1")
    maria.add("0-3-6")
    assert str(maria) == "0-3-6,2-1-1,10-2-7"
    assert str(MariaGtids("")) == ""
    one, two = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
    mysql = MySqlGtids(f"{two}:1-5:8,\n{one}:3")
    for number in (9, 7, 6):
        mysql.add(f"{two}:{number}")
    mysql.add(f"{one}:4")
    mysql.add("5:1")
    assert str(mysql) == f"{one}:3-4,{two}:1-9,5:1"
    tagged = MySqlGtids(f"{two}:1-5:tag:1-2:4:other:7")
    tagged.add(f"{two}:6")
    assert str(tagged) == f"{two}:1-6,{two}:other:7,{two}:tag:1-2:4"


class _Socket:
    """A connection that gives these pieces, one at a time."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def settimeout(self, _: float) -> None:
        pass

    def recv(self, _: int) -> bytes:
        if not self._pieces:
            raise TimeoutError
        return self._pieces.pop(0)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 7, 1000])
def test_packets_come_whole_however_they_are_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "_MORE", 20)  # packets of this length are continued
    events = [bytes([number]) * length for number, length in enumerate((1, 5, 18, 19, 20, 39, 40, 100, 0, 7))]
    raw = b""
    for sent in events:
        payload = b"\0" + sent
        while len(payload) >= 20:
            raw += (20).to_bytes(3, "little") + b"\1" + payload[:20]
            payload = payload[20:]
        raw += len(payload).to_bytes(3, "little") + b"\1" + payload
    made = object.__new__(replication.ReplicationConnection)
    made._buffer, made._read, made._heard, made.closed, made._where = bytearray(), 0, time.monotonic(), False, "it"
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    made._connection = SimpleNamespace(_sock=_Socket(pieces))  # type: ignore[assignment]
    found = []
    while (received := made.receive()) is not None:
        found.append(received)
    assert found == events
