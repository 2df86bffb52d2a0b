"""LOAD DATA LOCAL of MySQL and MariaDB: rows as a text from memory, where the server allows it. Several times faster.

Two things about it are dangerous, and handled here:

- A server may answer any statement with a request for any file of the client. The driver returns only the rows of the
  statement that was sent for them.
- A value that does not fit becomes another one, with a warning, and a duplicate is left out. A load with a warning, or
  with fewer rows than were sent, counts as failed; the caller rolls it back and writes the rows by INSERT.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_NAME: Final = "rows of connect-runtime"
#: What has a meaning in the text, and how it is written. The backslash comes first.
_ESCAPES: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"), ("\0", "\\0"))


class _Desk:
    """Where the driver gets the data for the server: it believes that it opens a file."""

    def __init__(self) -> None:
        self.rows: memoryview | None = None
        self.taken = False

    def open(self, name: str | bytes, mode: str = "r", *_: Any, **__: Any) -> io.BytesIO:
        if name not in (_NAME, _NAME.encode()) or mode != "rb" or self.rows is None:
            raise PermissionError("the server asked for a file that is none of its business")
        self.taken = True
        return io.BytesIO(self.rows)


_DESK: Final = _Desk()


def is_allowed(raw: Any) -> bool:
    """Whether this server accepts rows in this way.

    Args:
        raw: a connection of pymysql, whose flag for it is off.
    """
    with raw.cursor() as cursor:
        cursor.execute("SELECT @@local_infile")
        return bool(cursor.fetchone()[0])


def load(raw: Any, table: str, names: Sequence[str], rows: pa.RecordBatch) -> bool:
    """Load rows into a table, in the current transaction.

    Args:
        raw: a connection of pymysql.
        table, names: of the columns, quoted, percent signs doubled.

    Returns:
        whether every row was stored exactly. If not, roll back.
    """
    columns = [
        f"@c{at}" if _is_binary(array) else name
        for at, (name, array) in enumerate(zip(names, rows.columns, strict=True))
    ]
    sets = [
        f"{name} = UNHEX(@c{at})"
        for at, (name, array) in enumerate(zip(names, rows.columns, strict=True))
        if _is_binary(array)
    ]
    statement = (
        f"LOAD DATA LOCAL INFILE '{_NAME}' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' "
        f"ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({', '.join(columns)}){' SET ' + ', '.join(sets) if sets else ''}"
    )
    with _serving(raw, _text(rows)), raw.cursor() as cursor:
        cursor.execute(statement.replace("%%", "%"))
        loaded = cursor.rowcount
        cursor.execute("SELECT @@warning_count")
        warnings = cursor.fetchone()[0]
    return bool(_DESK.taken and loaded == len(rows) and not warnings)


@contextmanager
def _serving(raw: Any, rows: memoryview) -> Iterator[None]:
    import pymysql.connections

    pymysql.connections.open = _DESK.open
    _DESK.rows, _DESK.taken = rows, False
    raw._local_infile = True
    try:
        yield
    finally:
        raw._local_infile = False
        _DESK.rows = None


def _text(rows: pa.RecordBatch) -> memoryview:
    cells = [_cells(array) for array in rows.columns]
    joined = pc.binary_join_element_wise(*cells, "\t", null_handling="replace", null_replacement="\\N")
    lines = pc.binary_join_element_wise(joined, "", "\n")
    # All lines lie one after another.
    ends = memoryview(lines.buffers()[1]).cast("i")
    return memoryview(lines.buffers()[2])[ends[lines.offset] : ends[lines.offset + len(lines)]]


def _cells(array: pa.Array) -> pa.Array:
    if _is_binary(array):
        return pa.array([None if item is None else item.hex() for item in array.to_pylist()], pa.string())
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if not pa.types.is_string(array.type):
        return array.cast(pa.string())
    for char, written in _ESCAPES:
        array = pc.replace_substring(array, char, written)
    return array


def _is_binary(array: pa.Array) -> bool:
    return bool(pa.types.is_binary(array.type))
