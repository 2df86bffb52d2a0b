"""A batch's changes to one table, as steps that are done one after another: empty it, delete keys, write rows.

Deletions are first: of a key that a batch deletes, only what follows that is written. Of several rows of a key the
newest counts, where rows are upserted or updated. Rows are sorted by key, so that no two tasks deadlock.

A database may take two keys for one, `a` and `A` for example, by the collation of their column. What such keys bring is
written in the order of the records: each in a part of the batch with steps of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import String

from connectors.jdbc.sink.cells import python_values
from connectors.jdbc.sink.statements import Layout

TRUNCATE: Final = "truncate"
DELETE: Final = "delete"
WRITE: Final = "write"


@dataclass(frozen=True, slots=True)
class Laid:
    """The records of a unit as rows of a layout.

    Attributes:
        positions: where they are in the batch, ascending.
        deletion: whether the rows are keys to delete.
    """

    layout: Layout
    rows: pa.RecordBatch
    positions: Sequence[int]
    deletion: bool


class Step(NamedTuple):
    """One of TRUNCATE, DELETE and WRITE. Without layout and rows for TRUNCATE."""

    kind: str
    layout: Layout | None
    rows: pa.RecordBatch | None


def steps(laid: Sequence[Laid], *, keyed: bool, emptied: bool = False, collated: bool = False) -> list[Step]:
    """The steps, in order.

    Args:
        laid: all records of one table.
        keyed: whether only the newest row of a key is written.
        emptied: whether the table is emptied first.
        collated: whether columns of the database have collations that take different texts for one.
    """
    found = [Step(TRUNCATE, None, None)] if emptied else []
    if not collated or not (keyed or any(each.deletion for each in laid)):
        return found + _steps(laid, keyed)
    return reduce(lambda before, part: before + _steps(part, keyed), apart(laid), found)


def _steps(laid: Sequence[Laid], keyed: bool) -> list[Step]:
    if len(laid) == 1:
        (one,) = laid
        if one.deletion or keyed:
            return [Step(DELETE if one.deletion else WRITE, one.layout, newest(one.rows, one.layout.keys))]
        return [Step(WRITE, one.layout, one.rows)]
    if not any(each.layout.keys for each in laid):
        return [Step(WRITE, each.layout, each.rows) for each in laid]
    return _mixed(laid, keyed)


def newest(rows: pa.RecordBatch, keys: int) -> pa.RecordBatch:
    """The last row of each key, sorted by key."""
    if len(rows) <= 1 or not keys:
        return rows
    columns = rows.columns[:keys]
    if keys == 1 and pc.all(pc.less(*_beside(columns[0]))).as_py():
        return rows
    names = [f"k{position}" for position in range(keys)]
    # A stable sort: rows of one key stay in their order.
    order = pc.sort_indices(pa.table(columns, names), sort_keys=[(name, "ascending") for name in names])
    same = reduce(pc.and_, (pc.equal(*_beside(column.take(order))) for column in columns))
    if pc.any(same).as_py():
        order = order.filter(pa.concat_arrays([pc.invert(same), pa.array([True])]))
    return rows.take(order)


def _beside(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The values but for the last, and what comes behind each."""
    return column.slice(0, len(column) - 1), column.slice(1)


# Keys that a collation may take for one.


def apart(laid: Sequence[Laid]) -> list[Sequence[Laid]]:
    """The records in parts, in order: of keys that may be one to the database, each part has one at most."""
    if not any(map(_collated, laid)):
        return [laid]
    if len(laid) == 1 and laid[0].layout.keys == 1 and _differ(laid[0].rows.column(0)):
        return [laid]
    parts: list[list[_Entry]] = [[]]
    seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for entry in _entries(laid):
        folded = tuple(map(_folded, entry.key))
        if seen.setdefault(folded, entry.key) != entry.key:
            parts.append([])
            seen = {folded: entry.key}
        parts[-1].append(entry)
    return [laid] if len(parts) == 1 else [_part(laid, part) for part in parts]


