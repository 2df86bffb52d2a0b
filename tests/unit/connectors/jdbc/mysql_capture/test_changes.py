"""What the stream makes of events of the log: transactions, and what cannot be captured."""

from __future__ import annotations

import logging
import struct
from typing import Any, cast

import pytest

from connect import DataError
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.incremental import IncrementalSnapshot
from connectors.jdbc.mysql_capture import binlog
from connectors.jdbc.mysql_capture.catalog import Tables
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.origin import Source
from connectors.jdbc.mysql_capture.position import Resume
from connectors.jdbc.mysql_capture.replication import PositionLost
from connectors.jdbc.mysql_capture.stream import Changes

_KEYS = {"database.hostname": "db", "database.user": "me", "database.server.id": "7", "topic.prefix": "shop"}
_SID = bytes.fromhex("3e11fa4771ca11e19e33c80aa9429562")
_UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class _NoTables:
    """Captures none."""

    def reading(self, found: object, at: int) -> None: ...

    def wants(self, *_: object) -> bool:
        return False

    def follow(self, *_: object) -> list[Any]:
        return []


class Log:
    """Gives events of a log, one behind the other, to the stream."""

    def __init__(self, mariadb: bool, resume: Resume | None = None) -> None:
        self.end = 4
        self.changes = Changes(
            CaptureOptions.parse(_KEYS),
            cast("Tables", _NoTables()),
            Events("shop", "", True, "beats"),
            IncrementalSnapshot(cast("Any", None), 1, None),
            resume or Resume("b.1", 4),
            Source("mysql", "shop"),
            mariadb,
        )
        self.take(binlog.FORMAT, b"\4\0" + b"8.4.0".ljust(50, b"\0") + bytes(40) + b"\0\0\0\0\0")

    def take(self, kind: int, body: bytes) -> None:
        self.end += 19 + len(body)
        self.changes.take(struct.pack("<IBIIIH", 1_700_000_000, kind, 7, 19 + len(body), self.end, 0) + body)

    def statement(self, sql: str) -> None:
        self.take(binlog.QUERY, struct.pack("<IIBHH", 42, 0, 4, 0, 0) + b"shop\0" + sql.encode())

    def table(self, number: int) -> None:
        self.take(binlog.TABLE_MAP, number.to_bytes(6, "little") + b"\1\0" + b"\4shop\0" + b"\4line\0" + b"\1\3\0\0")

    def rows(self, number: int) -> None:
        self.take(30, number.to_bytes(6, "little") + b"\1\0" + b"\2\0" + b"\1\xff" + b"\0\5\0\0\0")


def test_rows_are_of_a_table_that_the_log_names() -> None:
    log = Log(mariadb=False)
    log.statement("BEGIN")
    log.table(66)
    log.rows(66)
    log.rows(0xFFFFFF)  # ends a statement, and has none
    with pytest.raises(DataError, match=r"does not say of which table the rows at b\.1:"):
        log.rows(67)


def test_rows_stand_in_a_transaction() -> None:
    log = Log(mariadb=False)
    log.table(66)
    with pytest.raises(DataError, match="outside of a transaction"):
        log.rows(66)


def test_what_is_written_without_rows_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log = Log(mariadb=False)
    with caplog.at_level(logging.WARNING):
        for sql in ("BEGIN", "insert into line values (1, 'secret')", "COMMIT"):
            log.statement(sql)
    (said,) = (record.getMessage() for record in caplog.records)
    assert "written to shop without rows in the log (INSERT, at b.1:" in said
    assert "secret" not in said


@pytest.mark.parametrize("body", [b"\1\0\4lost", b"\1\0"])
def test_changes_that_the_server_has_lost_are_no_gap_without_a_word(body: bytes) -> None:
    """It notes that it could not write some of them, as with a full disk: a replica stops there."""
    log = Log(mariadb=False)
    with pytest.raises(PositionLost, match=r"at b\.1:\d+ that changes are missing there \((lost|an incident)\)"):
        log.take(binlog.INCIDENT, body)


def test_mysqls_transactions_begin_with_their_gtid() -> None:
    log = Log(mariadb=False, resume=Resume("b.1", 4, gtids=f"{_UUID}:1-5,{_UUID}:tag:3"))
    begin = log.end
    log.take(binlog.GTID, b"\1" + _SID + struct.pack("<Q", 6) + bytes(17))
    log.statement("BEGIN")
    log.table(66)
    inside = log.changes.resume()
    assert (inside.position, inside.events, inside.gtids) == (begin, 2, f"{_UUID}:1-5,{_UUID}:tag:3")
    log.take(binlog.XID, bytes(8))
    assert log.changes.resume() == Resume("b.1", log.end, gtids=f"{_UUID}:1-6,{_UUID}:tag:3")


def test_a_statement_of_its_own_is_done_at_once() -> None:
    log = Log(mariadb=True, resume=Resume("b.1", 4, gtids="0-7-1"))
    log.take(binlog.MARIADB_GTID, struct.pack("<QIB", 2, 0, 1))
    log.statement("ALTER TABLE line ADD COLUMN word text")
    assert log.changes.transaction is None
    assert log.changes.resume() == Resume("b.1", log.end, gtids="0-7-2")
