"""The rows of one event of the log: change events, signals, and what an incremental snapshot has to know of them."""

from __future__ import annotations

from connect import ConnectError, DataError
from connectors.jdbc.changes import signals
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.forms import Struct
from connectors.jdbc.changes.incremental import IncrementalSnapshot
from connectors.jdbc.mysql_capture.binlog import Rows
from connectors.jdbc.mysql_capture.catalog import Reading, Tables
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.origin import Origin, Source
from connectors.jdbc.mysql_capture.tables import Table


class RowEvents:
    """Reads rows. The arguments are those of `connectors.jdbc.mysql_capture.stream.Changes`."""

    def __init__(
        self,
        chosen: CaptureOptions,
        tables: Tables,
        events: Events,
        incremental: IncrementalSnapshot[Table, Struct],
        source: Source,
    ) -> None:
        self._chosen = chosen
        self._tables = tables
        self._events = events
        self._incremental = incremental
        self._source = source

    def wants(self, reading: Reading, op: str) -> bool:
        """Whether such rows of a table are read."""
        return op not in self._chosen.skipped or self._signals(reading)

    def take(self, reading: Reading, found: Rows, origin: Origin, first: int) -> None:
        """Read rows, from the number `first` on.

        Raises:
            DataError: they are not what the table is known to have.
            ConnectError: the log does not have all of their columns.
        """
        every = (1 << reading.width) - 1
        if found.width != reading.width:
            raise DataError(f"A row of {reading.table.facts.full_name} has {found.width} columns, not {reading.width}.")
        if found.present != every or found.present_after != every:
            raise ConnectError(
                f"Rows of {reading.table.facts.full_name} in the binary log do not have all columns. Set "
                "binlog_row_image=FULL on the server, let sessions begin anew, and reset the connector's offsets."
            )
        if found.op == "c" and self._signals(reading):
            self._follow(reading, found, first)
        if found.op not in self._chosen.skipped and self._tables.wants(reading.table.database, reading.table.name):
            self._read(reading, found, origin, first)

    def _signals(self, reading: Reading) -> bool:
        return reading.table.facts.full_name == self._chosen.signal_table

    def _follow(self, reading: Reading, found: Rows, first: int) -> None:
        at, row = found.at, 0
        while at < len(found.data):
            struct, at = reading.read(found.data, at)
            if row >= first:
                identifier, kind, data = (struct.get(self._chosen.field_name(name)) for name in signals.COLUMNS)
                self._incremental.signal(str(identifier), str(kind), None if data is None else str(data))
            row += 1

    def _read(self, reading: Reading, found: Rows, origin: Origin, first: int) -> None:
        table, read, data, at = reading.table, reading.read, found.data, found.at
        events, op, end, row = self._events, found.op, len(found.data), 0
        key_of, shared = table.key, origin.block(self._source, table)
        awaited = self._incremental.table == table.facts.full_name
        while at < end:
            struct, at = read(data, at)
            if op == "u":
                after, at = read(data, at)
            if row >= first:
                for image in ((struct, after) if op == "u" else (struct,)) if awaited else ():
                    if self._incremental.table is not None:
                        self._incremental.changed(table.identity(image))
                block = shared.copy()
                block["row"] = row
                mark, undone = (origin, row + 1), (origin, row)
                if op == "c":
                    events.change(table, "c", key_of(struct), None, struct, block, mark)
                elif op == "d":
                    events.deletion(table, key_of(struct), struct, block, undone, mark)
                else:
                    events.update(table, (key_of(struct), key_of(after)), struct, after, block, undone, mark)
            row += 1
