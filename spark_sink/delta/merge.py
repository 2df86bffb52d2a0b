"""Merges rows into a table by their key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect.errors import ConnectError
from spark_sink.delta.modes import Offsets, quoted
from spark_sink.delta.table import Table
from spark_sink.merge_rules import is_not_older, missing_sequence
from spark_sink.rows.newest import Batch
from spark_sink.rows.partial import Completed, RecordColumns, completed


@dataclass(frozen=True, slots=True)
class Merge:
    """How rows are merged.

    Attributes:
        keys: the columns that make the key.
        sequence: the columns that say which of two rows is newer; empty for the order in Kafka.
        condition: a further condition in SQL on the table's row t and the record's s; None for none.
    """

    keys: Sequence[str]
    sequence: Sequence[str] = ()
    condition: str | None = None

    def spelled_as(self, table: Table) -> Merge:
        """With the names of columns as the table spells them.

        Raises:
            ConnectError: the table has no such column.
        """
        spelled = {name.casefold(): name for name in table.columns.names}
        if missing := [name for name in self.sequence if name.casefold() not in spelled]:
            raise ConnectError(missing_sequence(table.uri, missing[0]))
        return Merge(self.keys, [spelled[name.casefold()] for name in self.sequence], self.condition)

    @property
    def on(self) -> str:
        """The condition under which a row of the table is the record's."""
        same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in self.keys)
        return f"{same} AND ({self.condition})" if self.condition else same

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The expressions of the row's sequence and the record's."""
        return [(f"t.{quoted(name)}", f"s.{quoted(name)}") for name in self.sequence]


def upsert(
    table: Table, rows: pa.Table, origins: pa.Table, how: Merge, columns: RecordColumns, offsets: Offsets
) -> None:
    """Merge: the newest row of each key replaces the table's unless that is newer; a deletion removes it.

    deltalake reads those files only that may have the rows' keys, by partitions and statistics.

    Args:
        table: to write to.
        rows: with all columns of the table.
        origins: where they come from, see `Part`.
        how: see `Merge`.
        columns: by number, those that a record has; the others keep their values. None for all.
        offsets: committed with the rows.

    Raises:
        ConnectError: the table lacks a column. Else as `Table.commit`.
    """
    how = how.spelled_as(table)
    batch = Batch(rows, origins, how.keys, how.sequence)
    chosen, cleared = batch.newest()
    deleted = origins.column("deleted").take(chosen)
    found = completed(rows, origins, batch, chosen, columns, outlive=False)
    source, new = partly(found, rows.column_names, how.sequence)
    marks = {}
    for what, mask in (("deleted", deleted), ("cleared", cleared)):
        if pc.any(mask).as_py():
            name = free_name(source, what)
            source = source.append_column(name, mask)
            marks[what] = f"s.{quoted(name)}"
    newer = is_not_older(how.pairs) if how.sequence else None
    if newer and "cleared" in marks:
        newer = f"({marks['cleared']} OR {newer})"
    alive = f"NOT {marks['deleted']}" if "deleted" in marks else None
    cells = {quoted(name): f"s.{quoted(name)}" for name in rows.column_names}
    changed = {quoted(name): new[name] for name in rows.column_names if name in new}

    def merge(delta: Any, properties: Any) -> None:
        merger = started(delta, source, how.on, properties)
        if "deleted" in marks:
            merger = merger.when_matched_delete(_all(marks["deleted"], newer))
        merger.when_matched_update(changed, _all(alive, newer)).when_not_matched_insert(cells, alive).execute()

    table.commit(merge, offsets)


def partly(
    found: Completed, own: Sequence[str], sequence: Sequence[str], source: pa.Table | None = None
) -> tuple[pa.Table, dict[str, str]]:
    """What the columns of a row that exists are set to. One that nothing is said of keeps its value.

    Args:
        found: what the batch says.
        own: the columns of the table.
        sequence: those that say which of two rows is newer.
        source: of the merge; None for the rows.

    Returns:
        the source with marks for columns that only some rows have, and for each column that any record has the
        expression.
    """
    source = found.rows if source is None else source
    numbers = found.numbers.drop_null().unique().to_pylist()
    changed = {}
    if sequence and found.since:
        ended = free_name(source, "ended")
        source = source.append_column(ended, found.ended)
    for name in own:
        having = {number for number, has in enumerate(found.columns) if has is None or name in has}
        if not having.intersection(found.said):
            continue
        changed[name] = f"s.{quoted(name)}"
        if not having.issuperset(numbers):
            mark = free_name(source, "has")
            source = source.append_column(mark, pc.is_in(found.numbers, pa.array(sorted(having), pa.int32())))
            changed[name] = f"CASE WHEN s.{quoted(mark)} THEN s.{quoted(name)} ELSE t.{quoted(name)} END"
        if sequence and name in found.since:
            since = []
            for column in sequence:
                since.append(f"s.{quoted(mark := free_name(source, 'since'))}")
                source = source.append_column(mark, found.since[name].column(column))
            pairs = [(f"t.{quoted(column)}", s) for column, s in zip(sequence, since, strict=True)]
            newer = f"s.{quoted(ended)} OR {is_not_older(pairs)}"
            changed[name] = f"CASE WHEN {newer} THEN {changed[name]} ELSE t.{quoted(name)} END"
    return source, changed


def started(delta: Any, source: pa.Table, on: str, properties: Any) -> Any:
    """A merge of a source s into a table t, to say what is done with which rows."""
    return delta.merge(
        source, on, source_alias="s", target_alias="t", streamed_exec=False, commit_properties=properties
    )


def _all(*conditions: str | None) -> str | None:
    """A condition that is true where all are; None for no condition."""
    return " AND ".join(condition for condition in conditions if condition) or None


def free_name(rows: pa.Table, name: str) -> str:
    """A name that no column has."""
    while name in rows.column_names:
        name += "_"
    return name
