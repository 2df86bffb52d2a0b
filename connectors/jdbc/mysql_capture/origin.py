"""Where in the log changes stand: the block `source` of their events, and their offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect import __version__
from connectors.jdbc.changes.forms import Struct
from connectors.jdbc.changes.incremental import Progress
from connectors.jdbc.mysql_capture.position import Resume, snapshotting, streamed
from connectors.jdbc.mysql_capture.tables import Table


class Transaction:
    """One transaction while it is sent.

    Attributes:
        file, position: where it begins.
        gtids: the transactions before it, as text; empty when they are not known.
        gtid: its own; None for none.
        thread: of the session that wrote it; None where the log does not say so.
        events: how many of its events are done, the first one counted.
    """

    __slots__ = ("events", "file", "gtid", "gtids", "position", "thread")

    def __init__(self, file: str, position: int, gtids: str, gtid: str | None, thread: int | None = None) -> None:
        self.file = file
        self.position = position
        self.gtids = gtids
        self.gtid = gtid
        self.thread = thread
        self.events = 0

    def resume(self, events: int, rows: int, progress: Progress | None) -> Resume:
        """Where the stream would continue within it, with what is left of incremental snapshots."""
        return Resume(self.file, self.position, events, rows, self.gtids, progress)


class Origin:
    """What all events of the rows of one event in the log share.

    Args:
        transaction: theirs.
        position: where the event stands.
        at: when it was written, in seconds since 1970.
        server_id: where.
        progress: what is left of incremental snapshots.
    """

    __slots__ = ("_at", "_events", "_position", "_progress", "_server_id", "_transaction")

    def __init__(
        self, transaction: Transaction, position: int, at: int, server_id: int, progress: Progress | None
    ) -> None:
        self._transaction = transaction
        self._events = transaction.events
        self._position = position
        self._at = at
        self._server_id = server_id
        self._progress = progress

    def block(self, source: Source, table: Table) -> Struct:
        """The block of the event's rows of a table; that of one row is a copy with its number, `row`."""
        transaction = self._transaction
        return source.block(
            self._at,
            "false",
            (table.database, table.name),
            {
                "server_id": self._server_id,
                "gtid": transaction.gtid,
                "file": transaction.file,
                "pos": self._position,
                "row": 0,
                "thread": transaction.thread,
            },
        )

    def offset(self, rows: int) -> dict[str, Any]:
        """The offset behind so many rows of the event."""
        return streamed(self._transaction.resume(self._events, rows, self._progress), self._server_id, self._at)


class Idle:
    """The place between two transactions, for heartbeats and for rows of incremental snapshots."""

    __slots__ = ("_at", "_resume", "_server_id")

    def __init__(self, resume: Resume, server_id: int, at: int) -> None:
        self._resume = resume
        self._server_id = server_id
        self._at = at

    def block(self, source: Source, table: Table) -> Struct:
        """The block of a row of an incremental snapshot."""
        resume = self._resume
        return source.block(
            self._at,
            "incremental",
            (table.database, table.name),
            {
                "server_id": self._server_id,
                "gtid": None,
                "file": resume.file,
                "pos": resume.position,
                "row": 0,
                "thread": None,
            },
        )

    def offset(self, rows: int) -> dict[str, Any]:
        """The offset there."""
        return streamed(self._resume, self._server_id, self._at)


class SnapshotOrigin:
    """What all rows of a snapshot share.

    Args:
        resume: where the stream begins behind it.
        at: when it was taken, in seconds since 1970.
        mode: what it is called in offsets.
    """

    __slots__ = ("_at", "_mode", "_place", "_resume")

    def __init__(self, resume: Resume, at: int, mode: str) -> None:
        self._resume = resume
        self._at = at
        self._mode = mode
        self._place = {
            "server_id": 0,
            "gtid": None,
            "file": resume.file,
            "pos": resume.position,
            "row": 0,
            "thread": None,
        }

    def block(self, source: Source, table: Table) -> Struct:
        """The block of rows of a table; that of one row is a copy with the word for its place, `snapshot`."""
        return source.block(self._at, "true", (table.database, table.name), self._place)

    def offset(self, last: int) -> dict[str, Any]:
        """The offset behind a row; `last`: whether it is the last."""
        return snapshotting(self._resume, self._at, self._mode, bool(last))


class Source:
    """Makes the blocks. `flavor` is mysql or mariadb, `prefix` the name of the source."""

    __slots__ = ("_flavor", "_prefix")

    def __init__(self, flavor: str, prefix: str) -> None:
        self._flavor = flavor
        self._prefix = prefix

    def block(self, at: int, snapshot: str, table: tuple[str, str], place: Mapping[str, Any]) -> Struct:
        """One block; `table` with its database before it."""
        return {
            "version": __version__,
            "connector": self._flavor,
            "name": self._prefix,
            "ts_ms": at * 1000,
            "snapshot": snapshot,
            "db": table[0],
            "sequence": None,
            "ts_us": at * 1_000_000,
            "ts_ns": at * 1_000_000_000,
            "table": table[1],
            "query": None,
            **place,
        }


#: Of a row: where it stands, and how many rows there are done with it.
Mark = tuple[Origin | Idle | SnapshotOrigin, int]


def offset(mark: Mark) -> Mapping[str, Any]:
    """The offset after a row, of its mark."""
    origin, rows = mark
    return origin.offset(rows)
