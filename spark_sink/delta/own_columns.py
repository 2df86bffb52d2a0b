"""Columns of a table that no record brings: whether a row is deleted."""

from __future__ import annotations

import pyarrow as pa

from spark_sink.merge_keys import SOFT
from spark_sink.table_settings import TableOptions


def own_columns(options: TableOptions) -> list[pa.Field]:
    """The columns of this kind, whether the table has them or not."""
    if options.deletes and options.delete_mode == SOFT:
        is_boolean = options.delete_column_type == "boolean"
        return [pa.field(options.delete_column, pa.bool_() if is_boolean else pa.timestamp("us", "UTC"))]
    return []
