"""Records without a value, as rows that have nothing but the key which they delete."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from connect.data.schema import Schema
from connect.data.tables import Unfit, rows_of, table_schema
from connect.data.values import Values
from spark_sink.iceberg.values import converted


def key_rows(keys: Values, schema: Schema, id_columns: Sequence[str]) -> tuple[list[int], pa.StructArray]:
    """The rows to delete.

    Args:
        keys: of the records: structs with the id columns, or values of the only one.
        schema: of the table's rows.
        id_columns: that make the key.

    Returns:
        which of the keys are complete, and a row for each of those: all columns but the key's are null.
    """
    fields = {name: field.schema.replace(optional=False) for name in id_columns if (field := schema.field(name))}
    wanted = Schema.struct(fields)
    made = [_key(item, id_columns) for item in keys.to_list()]
    found = [at for at, key in enumerate(made) if key is not None]
    values = converted(Values([made[at] for at in found]), wanted)
    try:
        rows = rows_of(values, wanted)
    except Unfit as unfit:
        wrong = set(unfit.rows)
        fine = [at for at in range(len(found)) if at not in wrong]
        found, rows = [found[at] for at in fine], rows_of(values.take(fine), wanted)
    columns = table_schema(schema)
    held = dict(zip((field.name for field in rows.type), rows.flatten(), strict=True))
    arrays = [held[f.name] if f.name in held else pa.nulls(len(rows), f.type) for f in columns]
    return found, pa.StructArray.from_arrays(arrays, fields=list(columns))


def _key(item: object, id_columns: Sequence[str]) -> dict[str, object] | None:
    if isinstance(item, dict):
        return {name: item[name] for name in id_columns} if all(item.get(n) is not None for n in id_columns) else None
    return {id_columns[0]: item} if item is not None and len(id_columns) == 1 else None
