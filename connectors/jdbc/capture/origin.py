"""The block `source` of an event: where in PostgreSQL's log a change stands."""

from __future__ import annotations

from connect import __version__
from connectors.jdbc.capture.tables import Table
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.forms import Struct


class Origin:
    """What all events of one transaction, or of one snapshot, share.

    Args:
        at: when it was committed, in microseconds since 1970.
        committed: the position behind the commit before it, None for none.
        xid: its number, None for a snapshot.
    """

    __slots__ = ("_committed", "_ms", "_us", "_xid")

    def __init__(self, at: int, committed: int | None, xid: int | None) -> None:
        self._us = at
        self._ms = at // 1000
        self._committed = "null" if committed is None else f'"{committed}"'
        self._xid = xid

    def source(self, events: Events, table: Table, lsn: int, snapshot: str = "false") -> Struct:
        """The block `source` of one event."""
        us = self._us
        return {
            "version": __version__,
            "connector": "postgresql",
            "name": events.prefix,
            "ts_ms": self._ms,
            "snapshot": snapshot,
            "db": events.database,
            "sequence": f'[{self._committed},"{lsn}"]',
            "ts_us": us,
            "ts_ns": us * 1000,
            "schema": table.schema,
            "table": table.name,
            "txId": self._xid,
            "lsn": lsn,
            "xmin": None,
        }
