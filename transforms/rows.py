"""Putting a batch, or a column, together again after some of its rows were changed and others dropped, or null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from connect import Batch, Schema, Values
from connect.data.values import GroupedValues

B = TypeVar("B", bound=Batch[Any])


def with_groups(batch: B, part: str, groups: Iterable[tuple[Sequence[int], Values]]) -> B:
    """The rows of the batch that are in one of the groups, in their order, with the groups' values or keys.

    Args:
        batch: is not changed.
        part: "values" or "keys".
        groups: ascending row numbers of the batch, and the new values of these rows. No row is in two groups.
    """
    kept = [(rows, values) for rows, values in groups if len(rows)]
    count = sum(len(rows) for rows, _ in kept)
    if not count:
        return batch.slice(0, 0)
    if count == len(batch):
        return batch.with_columns(**{part: _joined(count, kept)})
    # The column is replaced anyway, so its rows need not be selected.
    bare = batch.with_columns(**{part: Values.nulls(len(batch))})
    if len(kept) == 1:
        return bare.take(kept[0][0]).with_columns(**{part: kept[0][1]})
    rows = sorted(row for members, _ in kept for row in members)
    place = {row: new for new, row in enumerate(rows)}
    moved = [([place[row] for row in members], values) for members, values in kept]
    return bare.take(rows).with_columns(**{part: _joined(count, moved)})


def beside_nulls(changed: Values, rows: Sequence[int], length: int, schema: Schema | None) -> Values:
    """A column of this length: the changed values in these rows, nulls with this schema in all others."""
    if len(rows) == length:
        return changed
    there = set(rows)
    nulls = [row for row in range(length) if row not in there]
    rest = (nulls, Values.nulls(len(nulls), schema))
    return GroupedValues(length, [(rows, changed), rest] if len(rows) else [rest])


def _joined(count: int, groups: Sequence[tuple[Sequence[int], Values]]) -> Values:
    return groups[0][1] if len(groups) == 1 else GroupedValues(count, list(groups))
