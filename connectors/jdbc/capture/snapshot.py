"""A snapshot: all rows of the captured tables at one moment, streamed by COPY."""

from __future__ import annotations

import re
import select
from collections.abc import Iterator
from typing import Any, Final

from psycopg import pq

from connect import ConnectError, RetriableError
from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import TableFacts, TableId, quoted
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.replication import ConnectionLost
from connectors.jdbc.capture.tables import Table, Tables

#: How long to wait for the next row before it is said that there is none yet.
_WAIT_S: Final = 0.5
#: SQLSTATEs of what passes: a lost connection, a lock that was not to be had, a server that stops; and a table or a
#: column that went away meanwhile, which the next snapshot knows nothing of.
_PASSING: Final = ("08", "40", "53", "55", "57", "42P01", "42703")
_ESCAPED: Final = re.compile(rb"\\(.)", re.DOTALL)
_MEANT: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Snapshot:
    """Reads tables one after another, on a connection whose transaction is the snapshot.

    Args:
        connection: psycopg's.
        chosen: the tables, in the order in which they are read.
        tables: makes records of their rows.
    """

    def __init__(self, connection: Any, chosen: list[TableId], tables: Tables) -> None:
        self._connection = connection
        self._chosen = chosen
        self._tables = tables
        #: Each row with its table and Debezium's word for its place; None when none came for a while.
        self.rows = self._marked()

    def _marked(self) -> Iterator[tuple[Table, Row, str] | None]:
        """Marks the last row, which shows only when the next one is missing."""
        held: tuple[Table, Row] | None = None
        first = first_of_table = True
        for found in self._all():
            if found is None:
                yield None
                continue
            table, row = found
            if held is not None:
                same = held[0] is table
                if first:
                    mark = "first"
                elif not same:
                    mark = "last_in_data_collection"
                else:
                    mark = "first_in_data_collection" if first_of_table else "true"
                yield (*held, mark)
                first, first_of_table = False, not same
            held = (table, row)
        if held is not None:
            yield (*held, "last")

    def _all(self) -> Iterator[tuple[Table, Row] | None]:
        for each in self._chosen:
            facts = catalog.table(self._query, each.oid)
            if facts is not None and facts.columns:
                table = self._tables.of_facts(facts)
                for row in self._copy(facts):
                    yield None if row is None else (table, row)

    def _query(self, sql: str, values: Any = None) -> list[Any]:
        return list(self._connection.execute(sql, values).fetchall())

    def _copy(self, facts: TableFacts) -> Iterator[Row | None]:
        columns = ", ".join(quoted(column.name) for column in facts.columns)
        raw: pq.abc.PGconn = self._connection.pgconn
        name = f"{quoted(facts.schema)}.{quoted(facts.name)}"
        answer = raw.exec_(f"COPY (SELECT {columns} FROM {name}) TO STDOUT".encode())
        if answer.status != pq.ExecStatus.COPY_OUT:
            state = (answer.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
            error = RetriableError if state.startswith(_PASSING) else ConnectError
            raise error(f"{facts.schema}.{facts.name} cannot be read: {_line(answer.error_message)}")
        while True:
            length, data = raw.get_copy_data(1)
            if length > 0:
                yield _split(bytes(data))
            elif length == 0:
                if not select.select([raw.socket], [], [], _WAIT_S)[0]:
                    yield None
                raw.consume_input()
            else:
                break
        ended = raw.get_result() if length == -1 else None
        if ended is None or ended.status != pq.ExecStatus.COMMAND_OK:
            said = _line(ended.error_message if ended else raw.error_message)
            raise ConnectionLost(f"Reading {facts.schema}.{facts.name} ended early: {said}")
        while raw.get_result() is not None:
            pass


def _split(line: bytes) -> Row:
    r"""The values of a line that COPY wrote: tabs between them, \N for null."""
    values: list[Any] = line[:-1].split(b"\t")
    if b"\\" not in line:
        return values
    return [None if v == b"\\N" else _ESCAPED.sub(_meant, v) if b"\\" in v else v for v in values]


def _meant(found: re.Match[bytes]) -> bytes:
    return _MEANT.get(found[1], found[1])


def _line(said: bytes | str | None) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said or ""
    return " ".join(text.split())
