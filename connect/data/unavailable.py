"""Values that a change event does not have, because the database did not send them: Debezium writes a placeholder.

PostgreSQL does not send a large value (TOAST) that an update has not changed. Which form the placeholder has says
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-unavailable-value-placeholder
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from connect.data.schema import Schema, Type
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.values import Values

#: Debezium's default.
UNAVAILABLE: Final = "__debezium_unavailable_value"
_TYPES: Final = frozenset({Type.STRING, Type.BYTES, Type.ARRAY, Type.MAP})
_CLASSES: Final = frozenset({str, bytes, list, dict})


def as_uuid(text: str) -> str:
    """A placeholder among UUIDs: what Java's UUID.nameUUIDFromBytes makes of it."""
    return str(uuid.UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest(), version=3))


class Placeholder:
    """Debezium's placeholder in each of its forms.

    Args:
        text: as `unavailable.value.placeholder` of the source says; not empty.
    """

    def __init__(self, text: str) -> None:
        binary = text.encode()
        encoded = base64.b64encode(binary).decode()
        self._text = text
        self._scalars = frozenset({text, binary, encoded})
        self._lists: list[list[Any]] = [[text], [binary], [encoded], [as_uuid(text)], list(binary)]

    def fields_of(self, row: Mapping[str, Any]) -> list[str]:
        """The fields of a row that have no value."""
        return [name for name, value in row.items() if type(value) in _CLASSES and self._is(value)]

    def _is(self, value: Any) -> bool:
        if isinstance(value, str | bytes):
            return value in self._scalars
        if isinstance(value, list):
            return value in self._lists
        return isinstance(value, dict) and value == {self._text: self._text}

    def taken_out(self, columns: Sequence[FieldColumn]) -> tuple[list[FieldColumn], dict[int, list[int]]]:
        """Columns with null where they have no value, and the numbers of those columns for each such row."""
        found: dict[int, list[int]] = {}
        made = list(columns)
        for number, column in enumerate(columns):
            rows = self._rows_of(column)
            for row in rows:
                found.setdefault(row, []).append(number)
            if rows:
                items = list(column.items)
                for row in rows:
                    items[row] = None
                made[number] = FieldColumn(column.schema, items)
        return made, found

    def lacking(self, values: Values) -> Iterator[tuple[list[int], Values]]:
        """The rows of structs that lack values, and these without the fields that they lack."""
        for rows, group in values.groups():
            for names, at in self._by_names(group).items():
                yield [rows[place] for place in at], _without(group.take(at), names)

    def rows_lacking(self, values: Values) -> dict[frozenset[str], list[int]]:
        """The rows of structs that lack values, by the names of these fields."""
        found: dict[frozenset[str], list[int]] = {}
        for rows, group in values.groups():
            for names, at in self._by_names(group).items():
                found.setdefault(names, []).extend(rows[place] for place in at)
        return found

    def _by_names(self, group: Values) -> dict[frozenset[str], list[int]]:
        """The rows of values of one schema that lack some, by the names of these fields."""
        held = group.struct_columns
        if held is not None:
            names = [field.name for field in held.struct.fields]
            names_of = self.lacking_in(dict(zip(names, held.fields, strict=True)))
        else:
            structs = enumerate(group.to_list())
            names_of = {row: self.fields_of(item) for row, item in structs if isinstance(item, dict)}
        found: dict[frozenset[str], list[int]] = {}
        for row, lacking in sorted(names_of.items()):
            if lacking:
                found.setdefault(frozenset(lacking), []).append(row)
        return found

    def lacking_in(self, columns: Mapping[str, FieldColumn]) -> dict[int, list[str]]:
        """For each row that lacks values, the names of those columns."""
        found: dict[int, list[str]] = {}
        for name, column in columns.items():
            for row in self._rows_of(column):
                found.setdefault(row, []).append(name)
        return found

    def _rows_of(self, column: FieldColumn) -> list[int]:
        """The rows of a column that have no value."""
        kind = column.schema.type
        if kind not in _TYPES:
            return []
        if kind is Type.STRING and column.is_arrow:
            import pyarrow.compute as pc

            if not pc.any(pc.equal(column.array, self._text)).as_py():
                return []
        elif (kind is Type.STRING and self._text not in column.items) or not any(column.items):
            return []
        return [row for row, value in enumerate(column.items) if value is not None and self._is(value)]


def _without(values: Values, names: frozenset[str]) -> Values:
    """Structs of one schema without some fields."""
    schema, held = values.schemas[0], values.struct_columns
    kept = None if schema is None else [field for field in schema.fields if field.name not in names]
    smaller = None if kept is None else Schema.struct({field.name: field.schema for field in kept})
    if held is not None and smaller is not None and kept:
        return StructColumns(smaller, [held.fields[field.index] for field in kept])
    items = [{name: cell for name, cell in item.items() if name not in names} for item in values.to_list()]
    return Values(items, smaller)
