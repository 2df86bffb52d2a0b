"""The stream: events of the log in, change events out, with their positions."""

from __future__ import annotations

import logging
import struct
import time
import zlib
from dataclasses import replace
from typing import Final

from connect import DataError
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.forms import Struct
from connectors.jdbc.changes.incremental import IncrementalSnapshot
from connectors.jdbc.mysql_capture import binlog
from connectors.jdbc.mysql_capture.binlog import Event
from connectors.jdbc.mysql_capture.catalog import Reading, Tables
from connectors.jdbc.mysql_capture.database import Place
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.origin import Idle, Origin, Source, Transaction
from connectors.jdbc.mysql_capture.position import MariaGtids, MySqlGtids, Resume
from connectors.jdbc.mysql_capture.replication import PositionLost
from connectors.jdbc.mysql_capture.row_events import RowEvents
from connectors.jdbc.mysql_capture.tables import Table

log = logging.getLogger(__name__)

_WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD")
_NO_TABLE: Final = (0xFFFFFF, 0xFFFFFFFFFFFF)  # of an event without rows that ends a statement
_UNREADABLE: Final = (ValueError, KeyError, IndexError, ArithmeticError, struct.error, zlib.error)


class Changes:
    """The changes of one connection, from its beginning on.

    Args:
        chosen: which changes are captured.
        tables: the tables' definitions.
        events: collects the events. Their marks are for `origin.offset`.
        resume: where the connection begins; what was done before is skipped.
        incremental: follows signals, and is told what changes.
        source: makes the blocks `source`.
        mariadb: whether the server is one of MariaDB.

    Attributes:
        transaction: the current one, None between two.
        written_at: when the last event was written, in seconds since 1970; 0 before the first.
    """

    def __init__(
        self,
        chosen: CaptureOptions,
        tables: Tables,
        events: Events,
        incremental: IncrementalSnapshot[Table, Struct],
        resume: Resume,
        source: Source,
        mariadb: bool,
    ) -> None:
        self.transaction: Transaction | None = None
        self.written_at = 0
        self._chosen = chosen
        self._tables = tables
        self._events = events
        self._incremental = incremental
        self._source = source
        self._row_events = RowEvents(chosen, tables, events, incremental, source)
        self._parser = binlog.Parser()
        self._gtids: MariaGtids | MySqlGtids | None = None
        if resume.gtids or mariadb:
            self._gtids = MariaGtids(resume.gtids) if mariadb else MySqlGtids(resume.gtids)
        self._resume = resume  # between two transactions: where the next one will begin
        self._skip = resume.events  # of the first transaction
        self._skip_rows = resume.rows
        self._file = resume.file
        self._gtid: str | None = None  # of the transaction that begins next
        self._gtid_at: int | None = None  # where MySQL's event of it stands
        self._alone = False  # whether one statement is all of the transaction
        self._server_id = 0
        self._readings: dict[int, Reading | None] = {}
        self._maps: dict[bytes, tuple[int, Reading | None]] = {}
        self._take = {
            binlog.ROTATE: self._rotate,
            binlog.FORMAT: self._format,
            binlog.HEARTBEAT: self._heartbeat,
            binlog.HEARTBEAT_2: self._heartbeat,
            binlog.MARIADB_GTID: self._mariadb_gtid,
            binlog.GTID: self._mysql_gtid,
            binlog.QUERY: self._query,
            binlog.QUERY_COMPRESSED: self._query,
            binlog.XID: self._commit,
            binlog.XA_PREPARE: self._commit,
            binlog.INCIDENT: self._incident,
            binlog.TABLE_MAP: self._table_map,
            **dict.fromkeys(binlog.ROWS, self._rows),
        }

    def resume(self) -> Resume:
        """Where another connection would continue, with everything taken so far done."""
        progress = self._incremental.progress
        if self.transaction is None:
            return replace(self._resume, progress=progress)
        if self.transaction.events < self._skip:
            return self.transaction.resume(self._skip, self._skip_rows, progress)
        return self.transaction.resume(self.transaction.events, self._skip_rows, progress)

    def heartbeat(self) -> None:
        """Add a heartbeat, between two transactions: its offset says that everything before is done."""
        self._events.heartbeat((Idle(self.resume(), self._server_id, self.written_at or int(time.time())), 0))

    def snapshot_rows(self) -> None:
        """Add the rows of an incremental snapshot whose time has come, between two transactions.

        Raises:
            RetriableError: the server does not answer.
        """
        if self._incremental.idle or self.transaction is not None or self._gtid is not None:
            return
        place = Place(self._resume.file, self._resume.position)
        for table, row, left in self._incremental.ready(place.order):
            origin = Idle(replace(self._resume, progress=left), self._server_id, int(time.time()))
            block = origin.block(self._source, table)
            self._events.change(table, "r", table.key(row), None, row, block, (origin, 0))

    def take(self, data: bytes) -> None:
        """Process one event of the log.

        Raises:
            DataError: it is damaged.
            PositionLost: the server has lost changes here.
            ConnectError: it cannot be read.
        """
        event = self._parser.parse(data)
        made_up = not event.at or event.kind in (binlog.HEARTBEAT, binlog.HEARTBEAT_2)
        if not made_up:
            self.written_at = event.at
            self._server_id = event.server_id
        take = self._take.get(event.kind)
        if take is not None:
            try:
                take(event)
            except _UNREADABLE as error:
                raise DataError(f"The change at {self._file}:{event.begin} cannot be read: {error}") from error
        else:
            binlog.refuse(event.kind)
            if self.transaction is None and self._gtid is None and event.end and not made_up:
                self._between(event.end)
        if self.transaction is not None and not made_up:
            self.transaction.events += 1

    # Files and transactions.

    def _rotate(self, event: Event) -> None:
        self._file, position = binlog.rotate(event.body)
        if event.at:  # else the server only names the file that it reads
            self._forget()
            if self.transaction is None:
                self._between(position)

    def _format(self, event: Event) -> None:
        self._forget()

    def _incident(self, event: Event) -> None:
        said = binlog.incident(event.body) or "an incident"
        raise PositionLost(f"the server notes at {self._file}:{event.begin} that changes are missing there ({said}).")

    def _forget(self) -> None:
        """The numbers of tables begin again with each start of a server."""
        self._readings.clear()
        self._maps.clear()

    def _heartbeat(self, event: Event) -> None:
        if self.transaction is None and not self._skip and event.end:
            self._between(event.end)

    def _between(self, position: int) -> None:
        self._resume = Resume(self._file, position, gtids=str(self._gtids or ""))

    def _mariadb_gtid(self, event: Event) -> None:
        self._gtid, more = binlog.mariadb_gtid(event)
        self._begin(event)
        self._alone = not more

    def _mysql_gtid(self, event: Event) -> None:
        if self._gtids is None:
            self._gtids = MySqlGtids("")
        self._gtid = binlog.mysql_gtid(event.body)
        self._gtid_at = event.begin

    def _begin(self, event: Event, thread: int | None = None) -> None:
        # A server that is asked for the log from BEGIN on leaves out the GTID before it.
        position = event.begin if self._gtid_at is None else self._gtid_at
        self.transaction = Transaction(self._file, position, str(self._gtids or ""), self._gtid, thread)
        self._alone = False

    def _commit(self, event: Event) -> None:
        if self._gtid is not None and self._gtids is not None:
            self._gtids.add(self._gtid)
        self._gtid = self._gtid_at = self.transaction = None
        self._skip = self._skip_rows = 0
        self._between(event.end)

    def _query(self, event: Event) -> None:
        found = binlog.query(event)
        words = found.sql[:12].upper().split(None, 2)
        first = words[0].rstrip(";") if words else ""
        if first == "BEGIN" or words[:2] in (["XA", "START"], ["XA", "BEGIN"]):
            if self.transaction is None:
                self._begin(event, found.thread)
            return
        if first in ("COMMIT", "ROLLBACK") and words[1:2] != ["TO"]:
            self._commit(event)
            return
        if first in ("SAVEPOINT", "XA") or words[:2] == ["ROLLBACK", "TO"]:
            if words[:2] in (["XA", "COMMIT"], ["XA", "ROLLBACK"]):
                self._commit(event)
            return
        emptied = self._statement(event, found)
        done = self._alone or self.transaction is None
        if done:
            self._commit(event)
        for table, of in emptied:
            # A truncation is all of its transaction: behind it the next one begins.
            behind = Idle(self.resume(), event.server_id, event.at) if done else of
            self._events.change(table, "t", None, None, None, of.block(self._source, table), (behind, 0))

    def _statement(self, event: Event, found: binlog.Query) -> list[tuple[Table, Origin]]:
        """Follow a statement: which tables it emptied, if that is told."""
        if found.error:
            return []
        if (first := found.sql[:8].upper().split(None, 1)[:1]) and first[0] in _WRITES:
            log.warning(
                "A session has written to %s without rows in the log (%s, at %s:%d): what it changed is not captured. "
                "No session may set binlog_format to anything but ROW.",
                *(found.database or "a database", first[0], self._file, event.begin),
            )
            return []
        place, end = Place(self._file, event.begin), Place(self._file, event.end)
        if not event.end and self.transaction is not None:  # CREATE TABLE ... SELECT, in a transaction with its rows
            place = Place(self._file, self.transaction.position)
            end = Place(self._file, self.transaction.position + 1)
        changes = self._tables.follow(found.sql, found.database, place, end, event.at)
        if changes:
            self._maps.clear()
        for change in changes:
            if change.kind in ("truncate", "drop") and self._incremental.table == ".".join(change.table):
                self._incremental.emptied()
        if "t" in self._chosen.skipped:
            return []
        emptied = []
        for change in changes:
            if change.kind == "truncate" and (table := self._tables.named(change.table)) is not None:
                transaction = self.transaction or Transaction(self._file, event.begin, str(self._gtids or ""), None)
                emptied.append((table, self._origin(event, transaction)))
        return emptied

    def _origin(self, event: Event, transaction: Transaction) -> Origin:
        place, left = self._at(event, transaction), self._incremental.progress
        return Origin(transaction, place, event.at, event.server_id, left)

    @staticmethod
    def _at(event: Event, transaction: Transaction) -> int:
        """Where an event stands; events in a transaction of newer MariaDB servers do not know it."""
        return event.begin if event.end else transaction.position

    # Rows.

    def _table_map(self, event: Event) -> None:
        known = self._maps.get(event.body)
        if known is None:
            found = binlog.table_map(event.body)
            known = found.number, self._tables.reading(found, event.at)
            self._maps[event.body] = known
        self._readings[known[0]] = known[1]

    def _rows(self, event: Event) -> None:
        transaction = self.transaction
        if transaction is None:
            raise DataError(f"The binary log has rows outside of a transaction, at {self._file}:{event.begin}.")
        if transaction.events < self._skip:
            return
        first, self._skip, self._skip_rows = self._skip_rows, 0, 0
        found = binlog.rows(event)
        if found.number in _NO_TABLE:
            return
        if found.number not in self._readings:
            raise DataError(f"The binary log does not say of which table the rows at {self._file}:{event.begin} are.")
        reading = self._readings[found.number]
        if reading is not None and self._row_events.wants(reading, found.op):
            self._row_events.take(reading, found, self._origin(event, transaction), first)
