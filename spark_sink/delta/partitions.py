"""The partitions of a table for which a condition is true."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from connect.errors import ConnectError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_PREFIX: Final = "partition."

#: As deltalake takes it: conditions on the partition's columns.
Partition = list[tuple[str, str, Any]]


def chosen(table: DeltaTable, where: str) -> list[Partition]:
    """The partitions of several files for which a condition is true.

    deltalake takes no SQL for that: its query engine asks a small table of their values, made for the moment.

    Args:
        table: as seen last.
        where: in SQL, on columns that the table is partitioned by.

    Raises:
        ConnectError: the table has no partitions.
        Exception: the condition is no SQL, or names other columns.
    """
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder, write_deltalake

    files = pa.table(table.get_add_actions(flatten=True))
    names = list(table.metadata().partition_columns)
    if not names:
        raise ConnectError("optimize.where chooses partitions, and the table has none.")
    values = files.select([_PREFIX + name for name in names]).rename_columns(names)
    several = [dict(zip(names, part, strict=True)) for part, count in Counter(_tuples(values)).items() if count > 1]
    with tempfile.TemporaryDirectory(prefix="connect-partitions-") as folder:
        write_deltalake(folder, pa.Table.from_pylist(several, values.schema))
        query = QueryBuilder().register("t", DeltaTable(folder))
        found = pa.table(query.execute(f"SELECT * FROM t WHERE ({where})").read_all())  # noqa: S608 - the user's own
    return [[(name, "=", "" if value is None else value) for name, value in row.items()] for row in found.to_pylist()]


def _tuples(values: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in values.columns), strict=True))
