"""Rows of a query in text form, streamed by COPY: what the stream sends has the same form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from psycopg import pq

from connect import ConnectError, RetriableError
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.replication import ConnectionLost, arrives

#: How long to wait for the next row before it is said that there is none yet.
_WAIT_S: Final = 0.5
#: SQLSTATEs of what passes: a lost connection, a lock that was not to be had, a server that stops; and a table or a
#: column that went away meanwhile, which the next snapshot knows nothing of.
_PASSING: Final = ("08", "40", "53", "55", "57", "42P01", "42703")
_ESCAPED: Final = re.compile(rb"\\(.)", re.DOTALL)
_MEANT: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def copied(connection: Any, query: str, table: str) -> Iterator[Row | None]:
    """The rows of a query; None when none came for a while.

    Args:
        connection: psycopg's, which does nothing else until the last row.
        query: in SQL.
        table: its name, for errors.

    Raises:
        RetriableError: it may work later.
        ConnectError: the query is refused.
    """
    raw: pq.abc.PGconn = connection.pgconn
    answer = raw.exec_(f"COPY ({query}) TO STDOUT".encode())
    if answer.status != pq.ExecStatus.COPY_OUT:
        state = (answer.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        error = RetriableError if state.startswith(_PASSING) else ConnectError
        raise error(f"{table} cannot be read: {_line(answer.error_message)}")
    while True:
        length, data = raw.get_copy_data(1)
        if length > 0:
            yield _split(bytes(data))
        elif length == 0:
            if not arrives(raw, _WAIT_S):
                yield None
            raw.consume_input()
        else:
            break
    ended = raw.get_result() if length == -1 else None
    if ended is None or ended.status != pq.ExecStatus.COMMAND_OK:
        said = _line(ended.error_message if ended else raw.error_message)
        raise ConnectionLost(f"Reading {table} ended early: {said}")
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
