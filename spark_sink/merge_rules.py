"""Rules of merges with Spark and without, in SQL that both engines understand. The table's row is t, the record's s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

#: How many values of a partition column a merge lists, to read the files of these partitions only; a range beyond that.
MOST_VALUES: Final = 100


def is_not_older(sequence: Sequence[str]) -> str:
    """A condition: the record's sequence is at least the row's. It may be null where it is not true.

    The first column that differs decides; null is smaller than any value.

    Args:
        sequence: quoted names of columns.
    """
    condition = "true"
    for column in reversed(sequence):
        mine, theirs = f"t.{column}", f"s.{column}"
        larger = f"{theirs} > {mine} OR ({mine} IS NULL AND {theirs} IS NOT NULL)"
        condition = f"({larger} OR (({theirs} IS NOT DISTINCT FROM {mine}) AND {condition}))"
    return condition


def missing_sequence(table: str, column: str) -> str:
    """The error about a table without a column of `merge.sequence.by`."""
    return (
        f'The table "{table}" has no column "{column}", which says whether a record is newer, and no record has '
        "brought it a value. Name a field of the value, or a column of metadata.columns."
    )
