"""Columns of a table that no record brings: whether a row is deleted, when a version was valid, what did not fit."""

from __future__ import annotations

import pyarrow as pa

from connect.errors import ConnectError
from spark_sink.merge_keys import SOFT
from spark_sink.merge_rules import missing_sequence
from spark_sink.table_settings import TableOptions


def own_columns(options: TableOptions, uri: str, columns: pa.Schema) -> list[pa.Field]:
    """The columns of this kind, whether the table has them or not.

    Args:
        options: of the sink.
        uri: of the table.
        columns: of the records.

    Raises:
        ConnectError: the records do not have the column whose type is needed.
    """
    rescued = [] if options.rescued is None else [pa.field(options.rescued, pa.string())]
    if options.ends is not None:
        types = {field.name.casefold(): field.type for field in columns}
        sequence = options.sequence[0]
        if sequence.casefold() not in types:
            raise ConnectError(missing_sequence(uri, sequence))
        kind = types[sequence.casefold()]
        moments = [pa.field(name, kind) for name in (options.ends.valid_from, options.ends.valid_to)]
        return [*moments, pa.field(options.ends.is_current, pa.bool_()), *rescued]
    if options.deletes and options.delete_mode == SOFT:
        is_boolean = options.delete_column_type == "boolean"
        kind = pa.bool_() if is_boolean else pa.timestamp("us", "UTC")
        return [pa.field(options.delete_column, kind), *rescued]
    return rescued
