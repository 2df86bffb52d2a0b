"""The stream: pgoutput's messages in, events out, with their positions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect import DataError
from connectors.jdbc.capture import pgoutput, position
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.origin import Origin
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.position import Resume, Transaction, Visible
from connectors.jdbc.capture.replication import lsn_text
from connectors.jdbc.capture.tables import Table, Tables
from connectors.jdbc.changes import signals
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.incremental import IncrementalSnapshot, Progress

_BEGIN, _COMMIT, _RELATION = map(ord, "BCR")
_INSERT, _UPDATE, _DELETE, _TRUNCATE = map(ord, "IUDT")
_CHANGES: Final = {_INSERT: "c", _UPDATE: "u", _DELETE: "d", _TRUNCATE: "t"}

#: The transaction of a row (None between two), its position, the snapshot that may have seen others, and what is left
#: of incremental snapshots.
_Mark = tuple[Transaction | None, int, int, Visible | None, Progress | None]


class Changes:
    """The changes of one connection, from its beginning on.

    Args:
        chosen: which changes are captured.
        tables: the tables' definitions.
        events: collects the events. Their marks are for `offset`.
        incremental: follows signals, and is told what changes.
        resume: where the connection begins; what was done before is skipped.
        done: a position before which everything is done, if it is behind that.

    Attributes:
        done: the position before which everything has been taken.
        transaction: the current one, None between two.
        committed: the position behind the last commit, None when none was seen.
        committed_at: when the last transaction was committed, in microseconds since 1970; 0 before the first.
        visible: see `Resume`; None as soon as nothing of it can arrive any more.
    """

    def __init__(
        self,
        chosen: CaptureOptions,
        tables: Tables,
        events: Events,
        incremental: IncrementalSnapshot[Table, Row],
        resume: Resume,
        done: int,
    ) -> None:
        self.done = max(done, resume.lsn)
        self.transaction: Transaction | None = None
        self.committed = resume.committed
        self.committed_at = 0
        self.visible = resume.visible
        self._chosen = chosen
        self._tables = tables
        self._events = events
        self._incremental = incremental
        self._signals: dict[int, Sequence[str]] = {}  # the columns of the table of signals, by its number
        self._resume = resume
        self._relations: dict[int, Table | None] = {}
        self._skipped = False  # whether a snapshot has seen this transaction
        self._lsn = 0  # of the last change, and its number among those at the same place
        self._number = 0

    def resume(self) -> Resume:
        """Where another connection would continue, with everything taken so far done."""
        if self.visible is not None and self.done >= self.visible.end:
            self.visible = None
        transaction = self.transaction
        progress = self._incremental.progress
        if transaction is None:
            return Resume(self.done, self.committed, visible=self.visible, progress=progress)
        begin = transaction.before if transaction.before is not None else self._resume.lsn
        return Resume(begin, transaction.before, transaction.xid, (self._lsn, self._number), self.visible, progress)

    def nothing_before(self, lsn: int) -> None:
        """The server has sent everything that it has before this position."""
        if self.transaction is None:
            self.done = max(self.done, lsn)

    def heartbeat(self) -> None:
        """Add a heartbeat, between two transactions: its offset says that everything before is done."""
        self._events.heartbeat((None, self.done, 0, self.visible, self._incremental.progress))

    def snapshot_rows(self) -> None:
        """Add the rows of an incremental snapshot whose time has come, between two transactions.

        Raises:
            RetriableError: the database does not answer.
        """
        if self._incremental.idle:
            return
        events, origin = self._events, Origin(time.time_ns() // 1000, self.committed, None)
        for table, row, left in self._incremental.ready(self.done):
            after = table.read(row)
            source = origin.source(events, table, self.done, "incremental")
            mark = (None, self.done, 0, self.visible, left)
            events.change(table, "r", table.key(after), None, after, source, mark)

    def take(self, lsn: int, data: memoryview) -> None:
        """Process one message of the stream."""
        kind = data[0]
        if kind in _CHANGES:
            transaction = self.transaction
            if lsn == self._lsn:
                self._number += 1
            else:
                self._lsn, self._number = lsn, 1
            assert transaction is not None
            if self._skipped or self._resume.done(transaction.xid, lsn, self._number):
                return
            try:
                self._change(kind, transaction, lsn, data)
            except (ValueError, KeyError, ArithmeticError) as error:
                raise DataError(f"The change at {lsn_text(lsn)} cannot be read: {error}") from error
        elif kind == _BEGIN:
            begin = pgoutput.begin(data)
            self.transaction = Transaction(begin, self.committed)
            self._origin = Origin(begin.at, self.committed, begin.xid)
            self.committed_at = begin.at
            self._lsn, self._number = 0, 0
            self._skipped = self.visible is not None and self.visible.has(begin)
        elif kind == _COMMIT:
            commit = pgoutput.commit(data)
            assert self.transaction is not None
            self.transaction.end = self.committed = commit.end
            self.done = max(self.done, commit.end)
            self.transaction = None
        elif kind == _RELATION:
            relation = pgoutput.relation(data)
            self._relations[relation.oid] = self._tables.of_relation(relation)
            if f"{relation.schema}.{relation.table}" == self._chosen.signal_table:
                self._signals[relation.oid] = [column.name for column in relation.columns]

    def _change(self, kind: int, transaction: Transaction, lsn: int, data: memoryview) -> None:
        skipped = self._chosen.skipped
        if kind == _TRUNCATE:
            self._truncate(transaction, lsn, data, told="t" not in skipped)
            return
        oid = int.from_bytes(data[1:5], "big")
        if kind == _INSERT and oid in self._signals:
            self._follow(self._signals[oid], bytes(data))
        table = self._relations.get(oid)
        if table is None or _CHANGES[kind] in skipped:
            return
        raw = bytes(data)
        events, origin = self._events, self._origin
        awaited = self._incremental.table == table.full_name
        source = origin.source(events, table, lsn)
        mark = (transaction, lsn, self._number, self.visible, self._incremental.progress)
        transaction.last = (lsn, self._number)
        if kind == _INSERT:
            row, _, _ = pgoutput.row(raw, 6)
            if awaited:
                self._incremental.changed(table.identity(row))
            after = table.read(row)
            events.change(table, "c", table.key(after), None, after, source, mark)
            return
        undone = (transaction, lsn, self._number - 1, self.visible, self._incremental.progress)
        if kind == _DELETE:
            row, _, _ = pgoutput.row(raw, 6)
            if awaited:
                self._incremental.changed(table.identity(row))
            before = table.read(row)
            events.deletion(table, table.key(before), before, source, undone, mark)
            return
        old, at = None, 5
        if raw[5] != pgoutput.NEW:
            old, at, _ = pgoutput.row(raw, 6)
        row, _, toast = pgoutput.row(raw, at + 1)
        for image in filter(None, (old, row)) if awaited else ():
            if self._incremental.table is not None:
                self._incremental.changed(table.identity(image))
        after = table.read_with_unchanged(row, old) if toast else table.read(row)
        key = table.key(after)
        if old is None:
            events.change(table, "u", key, None, after, source, mark)
            return
        before = table.read(old)
        events.update(table, (table.key(before), key), before, after, source, undone, mark)

    def _follow(self, columns: Sequence[str], raw: bytes) -> None:
        """A row of the table of signals."""
        row, _, _ = pgoutput.row(raw, 6)
        told = {name: value.decode() for name, value in zip(columns, row, strict=False) if isinstance(value, bytes)}
        identifier, kind, data = map(told.get, signals.COLUMNS)
        self._incremental.signal(identifier or "", kind or "", data)

    def _truncate(self, transaction: Transaction, lsn: int, data: memoryview, *, told: bool) -> None:
        tables = [table for oid in pgoutput.truncated(data) if (table := self._relations.get(oid)) is not None]
        if self._incremental.table in [table.full_name for table in tables]:
            self._incremental.emptied()
        if not told:
            return
        for left, table in zip(range(len(tables) - 1, -1, -1), tables, strict=True):
            transaction.last = (lsn, self._number)
            source = self._origin.source(self._events, table, lsn)
            # It is done only with the last of its tables.
            number = self._number - 1 if left else self._number
            mark = (transaction, lsn, number, self.visible, self._incremental.progress)
            self._events.change(table, "t", None, None, None, source, mark)


def offset(mark: _Mark) -> Mapping[str, Any]:
    """The offset after a row, of its mark."""
    transaction, lsn, number, visible, progress = mark
    if transaction is None:
        return position.idle(lsn, time.time_ns() // 1000, visible, progress)
    return position.streamed(transaction, lsn, number, visible, progress)
