"""The values of one key of many schemaless maps, in Arrow. Loads pyarrow only where such a column is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from connect.data.column import Column
from connect.data.field_column import FieldColumn
from connect.data.schema import OPTIONAL_BOOLEAN, OPTIONAL_FLOAT64, OPTIONAL_INT64, OPTIONAL_STRING, Schema

if TYPE_CHECKING:
    import pyarrow as pa

_SCHEMAS: Final[Mapping[str, Schema]] = {
    "int64": OPTIONAL_INT64,
    "double": OPTIONAL_FLOAT64,
    "string": OPTIONAL_STRING,
    "bool": OPTIONAL_BOOLEAN,
}


class ArrowColumn(Column[Any]):
    """Values of one plain type, and nulls. As a sequence it has Python's values, None for null.

    Args:
        array: of int64, double, string or bool.
        absent: whether the map of a row lacks the key where the array has a null; otherwise its value is null there.
    """

    __slots__ = ("_items", "absent", "array")

    def __init__(self, array: pa.Array, *, absent: bool = False) -> None:
        self.array = array
        self.absent = absent and array.null_count > 0
        self._items: list[Any] | None = None

    @property
    def field(self) -> FieldColumn:
        """The same as the values of an optional field of their type, for what is written or cast as such."""
        return FieldColumn(_SCHEMAS[str(self.array.type)], array=self.array)

    def take(self, rows: Sequence[int]) -> ArrowColumn:
        import pyarrow as pa

        return ArrowColumn(self.array.take(pa.array(rows, pa.int64())), absent=self.absent)

    def between(self, start: int, stop: int) -> ArrowColumn:
        return ArrowColumn(self.array.slice(start, stop - start), absent=self.absent)

    def to_list(self) -> list[Any]:
        if self._items is None:
            self._items = self.array.to_pylist()
        return self._items

    def __len__(self) -> int:
        return len(self.array)
