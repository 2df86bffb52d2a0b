"""Upserts the newest row of each key into a table, and deletes the rows of deleted keys: MERGE INTO.

A key has one partition in its topic, and there the record with the largest offset is the newest. Where a key is in
several topics or partitions, the newest of each are compared by their timestamps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from spark_sink.tables.fitting import Fitted, Incoming
from spark_sink.tables.table import Table
from spark_sink.tables.types import literal, quoted

_DELETED: Final = "_connect_deleted"
_WHOLE: Final = "_connect_whole"
_LACKS: Final = "_connect_lacks"
_OFFSET: Final = "_connect_offset"
_TIME: Final = "_connect_time"
_PLACE: Final = "_connect_place"
_RANK: Final = "_connect_rank"
_TXN_APP: Final = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION: Final = "spark.databricks.delta.write.txnVersion"


def source(rows: Any, fitted: Fitted, keys: Sequence[str]) -> Any:
    """The newest row of each key, as the table's columns and whether it is deleted.

    Args:
        rows: the DataFrame of a batch.
        fitted: for the table.
        keys: the table's columns of the key.
    """
    key = ", ".join(map(quoted, keys))
    columns = [*map(quoted, fitted.columns), _WHOLE, _LACKS]
    there = "_whole" in rows.columns
    rows = rows.selectExpr(
        *fitted.select,
        f"{'_whole' if there else 'false'} AS {_WHOLE}",
        f"{'_lacks' if there else 'CAST(NULL AS array<string>)'} AS {_LACKS}",
        f"_value IS NULL AS {_DELETED}",
        f"_origin.offset AS {_OFFSET}",
        f"struct(_origin.topic, _origin.partition) AS {_PLACE}",
        f"_timestamp AS {_TIME}",
    )
    # One shuffle serves both.
    rows = rows.repartition(*map(quoted, keys))
    for inside, newest in (
        (f"{key}, {_PLACE}", f"{_OFFSET} DESC"),
        (key, f"{_TIME} DESC NULLS LAST, {_OFFSET} DESC, {_PLACE} DESC"),
    ):
        rank = f"row_number() OVER (PARTITION BY {inside} ORDER BY {newest}) AS {_RANK}"
        rows = rows.selectExpr(*columns, _DELETED, _OFFSET, _PLACE, _TIME, rank).where(f"{_RANK} = 1")
    return rows.selectExpr(*columns, _DELETED)


def statement(table: Table, view: str, fitted: Fitted, keys: Sequence[str], deletes: bool) -> str:
    """MERGE INTO the table FROM a view of `source`."""
    on = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in keys)
    changes = [_change(name) for name in fitted.columns if name not in keys]
    changes += [f"t.{quoted(name)} = IF(s.{_WHOLE}, NULL, t.{quoted(name)})" for name in fitted.others]
    names = [quoted(name) for name in fitted.columns]
    parts = [f"MERGE INTO {table.sql} AS t USING {quoted(view)} AS s ON {on}"]
    if deletes:
        parts.append(f"WHEN MATCHED AND s.{_DELETED} THEN DELETE")
    if changes:
        parts.append(f"WHEN MATCHED THEN UPDATE SET {', '.join(changes)}")
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


def key_names(fitted: Fitted, keys: Sequence[Incoming]) -> list[str]:
    """The table's names of the key's columns."""
    wanted = {key.name.lower() for key in keys}
    return [name for name in fitted.columns if name.lower() in wanted]


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