def _collated(each: Laid) -> bool:
    """Whether a text of the key is compared by a collation; those that compare bytes say so."""
    types = [column.type for column in each.layout.columns[: each.layout.keys]]
    return any(
        isinstance(of, String) and not str(getattr(of, "collation", None) or "").endswith(("_bin", "_cs"))
        for of in types
    )


def _differ(column: pa.Array) -> bool:
    """Whether these keys differ by more than a collation may leave out. False: look at each."""
    if not pa.types.is_string(column.type):
        return True
    lower = pc.ascii_lower(pc.ascii_rtrim_whitespace(column))
    return bool(pc.all(pc.string_is_ascii(column)).as_py()) and pc.count_distinct(lower) == pc.count_distinct(column)


def _folded(part: Any) -> Any:
    """A part of a key without what collations leave out: case, accents, blanks at the end."""
    if not isinstance(part, str):
        return part
    if part.isascii():
        return part.lower().rstrip()
    decomposed = unicodedata.normalize("NFKD", part.casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign)).rstrip()


def _part(laid: Sequence[Laid], entries: Sequence[_Entry]) -> list[Laid]:
    found = []
    for unit, at in sorted(_by_unit(entries)):
        each = laid[unit]
        positions = [each.positions[row] for row in at]
        found.append(replace(each, rows=each.rows.take(pa.array(at, pa.int64())), positions=positions))
    return found


class _Entry(NamedTuple):
    position: int
    unit: int
    at: int
    key: tuple[Any, ...]


def _mixed(laid: Sequence[Laid], keyed: bool) -> list[Step]:
    entries = _entries(laid)
    deleted = {entry.key: entry for entry in entries if laid[entry.unit].deletion}
    writes = [
        entry
        for entry in entries
        if not laid[entry.unit].deletion and (entry.key not in deleted or entry.position > deleted[entry.key].position)
    ]
    found = [_step(DELETE, laid, unit, at) for unit, at in _by_unit(deleted.values())]
    if not keyed:
        return found + [_step(WRITE, laid, unit, at, in_order=True) for unit, at in _by_unit(writes)]
    writes = _without_covered(laid, writes)
    units = {entry.key: entry.unit for entry in writes}
    if all(units[entry.key] == entry.unit for entry in writes):
        return found + [_step(WRITE, laid, unit, at) for unit, at in _by_unit(writes)]
    # Rows of one key with other fields each: all of them count, in their order.
    runs = [(unit, [entry.at for entry in run]) for unit, run in groupby(writes, key=lambda entry: entry.unit)]
    return found + [_step(WRITE, laid, unit, at) for unit, at in runs]


def _entries(laid: Sequence[Laid]) -> list[_Entry]:
    found = [
        _Entry(position, unit, at, key)
        for unit, each in enumerate(laid)
        for at, (position, key) in enumerate(zip(each.positions, _keys(each), strict=True))
    ]
    found.sort(key=lambda entry: entry.position)
    return found


def _keys(each: Laid) -> list[tuple[Any, ...]]:
    return list(zip(*(python_values(column) for column in each.rows.columns[: each.layout.keys]), strict=True))


def _without_covered(laid: Sequence[Laid], writes: list[_Entry]) -> list[_Entry]:
    """Without rows that a later one of the same key replaces in every column that they set."""
    columns = [frozenset(column.name for column in each.layout.columns) - each.layout.kept for each in laid]
    later: dict[tuple[Any, ...], frozenset[str]] = {}
    kept: list[_Entry] = []
    for entry in reversed(writes):
        mine, theirs = columns[entry.unit], later.get(entry.key)
        if theirs is None or not mine <= theirs:
            kept.append(entry)
            later[entry.key] = mine if theirs is None else theirs | mine
    kept.reverse()
    return kept


def _by_unit(entries: Any) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for entry in entries:
        found.setdefault(entry.unit, []).append(entry.at)
    return list(found.items())


def _step(kind: str, laid: Sequence[Laid], unit: int, at: list[int], *, in_order: bool = False) -> Step:
    each = laid[unit]
    rows = each.rows if len(at) == len(each.rows) else each.rows.take(pa.array(at, pa.int64()))
    return Step(kind, each.layout, rows if in_order else newest(rows, each.layout.keys))
