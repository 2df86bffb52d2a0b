"""Upserts the newest row of each key into a table, and deletes the rows of deleted keys: MERGE INTO.

A key has one partition in its topic, and there the record with the largest offset is the newest. Where a key is in
several topics or partitions, the newest of each are compared by their timestamps. With a sequence, the record with the
largest is the newest, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.errors import ConfigError
from spark_sink.merge_rules import is_not_older, missing_sequence
from spark_sink.tables import partial
from spark_sink.tables.fitting import Fitted, Incoming
from spark_sink.tables.partial import DELETED, LACKS, OFFSET, PLACE, WHOLE
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.table import Table
from spark_sink.tables.transaction import Transaction
from spark_sink.tables.types import literal, quoted

TIME: Final = "_connect_time"
_ORIGIN: Final = (OFFSET, PLACE, TIME)
_BARRIER: Final = "_connect_barrier"
_CLEARED: Final = "_connect_cleared"
_RANK: Final = "_connect_rank"


@dataclass(frozen=True, slots=True)
class Merge:
    """How rows are merged.

    Attributes:
        keys: the table's columns of the key.
        sequence: the table's columns that say which of two rows is newer; empty for the order in Kafka.
        deletes: whether a row without a value deletes.
        condition: a further condition on the table's row t and the record's s; None for none.
        partial: whether records may lack columns: see `spark_sink.tables.partial`.
    """

    keys: Sequence[str]
    sequence: Sequence[str] = ()
    deletes: bool = False
    condition: str | None = None
    partial: bool = False

    @classmethod
    def of(
        cls, table: Table, fitted: Fitted, keys: Sequence[Incoming], settings: TableSettings, *, partial: bool
    ) -> Merge:
        """For rows that are fitted to a table.

        Raises:
            ConfigError: the table lacks a column.
        """
        there = {name.lower(): name for name in (*fitted.columns, *fitted.others)}
        if missing := [name for name in settings.sequence if name.lower() not in there]:
            raise ConfigError("merge.sequence.by", missing_sequence(table.name, missing[0]))
        return cls(
            [there[key.name.lower()] for key in keys],
            [there[name.lower()] for name in settings.sequence],
            settings.deletes,
            settings.merge_condition,
            partial,
        )

    def on(self, where: str | None) -> str:
        """The condition under which a row of the table is the record's.

        Args:
            where: a condition that is true for all rows of the table that may match; None without one.
        """
        same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in self.keys)
        return same + "".join(f" AND ({condition})" for condition in (where, self.condition) if condition)

    @property
    def cleared(self) -> bool:
        """Whether rows may be deletions without a sequence, which outdate all rows before them."""
        return self.deletes and bool(self.sequence)


def source(rows: Any, fitted: Fitted, how: Merge, deleted: str) -> Any:
    """The newest row of each key, as the table's columns and our own marks.

    Args:
        rows: the DataFrame of a batch.
        fitted: for the table.
        how: see `Merge`.
        deleted: a condition: the row deletes.
    """
    rows, names = prepared(rows, fitted, how, deleted)
    columns = [*map(quoted, names)]
    whole, cleared = WHOLE, "false"
    if how.cleared:
        key = ", ".join(map(quoted, how.keys))
        barrier = f"max(IF({DELETED} AND {quoted(how.sequence[0])} IS NULL, {OFFSET}, NULL))"
        rows = rows.selectExpr("*", f"{barrier} OVER (PARTITION BY {key}, {PLACE}) AS {_BARRIER}")
        rows = rows.where(f"{_BARRIER} IS NULL OR {OFFSET} >= {_BARRIER}")
        cleared = f"{_BARRIER} IS NOT NULL"
        whole = f"{WHOLE} OR {cleared}"
    marks = [WHOLE, LACKS, _CLEARED, DELETED]
    rows = rows.selectExpr(*columns, f"{whole} AS {WHOLE}", LACKS, f"{cleared} AS {_CLEARED}", DELETED, *_ORIGIN)
    if how.partial:
        rows = partial.completed(rows, names, how.keys, how.sequence)
        marks += partial.marks(names, how.keys, how.sequence)
    elif how.deletes and fitted.others:
        rows = partial.reborn(rows, how.keys, how.sequence)
        marks.append(partial.ENDED)
    return ranked(rows, [*columns, *marks], how).selectExpr(*columns, *marks)


def prepared(rows: Any, fitted: Fitted, how: Merge, deleted: str) -> tuple[Any, list[str]]:
    """Rows as the table's columns, with our own marks and where they come from; and the names of the former.

    Arguments as in `source`. One shuffle serves all windows over a key.
    """
    whole = "_whole" if "_whole" in rows.columns else "false"
    absent = [name for name in how.sequence if name not in fitted.columns]
    rows = rows.selectExpr(
        *fitted.select,
        *(f"CAST(NULL AS string) AS {quoted(name)}" for name in absent),
        f"{whole} AS {WHOLE}",
        f"{'_lacks' if how.partial else 'CAST(NULL AS array<string>)'} AS {LACKS}",
        f"{deleted} AS {DELETED}",
        f"_origin.offset AS {OFFSET}",
        f"struct(_origin.topic, _origin.partition) AS {PLACE}",
        f"_timestamp AS {TIME}",
    )
    return rows.repartition(*map(quoted, how.keys)), [*fitted.columns, *absent]


def ranked(rows: Any, columns: Sequence[str], how: Merge, kinds: Sequence[str] = ()) -> Any:
    """The newest row of each key: within a partition of a topic, then among those.

    Args:
        rows: see `prepared`.
        columns: to keep, beside where rows come from.
        how: see `Merge`.
        kinds: further columns beside the key, of whose values each has a newest row.
    """
    key = ", ".join([*map(quoted, how.keys), *kinds])
    first = "".join(f"{quoted(name)} DESC NULLS LAST, " for name in how.sequence)
    for inside, newest in (
        (f"{key}, {PLACE}", f"{first}{OFFSET} DESC"),
        (key, f"{first}{TIME} DESC NULLS LAST, {OFFSET} DESC, {PLACE} DESC"),
    ):
        rank = f"row_number() OVER (PARTITION BY {inside} ORDER BY {newest}) AS {_RANK}"
        rows = rows.selectExpr(*columns, *_ORIGIN, rank).where(f"{_RANK} = 1")
    return rows


def statement(table: Table, view: str, fitted: Fitted, how: Merge, where: str | None) -> str:
    """MERGE INTO the table FROM a view of `source`.

    Args:
        where: a condition that is true for all rows of the table that may match; None without one.
    """
    changes = [
        f"t.{quoted(name)} = {changed(name, number, how)}"
        for number, name in enumerate(fitted.columns)
        if name not in how.keys
    ]
    ended = partial.has_ended(how.sequence) if how.deletes and not how.partial else "false"
    changes += [f"t.{quoted(name)} = {gone(name, ended)}" for name in fitted.others]
    names = [quoted(name) for name in fitted.columns]
    newer = ""
    if how.sequence:
        newer = f" AND (s.{_CLEARED} OR {is_not_older([(f't.{quoted(n)}', f's.{quoted(n)}') for n in how.sequence])})"
    parts = [f"MERGE INTO {table.sql} AS t USING {quoted(view)} AS s ON {how.on(where)}"]
    if how.deletes:
        parts.append(f"WHEN MATCHED AND s.{DELETED}{newer} THEN DELETE")
    if changes:
        parts.append(f"WHEN MATCHED AND NOT s.{DELETED}{newer} THEN UPDATE SET {', '.join(changes)}")
    parts.append(
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({', '.join(names)}) "
        f"VALUES ({', '.join(f's.{name}' for name in names)})"
    )
    return " ".join(parts)


def changed(name: str, number: int, how: Merge) -> str:
    """The expression for a column of a row that is changed: it stays where the records do not have it.

    Args:
        name: the column's.
        number: among those of the rows.
        how: see `Merge`.
    """
    column = quoted(name)
    if not how.partial:
        return f"s.{column}"
    new = f"IF(array_contains(s.{LACKS}, {literal(name.lower())}), t.{column}, s.{column})"
    if not how.sequence or name in how.sequence:
        return new
    return f"IF({partial.is_still_newer(number, how.sequence)}, {new}, t.{column})"


def gone(name: str, ended: str = "false") -> str:
    """The same for a column that no record of the batch has: one that is the whole row has null there.

    Args:
        name: the column's.
        ended: a condition under which there is nothing left of the row.
    """
    column = quoted(name)
    lacks = f"coalesce(array_contains(s.{LACKS}, {literal(name.lower())}), false)"
    return f"IF({ended} OR (s.{WHOLE} AND NOT {lacks}), NULL, t.{column})"


def merge(rows: Any, view: str, merging: str, transaction: Transaction) -> None:
    """Run a MERGE whose source is a view, once for a transaction."""
    rows.createOrReplaceTempView(view)
    try:
        with transaction.session(rows.sparkSession) as spark:
            spark.sql(merging).collect()
    finally:
        rows.sparkSession.catalog.dropTempView(view)
