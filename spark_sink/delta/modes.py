"""Ways of writing rows to a table: append, and overwrite of partitions. See `spark_sink.delta.merge` for the third."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.delta.table import Table

Offsets = Mapping[TopicPartition, int]


def append(table: Table, rows: pa.Table, offsets: Offsets) -> None:
    """Append rows. Both raise as `Table.commit`."""
    from deltalake import write_deltalake

    table.commit(
        lambda delta, properties: write_deltalake(delta, rows, mode="append", commit_properties=properties), offsets
    )


def overwrite(table: Table, rows: pa.Table, where: str | None, offsets: Offsets) -> None:
    """Replace the rows for which a condition holds; without a condition, those of the same partitions."""
    from deltalake import write_deltalake

    condition = where or _same_partitions(table, rows)
    table.commit(
        lambda delta, properties: write_deltalake(
            delta, rows, mode="overwrite", predicate=condition, commit_properties=properties
        ),
        offsets,
    )


def _same_partitions(table: Table, rows: pa.Table) -> str:
    columns = table.partition_columns
    if not columns:
        raise ConnectError(
            f"Table {table.uri} is not partitioned, and mode=overwrite replaces partitions. Set replace.where, or "
            "write to a new table with partition.by."
        )
    found = rows.select(columns).group_by(columns).aggregate([]).to_pylist()
    return " OR ".join(
        "(" + " AND ".join(_equals(name, value) for name, value in partition.items()) + ")" for partition in found
    )


def _equals(name: str, value: Any) -> str:
    return f"{quoted(name)} IS NULL" if value is None else f"{quoted(name)} = {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        value = value.astimezone(dt.UTC).isoformat()
    return "'" + str(value).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """An identifier in deltalake's SQL, with any characters."""
    return '"' + name.replace('"', '""') + '"'
