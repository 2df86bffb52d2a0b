"""Rows that have a value in each of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from connect.errors import ConnectError


def complete(
    kept: Sequence[int], rows: pa.StructArray, wanted: Mapping[str, str], unfit: dict[int, str], called: str
) -> tuple[Sequence[int], pa.StructArray]:
    """The rows in which no wanted column is null, and those of records without a value.

    Args:
        kept: the records of the rows.
        rows: null for a record without a value.
        wanted: columns, and what each of them does: "is part of its key".
        unfit: gets a reason for each of the other records.
        called: what such a column is called in messages; its name is put in.

    Raises:
        ConnectError: a column has a type that can be compared with nothing.
    """
    for name, what in wanted.items():
        if pa.types.is_nested(rows.type.field(name).type):
            raise ConnectError(f"{called.format(name)} holds {rows.type.field(name).type}: that is no key.")
        missing = pc.and_(pc.is_null(pc.struct_field(rows, name)), rows.is_valid())
        if pc.any(missing).as_py():
            gone = missing.to_pylist()
            unfit.update(
                (row, f'its "{name}" is null, and that {what}.') for row, out in zip(kept, gone, strict=True) if out
            )
            kept = [row for row, out in zip(kept, gone, strict=True) if not out]
            rows = rows.filter(pc.invert(missing))
    return kept, rows
