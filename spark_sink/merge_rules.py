"""Rules of merges with Spark and without, in SQL that both engines understand. The table's row is t, the record's s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: How many values of a partition column a merge lists, to read the files of these partitions only; a range beyond that.
MOST_VALUES: Final = 100


def is_not_older(sequence: Sequence[tuple[str, str]], tie: str = "true") -> str:
    """A condition: one sequence is at least another. It may be null where it is not true.

    The first column that differs decides; null is smaller than any value.

    Args:
        sequence: expressions for each column: the other's, and that of the one.
        tie: a condition that decides where all are equal.
    """
    condition = tie
    for other, one in reversed(sequence):
        larger = f"{one} > {other} OR ({other} IS NULL AND {one} IS NOT NULL)"
        condition = f"({larger} OR (({one} IS NOT DISTINCT FROM {other}) AND {condition}))"
    return condition


@dataclass(frozen=True, slots=True)
class SoftMarks:
    """What a batch says of a key, beside the columns of its newest record: names of columns, quoted.

    A batch's records come in two kinds: those that have a sequence, of which the newest counts, and deletions without
    one, which count whatever the row's sequence is.

    Attributes:
        has_row: whether there is a record that is not a deletion.
        has_order: whether there is a record or a deletion with a sequence.
        is_dead: whether the key is deleted behind the newest of them.
        dies: whether there is a deletion without a sequence.
        died_at: when it was deleted, if it is; else null.
        dies_at: when it was deleted without a sequence; null where it was not.
        row_sequence: the sequence of the newest record that is not a deletion.
    """

    has_row: str
    has_order: str
    is_dead: str
    dies: str
    died_at: str
    dies_at: str
    row_sequence: Sequence[str]


@dataclass(frozen=True, slots=True)
class SoftMerge:
    """A merge that keeps deleted rows.

    Attributes:
        sequence: the quoted columns of the table that say which record is newer; in the source those of the newest.
        column: the quoted column that says that a row is deleted.
        is_timestamp: whether that holds the time of the deletion.
        marks: see `SoftMarks`.
    """

    sequence: Sequence[str]
    column: str
    is_timestamp: bool
    marks: SoftMarks

    @property
    def newer(self) -> str:
        """Whether the batch's newest record or deletion is at least as new as the row."""
        order = is_not_older([(f"t.{name}", f"s.{name}") for name in self.sequence])
        return f"(s.{self.marks.has_order} AND {order})"

    @property
    def changes(self) -> str:
        """Whether a row that matches is changed."""
        return f"({self.newer} OR s.{self.marks.dies})"

    @property
    def is_new_row(self) -> str:
        """Whether what matches no row becomes one: of a deletion only if it protects from later, older records."""
        marks = self.marks
        return f"(s.{marks.has_row} OR s.{marks.has_order})" if self.sequence else f"s.{marks.has_row}"

    def value(self, column: str, new: str) -> str:
        """What a row's column is set to.

        Args:
            column: quoted.
            new: the expression of the batch's value.
        """
        if column in self.sequence:
            return f"CASE WHEN {self.newer} THEN {new} ELSE t.{column} END"
        pairs = zip((f"t.{name}" for name in self.sequence), (f"s.{n}" for n in self.marks.row_sequence), strict=True)
        return f"CASE WHEN s.{self.marks.has_row} AND {is_not_older(list(pairs))} THEN {new} ELSE t.{column} END"

    @property
    def deleted(self) -> str:
        """What the column that says that a row is deleted is set to."""
        dies = f"s.{self.marks.dies_at}" if self.is_timestamp else "true"
        older = f"CASE WHEN s.{self.marks.dies} THEN {dies} ELSE t.{self.column} END"
        return f"CASE WHEN {self.newer} THEN {self.new_deleted} ELSE {older} END"

    @property
    def new_deleted(self) -> str:
        """The same of a new row."""
        return f"s.{self.marks.died_at}" if self.is_timestamp else f"s.{self.marks.is_dead}"


def missing_sequence(table: str, column: str) -> str:
    """The error about a table without a column of `merge.sequence.by`."""
    return (
        f'The table "{table}" has no column "{column}", which says whether a record is newer, and no record has '
        "brought it a value. Name a field of the value, or a column of metadata.columns."
    )
