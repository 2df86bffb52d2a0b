"""Structs in Arrow columns, from Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.data.arrow import arrow_type, from_python
from connect.data.column import NoArrowForm
from connect.data.schema import Schema, Type
from connect.data.struct_columns import StructColumns


def of_rows(schema: Schema, items: Sequence[Mapping[str, Any]]) -> StructColumns | None:
    """Arrow columns of structs as Python values; None where the schema or a value has no Arrow form."""
    if schema.type is not Type.STRUCT or arrow_type(schema) is None:
        return None
    try:
        return StructColumns(schema, [from_python(f.schema, [i.get(f.name) for i in items]) for f in schema.fields])
    except NoArrowForm:
        return None
