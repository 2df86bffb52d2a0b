"""A snapshot: all rows of the captured tables at one moment, and the place of that moment in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pymysql

from connect import ConnectError, RetriableError
from connectors.jdbc.changes.forms import Struct
from connectors.jdbc.changes.marks import marked
from connectors.jdbc.mysql_capture.catalog import Tables
from connectors.jdbc.mysql_capture.database import CapturedServer, Place, denied, number
from connectors.jdbc.mysql_capture.facts import TableFacts
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.sql import quoted
from connectors.jdbc.mysql_capture.tables import Table

log = logging.getLogger(__name__)

#: Errors that say that a table went away or was changed meanwhile: the next snapshot knows nothing of that.
_CHANGED = (1146, 1412, 1054)
_ROWS = 500  # that are asked of the driver at once


def begin(server: CapturedServer, chosen: CaptureOptions, tables: Tables) -> tuple[Place, list[TableFacts]]:
    """Begin the transaction of the snapshot: where it stands in the log, and the captured tables in their order.

    Raises:
        RetriableError: a lock was not to be had, or the connection broke.
        ConnectError: the user may not do that.
    """
    locks = chosen.snapshot_locking != "none"
    server.query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    with _nobody_writes(server, chosen) if locks else nullcontext() as locked:
        server.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        place = server.place() if locks else _own_place(server)
        found = []
        for database, name in _captured(server, chosen):
            if locked is not None and (database, name) not in locked:
                raise RetriableError(f"{database}.{name} was created while the snapshot began: it begins again.")
            if (facts := server.facts(database, name)) is not None:
                tables.take(facts, place)
                found.append(facts)
    return place, found


def _captured(server: CapturedServer, chosen: CaptureOptions) -> list[tuple[str, str]]:
    return [each for each in server.tables() if chosen.selection.table(*each)]


@contextmanager
def _nobody_writes(server: CapturedServer, chosen: CaptureOptions) -> Iterator[Sequence[tuple[str, str]] | None]:
    """Keep others from writing: into all tables, or, where the user may not do that, into the captured ones, given."""
    try:
        server.query("FLUSH TABLES WITH READ LOCK")
    except RetriableError:
        raise
    except ConnectError as error:
        if not denied(error):
            raise
        with _locked(server, chosen, error) as tables:
            yield tables
        return
    try:
        yield None
    finally:
        if server.connection.open:
            server.query("UNLOCK TABLES")


@contextmanager
def _locked(
    server: CapturedServer, chosen: CaptureOptions, refused: ConnectError
) -> Iterator[Sequence[tuple[str, str]]]:
    """Lock the captured tables, on a connection of its own: the beginning of a transaction would release its locks.

    Transactions that have written into them are waited for. So they are the same in the snapshot and at its place in
    the log.
    """
    log.info("The captured tables are locked one by one while the snapshot begins: %s", refused)
    beside = server.another()
    try:
        captured = _captured(server, chosen)
        _lock(beside, captured, refused)
        yield captured
    finally:
        beside.close()


def _lock(server: CapturedServer, captured: Sequence[tuple[str, str]], refused: ConnectError) -> None:
    if not captured:
        return
    tables = ", ".join(f"{quoted(database)}.{quoted(name)} READ" for database, name in captured)
    try:
        # With autocommit not every server waits for open transactions here.
        server.query("SET autocommit = 0, innodb_lock_wait_timeout = 10")
        server.query(f"LOCK TABLES {tables}")
    except RetriableError:
        raise
    except ConnectError as error:
        if number(error) in _CHANGED:
            raise RetriableError(str(error)) from error
        if not denied(error):
            raise
        hint = ", or set snapshot.locking.mode=none" if server.mariadb else ""
        raise ConnectError(
            f"{refused}; {error}. A snapshot needs the right to keep others from writing for a moment: GRANT RELOAD "
            "ON *.* TO the user, or, where a provider's servers do not have that, GRANT LOCK TABLES on the captured "
            f"databases{hint}."
        ) from error


def _own_place(server: CapturedServer) -> Place:
    """Where a transaction's snapshot stands, as the server itself knows it."""
    by_name = {name.lower(): value for name, value in server.texts("SHOW STATUS LIKE 'binlog_snapshot%'")}
    file = by_name.get("binlog_snapshot_file")
    if not file:
        raise ConnectError(
            "The server does not know where a snapshot stands in its log, as MariaDB and Percona Server do. Set "
            "snapshot.locking.mode=minimal."
        )
    position = int(by_name["binlog_snapshot_position"])
    gtids = server.gtids(file, position) if server.mariadb else by_name.get("binlog_snapshot_gtid_executed")
    return Place(file, position, (gtids or "").replace("\n", ""))


class Snapshot:
    """Reads tables one after another, in the transaction that `begin` began."""

    def __init__(self, server: CapturedServer, found: list[TableFacts], tables: Tables) -> None:
        self._server = server
        self._found = found
        self._tables = tables
        #: Each row with its table, its number of bytes, and Debezium's word for its place.
        self.rows = marked(self._all())

    def _all(self) -> Iterator[tuple[Table, tuple[Struct, int]]]:
        for facts in self._found:
            table = self._tables.form(facts)
            if table.captured:
                yield from self._read(table)

    def _read(self, table: Table) -> Iterator[tuple[Table, tuple[Struct, int]]]:
        read = table.row_reader()
        try:
            cursor = self._server.stream(selected(table))
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    yield table, (read(row), sum(map(len, filter(None, row))))
        except pymysql.Error as error:
            failure = self._server.failure(error)
            what = f"{table.facts.full_name} cannot be read: {failure}"
            if isinstance(failure, RetriableError) or error.args[0] in _CHANGED:
                raise RetriableError(what) from error
            raise ConnectError(what) from error


def selected(table: Table) -> str:
    """A statement that reads the captured columns of all rows."""
    by_name: dict[str, Any] = {column.name: column for column in table.facts.columns}
    # A float is written with six digits, unless it is one of eight bytes.
    columns = ", ".join(
        f"({quoted(name)} + 0e0)" if by_name[name].base == "float" else quoted(name) for name in table.captured
    )
    return f"SELECT {columns} FROM {in_sql(table.facts)}"


def in_sql(facts: TableFacts) -> str:
    """The name of a table."""
    return f"{quoted(facts.database)}.{quoted(facts.name)}"
