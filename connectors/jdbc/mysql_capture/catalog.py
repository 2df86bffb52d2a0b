"""The tables of a server as they were when rows of them were written.

A log with all metadata (binlog_row_metadata=FULL) says what columns its rows have. Any other log has numbers of types
only: then definitions come from the catalog, and statements that change tables are followed as they come by in the log.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Final

from connect import ConnectError
from connectors.jdbc.mysql_capture import ddl
from connectors.jdbc.mysql_capture.binlog import TableMap
from connectors.jdbc.mysql_capture.database import SERVERS_OWN, CapturedServer, Place
from connectors.jdbc.mysql_capture.facts import TableFacts
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.layout import Layout, fits, layout
from connectors.jdbc.mysql_capture.metadata import Metadata
from connectors.jdbc.mysql_capture.sql import NotUnderstood
from connectors.jdbc.mysql_capture.statements import Change, TableName, changes, folded
from connectors.jdbc.mysql_capture.tables import RowReader, Table

log = logging.getLogger(__name__)

_MOST_FORMS: Final = 10_000
_NEXT_STEP: Final = (
    "Set binlog_row_metadata=FULL on the server, so that this cannot happen again; then reset the connector's offsets, "
    "so that a new snapshot is made. Or leave the table out (table.exclude.list)."
)


@dataclass(slots=True)
class _Known:
    """A definition, and since when it holds: statements before that place are in it."""

    facts: TableFacts
    since: Place


@dataclass(slots=True)
class Reading:
    """A table as the log has it now, with what reads its rows."""

    table: Table
    read: RowReader
    width: int


class Tables:
    """The tables of one server, on the way through its log.

    Args:
        flavor: mysql or mariadb.
    """

    def __init__(self, chosen: CaptureOptions, flavor: str) -> None:
        self._chosen = chosen
        self._flavor = flavor
        self._known: dict[TableName, _Known] = {}
        self._forms: dict[TableFacts, Table] = {}
        self._server: CapturedServer | None = None
        self._changed_at: dict[TableName, int] = {}
        self._settled: tuple[dict[TableName, _Known], dict[TableName, int]] = {}, {}
        self._touched = False  # since then
        self._folds = False  # whether the server has names in small letters, however statements write them
        self._metadata = Metadata()

    def use(self, server: CapturedServer) -> None:
        """Ask this server from now on."""
        self._server = server
        self._folds = server.variable("lower_case_table_names") == "1"
        self._metadata.use(server)

    def settle(self) -> None:
        """Rows before this place of the log are done: they are not read again."""
        if self._touched:
            self._settled, self._touched = (dict(self._known), dict(self._changed_at)), False

    def undo(self) -> None:
        """Reading goes back to the last `settle`, and so do the definitions."""
        if self._touched:
            known, changed_at = self._settled
            self._known, self._changed_at, self._touched = dict(known), dict(changed_at), False

    def wants(self, database: str, table: str) -> bool:
        """Whether a table is captured. The server's own never are."""
        return database not in SERVERS_OWN and self._chosen.selection.table(database, table)

    def follows(self, database: str, table: str) -> bool:
        """Whether rows of a table are read: of those that are captured, and of that of signals."""
        return self.wants(database, table) or f"{database}.{table}" == self._chosen.signal_table

    def form(self, facts: TableFacts) -> Table:
        """How a table of this definition becomes records."""
        if facts not in self._forms:
            if len(self._forms) > _MOST_FORMS:
                self._forms.clear()
            self._forms[facts] = Table(self._chosen, facts, self._flavor)
        return self._forms[facts]

    def take(self, facts: TableFacts, since: Place) -> None:
        """A definition that holds from this place on."""
        self._touched = True
        self._known[facts.database, facts.name] = _Known(facts, since)

    def reading(self, found: TableMap, at: int) -> Reading | None:
        """What reads the rows that follow a table map; None for a table that is not followed.

        Args:
            at: when they were written, in seconds since 1970.

        Raises:
            ConnectError: it is not known what columns they have.
        """
        if not self.follows(found.database, found.table):
            return None
        if (found.database, found.table) not in self._known and self._is_sequence(found.database, found.table):
            return None
        layouts = [layout(kind, meta) for kind, meta in zip(found.types, found.metadata, strict=True)]
        facts = self._facts(found, layouts, at)
        table = self.form(facts)
        return Reading(table, table.reader(layouts), len(layouts))

    def _facts(self, found: TableMap, layouts: list[Layout], at: int) -> TableFacts:
        name = (found.database, found.table)
        known = self._known.get(name)
        if known is None:
            known = self._look_up(name)
        if self._metadata.whole(found):
            return self._metadata.facts(found, layouts, None if known is None else known.facts)
        if known is None:
            raise ConnectError(
                f"{found.database}.{found.table} is not there any more, or the user may not see it (GRANT SELECT), and "
                f"the binary log does not say what columns it had. {_NEXT_STEP}"
            )
        columns = known.facts.columns
        if len(columns) != len(layouts) or not all(map(fits, layouts, columns)) or at < self._changed_at.get(name, 0):
            raise ConnectError(
                f"{found.database}.{found.table} was changed after these rows were written, and the binary log does "
                f"not say what columns they have. {_NEXT_STEP}"
            )
        return known.facts

    def _is_sequence(self, database: str, name: str) -> bool:
        """Whether it is one of MariaDB's sequences, whose state is a row in the log."""
        return self._server is not None and self._server.kind(database, name) == "SEQUENCE"

    def _look_up(self, name: TableName) -> _Known | None:
        """A definition as it is now. Rows that are older than it may have had another one."""
        server = self._server
        assert server is not None
        since = server.place()
        facts = server.facts(*name)
        if facts is None:
            return None
        self._touched = True
        self._changed_at[name] = server.changed_at(*name)
        self._known[name] = _Known(facts, since)
        return self._known[name]

    def named(self, name: TableName) -> Table | None:
        """A table as it is known now; None for one that is not captured, or not there."""
        if not self.wants(*name):
            return None
        known = self._known.get(name) or self._look_up(name)
        return None if known is None else self.form(known.facts)

    def follow(self, sql: str, database: str, place: Place, end: Place, at: int) -> list[Change]:
        """Take note of a statement between these places of the log: what it does to tables.

        Args:
            at: when it was run, in seconds since 1970.
        """
        found = [each.folded() if self._folds else each for each in changes(sql, database)]
        self._touched = self._touched or bool(found)
        for change in found:
            self._follow(change, place, end, at)
        return found

    def _follow(self, change: Change, place: Place, end: Place, at: int) -> None:
        name = change.table
        if change.kind == "drop" and not name[1]:
            for each in [each for each in self._known if each[0] == name[0]]:
                self._known.pop(each)
            return
        known = self._known.get(name)
        if known is not None and place.order < known.since.order:
            return  # the definition was looked up later, and has it
        if change.kind == "drop":
            self._known.pop(name, None)
        elif change.kind == "rename" and known is not None:
            assert change.to is not None
            self._known.pop(name)
            self._known[change.to] = _Known(replace(known.facts, database=change.to[0], name=change.to[1]), end)
        elif change.kind in ("alter", "create") and self._concerns(change):
            self._redefine(change, known, end, at)

    def _concerns(self, change: Change) -> bool:
        return change.table in self._known or self.follows(*change.table)

    def _redefine(self, change: Change, known: _Known | None, end: Place, at: int) -> None:
        server = self._server
        assert server is not None
        name = change.table
        try:
            if change.words is not None and change.words.has("VERSIONING"):
                raise NotUnderstood("it may have versions of its rows now")
            if change.kind == "alter":
                if known is None:
                    return  # looked up when rows come
                facts = ddl.altered(known.facts, change, server.mariadb)
            elif change.keeps and (known is not None or 0 < server.changed_at(*name) < at):
                return  # it was there: MySQL has such a statement in its log all the same
            else:
                facts = ddl.created(change, self._other, server.charset(name[0]), server.mariadb)
        except NotUnderstood as error:
            log.info("%s.%s was changed in a way that the catalog has to tell: %s", *name, error)
            self._known.pop(name, None)
            return
        self._known.pop(name, None)
        self._changed_at.pop(name, None)
        if self._folds:
            facts = replace(facts, database=facts.database.lower(), name=facts.name.lower())
        self._known[facts.database, facts.name] = _Known(facts, end)

    def _other(self, name: TableName) -> TableFacts | None:
        name = folded(name) if self._folds else name
        known = self._known.get(name) or self._look_up(name)
        return None if known is None else known.facts
