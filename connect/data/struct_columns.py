"""Structs of one declared schema, held field by field: decoded by converters and transformed by columns.

Each field's column is a list of Python values or an Arrow array, whichever it was made as, and is converted to the
other on demand: a transformation that drops one field and casts another touches one column, not a dict a record.
pyarrow is loaded when the first column is needed in Arrow, not before.

Null rows (tombstones) are not part of such columns: `GroupedValues` holds them beside these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from connect.data.column import Constant
from connect.data.columns_text import pyarrow_is_there, struct_texts
from connect.data.field_column import FieldColumn
from connect.data.schema import Schema
from connect.data.values import Values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FieldColumn", "StructColumns", "concat_columns"]

#: With fewer rows lists are faster, and a quiet connector need not load pyarrow.
_WORTH_ARROW: Final = 100


class StructColumns(Values):
    """Structs of one schema as a column for each field. No row is null.

    Args:
        schema: a STRUCT with at least one field.
        columns: one for each field, in the schema's order and of the same length: a `FieldColumn` (as another
            `StructColumns` holds it: passing it on costs nothing), an Arrow array of the field's `arrow_type`, or a
            list of Python values.
    """

    __slots__ = ("_length", "_made", "fields", "struct")

    def __init__(self, schema: Schema, columns: Sequence[FieldColumn | pa.Array | list[Any]]) -> None:
        self.struct = schema
        self.fields = [_held(field.schema, column) for field, column in zip(schema.fields, columns, strict=True)]
        self._length = len(self.fields[0])
        self._made: list[Any] | None = None
        self.schemas = Constant(schema, self._length)

    @property
    def struct_columns(self) -> StructColumns:
        return self

    @property
    def arrow(self) -> StructColumns | None:
        if self._length < _WORTH_ARROW and not any(field.is_arrow for field in self.fields):
            return None
        return self if pyarrow_is_there() else None

    @property
    def constant(self) -> bool:
        return False

    def __len__(self) -> int:
        return self._length

    def field(self, name: str) -> FieldColumn:
        """The column of an existing field, in its current form."""
        field = self.struct.field(name)
        assert field is not None
        return self.fields[field.index]

    def column(self, name: str) -> pa.Array:
        """The column of an existing field, in Arrow. Raises `NoArrowForm`."""
        return self.field(name).array

    @property
    def columns(self) -> list[pa.Array]:
        """All columns in Arrow. Raises `NoArrowForm`."""
        return [field.array for field in self.fields]

    def take(self, rows: Sequence[int]) -> Values:
        return StructColumns(self.struct, [field.take(rows) for field in self.fields])

    def between(self, start: int, stop: int) -> Values:
        return StructColumns(self.struct, [field.between(start, stop) for field in self.fields])

    def to_list(self) -> list[Any]:
        if self._made is None:
            names = tuple(field.name for field in self.struct.fields)
            rows = zip(*(field.items for field in self.fields), strict=True)
            self._made = [dict(zip(names, row, strict=True)) for row in rows]
        return self._made

    def __iter__(self) -> Any:
        return iter(self.to_list())

    def texts(self) -> list[str]:
        return struct_texts(self.struct, self.fields)

    def encoded_texts(self) -> list[bytes]:
        if self.arrow is not None:
            from connect.data import arrow_text

            found = arrow_text.encoded_texts(self.struct, self.fields)
            if found is not None:
                return found
        return super().encoded_texts()

    def encoded_lines(self) -> bytes:
        if self.arrow is not None:
            from connect.data import arrow_text

            found = arrow_text.encoded_lines(self.struct, self.fields)
            if found is not None:
                return found
        return super().encoded_lines()


def concat_columns(parts: Sequence[StructColumns]) -> StructColumns:
    """The rows of columns of one schema, one after another."""
    return StructColumns(
        parts[0].struct,
        [_joined(each) for each in zip(*(part.fields for part in parts), strict=True)],
    )


def _joined(columns: Sequence[FieldColumn]) -> FieldColumn:
    if all(column.is_arrow for column in columns):
        import pyarrow as pa

        return FieldColumn(columns[0].schema, array=pa.concat_arrays([column.array for column in columns]))
    return FieldColumn(columns[0].schema, [item for column in columns for item in column.items])


def _held(schema: Schema, column: FieldColumn | pa.Array | list[Any]) -> FieldColumn:
    if isinstance(column, FieldColumn):
        return column if column.schema is schema else FieldColumn(schema, column._items, column._array)
    return FieldColumn(schema, column) if isinstance(column, list) else FieldColumn(schema, array=column)
