"""A snapshot: all rows of the captured tables, as they were at one moment, streamed by COPY."""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Iterator
from typing import Any, Final

from psycopg import pq

from connect import RetriableError
from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import TableFacts, TableId
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.replication import ConnectionLost
from connectors.jdbc.capture.tables import Table, Tables

_ESCAPED: Final = re.compile(rb"\\(.)", re.DOTALL)
_MEANT: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Snapshot:
    """Reads tables one after another, on a connection whose transaction is the snapshot.

    Args:
        connection: psycopg's.
        chosen: the tables, in the order in which they are read.
        tables: makes what their rows become.
        stopping: whether to give up waiting.
    """

    def __init__(self, connection: Any, chosen: list[TableId], tables: Tables, stopping: Callable[[], bool]) -> None:
        self._connection = connection
        self._chosen = chosen
        self._tables = tables
        self._stopping = stopping
        self._rows = self._marked()

    def next(self) -> tuple[Table, Row, str] | None:
        """The next row with its table and Debezium's word for its place; None when there is none any more.

        Raises:
            StopWaiting: none came so far, and it is time to look whether we are to stop.
        """
        return next(self._rows, None)

    def _marked(self) -> Iterator[tuple[Table, Row, str]]:
        """Each row with its mark: it takes the row after it to know that one is the last."""
        held: tuple[Table, Row] | None = None
        first = first_of_table = True
        for table, row in self._all():
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

    def _all(self) -> Iterator[tuple[Table, Row]]:
        for each in self._chosen:
            facts = catalog.table(self._query, each.oid)
            if facts is not None and facts.columns:
                table = self._tables.of_facts(facts)
                for row in self._copy(facts):
                    yield table, row

    def _query(self, sql: str, values: Any = None) -> list[Any]:
        return list(self._connection.execute(sql, values).fetchall())

    def _copy(self, facts: TableFacts) -> Iterator[Row]:
        columns = ", ".join(_quoted(column.name) for column in facts.columns)
        raw: pq.abc.PGconn = self._connection.pgconn
        name = f"{_quoted(facts.schema)}.{_quoted(facts.name)}"
        answer = raw.exec_(f"COPY (SELECT {columns} FROM {name}) TO STDOUT".encode())
        if answer.status != pq.ExecStatus.COPY_OUT:
            raise RetriableError(f"{facts.schema}.{facts.name} cannot be read: {_line(answer.error_message)}")
        while True:
            length, data = raw.get_copy_data(1)
            if length > 0:
                yield _split(bytes(data))
            elif length == 0:
                select.select([raw.socket], [], [], 0.5)
                if self._stopping():
                    raise ConnectionLost("The snapshot was interrupted: the task stops.")
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _line(said: bytes | str | None) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said or ""
    return " ".join(text.split())
