"""The values of one field of many structs, as a list or in Arrow, converted on demand.

pyarrow is loaded when the first column is needed in Arrow, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from connect.data.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class FieldColumn:
    """The values of one field, as a list, as an Arrow array, or as both once both were used.

    Args:
        schema: of the field.
        items: Python values; the list is not copied.
        array: an Arrow array of `arrow_type(schema)`.
    """

    __slots__ = ("_array", "_items", "schema")

    def __init__(self, schema: Schema, items: list[Any] | None = None, array: pa.Array | None = None) -> None:
        self.schema = schema
        self._items = items
        self._array = array

    def __len__(self) -> int:
        held: Any = self._array if self._items is None else self._items
        return len(held)

    @property
    def is_arrow(self) -> bool:
        """Whether the Arrow form exists already."""
        return self._array is not None

    @property
    def items(self) -> list[Any]:
        """The values as a list. Do not change it."""
        if self._items is None:
            from connect.data.arrow import to_python

            self._items = to_python(self.schema, self._array)
        return self._items

    @property
    def array(self) -> pa.Array:
        """The values as an Arrow array of `arrow_type(schema)`. Raises `NoArrowForm`."""
        if self._array is None:
            from connect.data.arrow import from_python

            self._array = from_python(self.schema, self.items)
        return self._array

    def take(self, rows: Sequence[int]) -> FieldColumn:
        """The values at these rows, in this order."""
        if self._items is not None:
            items = self._items
            return FieldColumn(self.schema, [items[row] for row in rows])
        assert self._array is not None
        import pyarrow as pa

        return FieldColumn(self.schema, array=self._array.take(pa.array(rows, pa.int64())))

    def between(self, start: int, stop: int) -> FieldColumn:
        """The values from row `start` up to, not including, row `stop`."""
        items = None if self._items is None else self._items[start:stop]
        array = None if self._array is None else self._array.slice(start, stop - start)
        return FieldColumn(self.schema, items, array)

    # What is within structs and lists. The items of such a column are dicts and lists.

    def present(self) -> FieldColumn:
        """The values without nulls; the column itself where there are none."""
        if self._array is not None:
            return self if not self._array.null_count else FieldColumn(self.schema, array=self._array.drop_null())
        items = self.items
        return FieldColumn(self.schema, [item for item in items if item is not None]) if None in items else self

    def children(self) -> list[FieldColumn]:
        """The columns of a STRUCT's fields. No value may be null."""
        fields = self.schema.fields
        if self._array is not None:
            return [FieldColumn(f.schema, array=each) for f, each in zip(fields, self._array.flatten(), strict=True)]
        items = self.items
        try:
            return [FieldColumn(field.schema, list(map(itemgetter(field.name), items))) for field in fields]
        except KeyError:  # a field that is absent is null
            return [FieldColumn(field.schema, [item.get(field.name) for item in items]) for field in fields]

    def elements(self) -> tuple[list[int], FieldColumn]:
        """The lengths of an ARRAY's lists, and all of their elements as one column. No value may be null."""
        assert self.schema.value_schema is not None
        if self._array is not None:
            lengths = self._array.value_lengths().to_pylist()
            return lengths, FieldColumn(self.schema.value_schema, array=self._array.flatten())
        lists = self.items
        return list(map(len, lists)), FieldColumn(self.schema.value_schema, list(chain.from_iterable(lists)))

    def entries(self) -> tuple[FieldColumn, FieldColumn]:
        """All keys of a MAP's maps as one column, and all values as another. No map may be null."""
        assert self.schema.key_schema is not None
        assert self.schema.value_schema is not None
        values = list(chain.from_iterable(map(dict.values, self.items)))
        return (
            FieldColumn(self.schema.key_schema, list(chain.from_iterable(self.items))),
            FieldColumn(self.schema.value_schema, values),
        )
