"""Records that do not have all columns: what older ones of their keys in the same batch say of the others.

So a batch leaves in a table what its records would leave if each was committed by itself. The same without Spark is
`spark_sink.rows.partial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spark_sink.merge_rules import is_not_older
from spark_sink.tables.types import literal, quoted

DELETED: Final = "_connect_deleted"
#: Whether a row is all of its key's row, and the columns that it does not have, in lower case; null for none.
WHOLE: Final = "_connect_whole"
LACKS: Final = "_connect_lacks"
OFFSET: Final = "_connect_offset"
PLACE: Final = "_connect_place"
#: Whether a deletion came before a row in the batch: then nothing of the table's row counts.
ENDED: Final = "_connect_ended"
_LIFE: Final = "_connect_life"
_TOP: Final = "_connect_top"
_ANY_WHOLE: Final = "_connect_any_whole"
_SO_FAR: Final = f"ORDER BY {OFFSET} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def completed(
    rows: Any, columns: Sequence[str], keys: Sequence[str], sequence: Sequence[str], *, others: Sequence[str] = ()
) -> Any:
    """Rows with the values of older ones: of their key, in their partition, since the last deletion.

    Older rows count that were the newest when they came.

    Args:
        rows: with these columns, `WHOLE`, `LACKS`, `DELETED`, `OFFSET` and `PLACE`.
        columns: of the table.
        keys: those of them that make the key.
        sequence: those that say which of two rows is newer.
        others: of our own columns those that tell rows apart of which one completes no other, instead of deletions.

    Returns:
        the rows with `ENDED` and, for each column, the sequence of the row that its value is of: `since`.
    """
    groups = ", ".join([*map(quoted, keys), PLACE, *others])
    rows = _once_newest(rows, groups, sequence)
    life = "0" if others else f"count_if({DELETED}) OVER (PARTITION BY {groups} {_SO_FAR})"
    rows = rows.selectExpr("*", f"{life} AS {_LIFE}")
    over = f"OVER (PARTITION BY {groups}, {_LIFE} {_SO_FAR})"
    mine = {name: number for number, name in enumerate(columns) if name not in {*keys, *sequence}}
    found, filled = [], []
    for name, number in mine.items():
        what = literal(name.lower())
        has = f"NOT {DELETED} AND NOT coalesce(array_contains({LACKS}, {what}), false)"
        value = _struct(sequence, f"'value', {quoted(name)}")
        found.append(f"last(IF({has}, {value}, NULL), true) {over} AS {_cell(number)}")
        filled.append(f"IF({_cell(number)} IS NULL, NULL, {what})")
    kept = [quoted(name) for name in rows.columns if name not in {*mine, LACKS, WHOLE, _LIFE}]
    ended = f"{_LIFE} > 0"
    rows = rows.selectExpr("*", f"max({WHOLE}) {over} AS {_ANY_WHOLE}", *found)
    return rows.selectExpr(
        *kept,
        f"{ended} AS {ENDED}",
        f"{ended} OR {_ANY_WHOLE} AS {WHOLE}",
        f"IF({ended}, NULL, array_except({LACKS}, CAST(array({', '.join(filled)}) AS array<string>))) AS {LACKS}",
        *(f"{_cell(number)}.value AS {quoted(name)}" for name, number in mine.items()),
        *(f"{_cell(number)}.since AS {since(number)}" for number in mine.values() if sequence),
    )


def reborn(rows: Any, keys: Sequence[str], sequence: Sequence[str]) -> Any:
    """Rows with `ENDED`: the sequence of the last deletion before them, of their key in their partition; else null.

    Arguments as of `completed`.
    """
    groups = ", ".join([*map(quoted, keys), PLACE])
    rows = _once_newest(rows, groups, sequence)
    order = _struct(sequence, f"'offset', {OFFSET}")
    last = f"last(IF({DELETED}, {order}, NULL), true)"
    return rows.selectExpr("*", f"{last} OVER (PARTITION BY {groups} {_SO_FAR}) AS {ENDED}")


def has_ended(sequence: Sequence[str]) -> str:
    """A condition on the source s and the table t of a merge: by a deletion that `reborn` found, t's row has ended."""
    pairs = [(f"t.{quoted(name)}", f"s.{ENDED}.since.c{at}") for at, name in enumerate(sequence)]
    return f"(s.{ENDED} IS NOT NULL AND {is_not_older(pairs)})"


def is_still_newer(number: int, sequence: Sequence[str]) -> str:
    """A condition on the source s and the table t of a merge: what `completed` found for a column is not older.

    Args:
        number: of the column.
        sequence: as there.
    """
    pairs = [(f"t.{quoted(name)}", f"s.{since(number)}.c{at}") for at, name in enumerate(sequence)]
    return f"(s.{ENDED} OR {is_not_older(pairs)})"


def since(number: int) -> str:
    """The name of the column for the sequence of the row that has a column's value."""
    return f"_connect_since_{number}"


def marks(columns: Sequence[str], keys: Sequence[str], sequence: Sequence[str]) -> list[str]:
    """The columns that `completed` adds."""
    return [ENDED, *(since(n) for n, name in enumerate(columns) if sequence and name not in {*keys, *sequence})]


def _once_newest(rows: Any, groups: str, sequence: Sequence[str]) -> Any:
    """The rows that were the newest of their group when they came."""
    if not sequence:
        return rows
    order = _struct(sequence, f"'offset', {OFFSET}")
    rows = rows.selectExpr("*", f"max({order}) OVER (PARTITION BY {groups} {_SO_FAR}) AS {_TOP}")
    return rows.where(f"{_TOP}.offset = {OFFSET}").drop(_TOP)


def _cell(number: int) -> str:
    return f"_connect_cell_{number}"


def _struct(sequence: Sequence[str], last: str) -> str:
    """A struct of a row's sequence, if it has one, and of a last field."""
    inner = ", ".join(f"'c{number}', {quoted(name)}" for number, name in enumerate(sequence))
    since = f"'since', named_struct({inner}), " if sequence else ""
    return f"named_struct({since}{last})"
