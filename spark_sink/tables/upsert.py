"""Upserts the newest row of each key into a table, and deletes the rows of deleted keys: MERGE INTO.

A key has one partition in its topic, and there the record with the largest offset is the newest. Where a key is in
several topics or partitions, the newest of each are compared by their timestamps. With a sequence, the record with the
largest is the newest, wherever it stands.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.errors import ConfigError
from spark_sink.merge_rules import is_not_older, missing_sequence
from spark_sink.tables.fitting import Fitted, Incoming
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.table import Table
from spark_sink.tables.types import literal, quoted

_DELETED: Final = "_connect_deleted"
_WHOLE: Final = "_connect_whole"
_LACKS: Final = "_connect_lacks"
_OFFSET: Final = "_connect_offset"
_TIME: Final = "_connect_time"
_PLACE: Final = "_connect_place"
_ORIGIN: Final = (_OFFSET, _PLACE, _TIME)
_BARRIER: Final = "_connect_barrier"
_CLEARED: Final = "_connect_cleared"
_RANK: Final = "_connect_rank"
_TXN_APP: Final = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION: Final = "spark.databricks.delta.write.txnVersion"


@dataclass(frozen=True, slots=True)
class Merge:
    """How rows are merged.

    Attributes:
        keys: the table's columns of the key.
        sequence: the table's columns that say which of two rows is newer; empty for the order in Kafka.
        deletes: whether a row without a value deletes.
        condition: a further condition on the table's row t and the record's s; None for none.
    """

    keys: Sequence[str]
    sequence: Sequence[str] = ()
    deletes: bool = False
    condition: str | None = None

    @classmethod
    def of(cls, table: Table, fitted: Fitted, keys: Sequence[Incoming], settings: TableSettings) -> Merge:
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
        )

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
    key = ", ".join(map(quoted, how.keys))
    there = "_whole" in rows.columns
    absent = [name for name in how.sequence if name not in fitted.columns]
    rows = rows.selectExpr(
        *fitted.select,
        *(f"CAST(NULL AS string) AS {quoted(name)}" for name in absent),
        f"{'_whole' if there else 'false'} AS {_WHOLE}",
        f"{'_lacks' if there else 'CAST(NULL AS array<string>)'} AS {_LACKS}",
        f"{deleted} AS {_DELETED}",
        f"_origin.offset AS {_OFFSET}",
        f"struct(_origin.topic, _origin.partition) AS {_PLACE}",
        f"_timestamp AS {_TIME}",
    )
    # One shuffle serves all windows.
    rows = rows.repartition(*map(quoted, how.keys))
    columns = [*map(quoted, (*fitted.columns, *absent))]
    whole, lacks, cleared = _WHOLE, _LACKS, "false"
    if how.cleared:
        barrier = f"max(IF({_DELETED} AND {quoted(how.sequence[0])} IS NULL, {_OFFSET}, NULL))"
        rows = rows.selectExpr("*", f"{barrier} OVER (PARTITION BY {key}, {_PLACE}) AS {_BARRIER}")
        rows = rows.where(f"{_BARRIER} IS NULL OR {_OFFSET} >= {_BARRIER}")
        cleared = f"{_BARRIER} IS NOT NULL"
        whole, lacks = f"{_WHOLE} OR {cleared}", f"IF({cleared}, NULL, {_LACKS})"
    marks = [_WHOLE, _LACKS, _CLEARED, _DELETED]
    rows = rows.selectExpr(
        *columns, f"{whole} AS {_WHOLE}", f"{lacks} AS {_LACKS}", f"{cleared} AS {_CLEARED}", *marks[3:], *_ORIGIN
    )
    first = "".join(f"{quoted(name)} DESC NULLS LAST, " for name in how.sequence)
    for inside, newest in (
        (f"{key}, {_PLACE}", f"{first}{_OFFSET} DESC"),
        (key, f"{first}{_TIME} DESC NULLS LAST, {_OFFSET} DESC, {_PLACE} DESC"),
    ):
        rank = f"row_number() OVER (PARTITION BY {inside} ORDER BY {newest}) AS {_RANK}"
        rows = rows.selectExpr(*columns, *marks, *_ORIGIN, rank).where(f"{_RANK} = 1")
    return rows.selectExpr(*columns, *marks)


def statement(table: Table, view: str, fitted: Fitted, how: Merge, where: str | None) -> str:
    """MERGE INTO the table FROM a view of `source`.

    Args:
        where: a condition that is true for all rows of the table that may match; None without one.
    """
    on = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in how.keys)
    on += "".join(f" AND ({condition})" for condition in (where, how.condition) if condition)
    changes = [_change(name) for name in fitted.columns if name not in how.keys]
    changes += [f"t.{quoted(name)} = IF(s.{_WHOLE}, NULL, t.{quoted(name)})" for name in fitted.others]
    names = [quoted(name) for name in fitted.columns]
    newer = ""
    if how.sequence:
        newer = f" AND (s.{_CLEARED} OR {is_not_older([quoted(name) for name in how.sequence])})"
    parts = [f"MERGE INTO {table.sql} AS t USING {quoted(view)} AS s ON {on}"]
    if how.deletes:
        parts.append(f"WHEN MATCHED AND s.{_DELETED}{newer} THEN DELETE")
    if changes:
        parts.append(f"WHEN MATCHED AND NOT s.{_DELETED}{newer} THEN UPDATE SET {', '.join(changes)}")
    parts.append(
        f"WHEN NOT MATCHED AND NOT s.{_DELETED} THEN INSERT ({', '.join(names)}) "
        f"VALUES ({', '.join(f's.{name}' for name in names)})"
    )
    return " ".join(parts)


def _change(name: str) -> str:
    column = quoted(name)
    return f"t.{column} = IF(array_contains(s.{_LACKS}, {literal(name.lower())}), t.{column}, s.{column})"


def merge(rows: Any, view: str, merging: str, app_id: str, version: int) -> None:
    """Run a MERGE whose source is a view, once for a transaction's version.

    Delta takes a MERGE's transaction from the session's configuration. A streaming query has a session of its own in
    Spark itself; over Spark Connect it shares that of the client with others, so a clone of it serves.
    """
    rows.createOrReplaceTempView(view)
    try:
        with _own_session(rows.sparkSession) as spark:
            spark.conf.set(_TXN_APP, app_id)
            spark.conf.set(_TXN_VERSION, str(version))
            try:
                spark.sql(merging).collect()
            finally:
                spark.conf.unset(_TXN_APP)
                spark.conf.unset(_TXN_VERSION)
    finally:
        rows.sparkSession.catalog.dropTempView(view)


@contextlib.contextmanager
def _own_session(spark: Any) -> Iterator[Any]:
    if not hasattr(type(spark), "cloneSession"):
        yield spark
        return
    own = spark.cloneSession()
    try:
        yield own
    finally:
        own.client.release_session()
        own.client.close()
