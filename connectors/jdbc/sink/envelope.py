"""Debezium's events: the row that they describe, or its deletion.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events describes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from connect import Schema, Type, Values
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.values import GroupedValues

_TRUNCATE = "t"
_MESSAGE = "m"


def is_envelope(schema: Schema | None) -> bool:
    """Whether values of this schema are events of Debezium."""
    return (
        schema is not None
        and schema.type is Type.STRUCT
        and (schema.name or "").endswith(".Envelope")
        and schema.field("op") is not None
        and schema.field("after") is not None
    )


def opened(values: Values) -> tuple[Values, list[int], list[int]]:
    """The rows of events: the state after each, null for a deletion; other values as they are.

    Returns:
        the values, the rows at which the table was emptied, and those that describe no row at all. The values of these
        are null.
    """
    emptied: list[int] = []
    nothing: list[int] = []
    groups: list[tuple[Sequence[int], Values]] = []
    changed = False
    for rows, group in values.groups():
        schema = group.schemas[0] if len(group) else None
        if not is_envelope(schema):
            groups.append((rows, group))
            continue
        assert schema is not None
        changed = True
        after = schema.field("after")
        assert after is not None
        held = group.struct_columns
        if held is not None:
            ops, column = held.field("op").items, held.field("after")
        else:
            items = [item or {} for item in group.to_list()]
            ops = [item.get("op") for item in items]
            column = FieldColumn(after.schema, [item.get("after") for item in items])
        for row, op in zip(rows, ops, strict=True):
            if op == _TRUNCATE:
                emptied.append(row)
            elif op == _MESSAGE:
                nothing.append(row)
        groups.extend(_rows(rows, after.schema, column))
    return (GroupedValues(len(values), groups), emptied, nothing) if changed else (values, [], [])


def _rows(rows: Sequence[int], schema: Schema, column: FieldColumn) -> list[tuple[Sequence[int], Values]]:
    if column.is_arrow and column.array.null_count == 0:
        inner = [
            FieldColumn(field.schema, array=child)
            for field, child in zip(schema.fields, column.array.flatten(), strict=True)
        ]
        return [(rows, StructColumns(schema, inner))]
    items = column.items
    there = [at for at, item in enumerate(items) if item is not None]
    gone = [at for at, item in enumerate(items) if item is None]
    found: list[tuple[Sequence[int], Values]] = []
    if there:
        found.append(([rows[at] for at in there], Values([items[at] for at in there], schema)))
    if gone:
        found.append(([rows[at] for at in gone], Values.nulls(len(gone))))
    return found
