"""Blocks: how batches are written for the JVM, and read when they come back.

Little endian. A block has the number of its rows, the schemas that occur in it (`schemas`), then, from the next multiple
of eight bytes on, its columns. Texts and bytes have their length in front. A column begins with its form:

| form | what follows |
|---|---|
| typed | a flag and, if it is 1, the validity bitmap; then the buffers of the Arrow type of its schema, each from a multiple of eight bytes on; children of structs and lists are columns |
| packed | the length of what follows, and the values of all rows in MessagePack (`packed`). For what has no Arrow form: maps, values without a schema |
| fields | of structs, none of them null: a column for each field |
| constant | the length of what follows, and one value for all rows in MessagePack |

Values with different schemas are written in groups; nulls are a group of their own, without a column.
"""  # noqa: E501  rows of a table

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from operator import is_, itemgetter
from typing import Any, Final

import pyarrow as pa

from connect.data import logical
from connect.data.arrow import arrow_type
from connect.data.column import Column, Constant, NoArrowForm, Plain
from connect.data.field_column import FieldColumn
from connect.data.headers import NO_HEADERS, Header, Headers
from connect.data.schema import INT_BITS, Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues, Values
from connect.java.crossing.packed import pack, paired, unpack
from connect.java.crossing.schemas import schema_of, text_of

TYPED, PACKED, FIELDS, CONSTANT = range(4)
_INT, _LONG = struct.Struct("<i"), struct.Struct("<q")
_IS_NULL: Final = partial(is_, None)
_PADDING: Final = bytes(8)
_BITS: Final = 8


class Writer:
    """A block that is written: columns in the order in which the other end reads them, then `done`."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._length = 0
        self._schemas: dict[Schema, int] = {}

    def done(self, rows: int) -> bytearray:
        """The block. It can be changed, as JPype asks of memory that Java is to see."""
        front = Writer()
        front.integer(rows)
        front.integer(len(self._schemas))
        for schema in self._schemas:
            front.text(text_of(schema))
        front._align()
        return bytearray().join((*front._parts, *self._parts))

    def integer(self, number: int) -> None:
        """A number of 32 bits."""
        self._put(_INT.pack(number))

    def text(self, encoded: bytes) -> None:
        """A text in UTF-8."""
        self._put(_INT.pack(len(encoded)) + encoded)

    def same(self, value: Any) -> None:
        """A column with one value for all rows."""
        self.integer(CONSTANT)
        self._packed(value)

    def plain(self, schema: Schema, column: Column[Any]) -> None:
        """A column of values of one schema."""
        if column.constant and len(column):
            self.same(column[0])
        else:
            self.field(FieldColumn(schema, column.to_list()))

    def values(self, values: Values) -> None:
        """Keys or values, in groups of one schema."""
        groups = [part for rows, group in values.groups() for part in _parted(rows, group)]
        self.integer(len(groups))
        for rows, group, nulls in groups:
            schema = group.schemas[0]
            self.integer(self._index(schema))
            self.integer(int(nulls))
            self.integer(len(rows))
            if len(groups) > 1:
                self._put(struct.pack(f"<{len(rows)}i", *rows))
            if not nulls:
                self._group(schema, group)

    def headers(self, headers: Column[Headers]) -> None:
        """Converted headers, of each row."""
        if headers.constant and not (len(headers) and headers[0]):
            self.integer(0)
            return
        self.integer(1)
        self._packed(
            [
                [(each.key, self._index(each.schema), _crossing(each.schema, each.value)) for each in row]
                for row in headers
            ]
        )

    def raw_headers(self, headers: Column[Any]) -> None:
        """Headers as they lie in Kafka, of each row."""
        if not any(headers):
            self.integer(0)
            return
        self.integer(1)
        self._packed([row or () for row in headers])

    def field(self, column: FieldColumn) -> None:
        """The values of a field: typed where they have an Arrow form, packed otherwise."""
        array = None
        if arrow_type(column.schema) is not None and (column.is_arrow or _fits(column)):
            try:
                array = column.array
            except NoArrowForm:  # a value that Arrow has no room for, or that does not fit
                array = None
        if array is None:
            self.integer(PACKED)
            self._packed(_crossing(column.schema, column.items))
        else:
            self._typed(column.schema, array)

    def _group(self, schema: Schema | None, values: Values) -> None:
        columns = values.struct_columns
        if columns is not None and columns.struct == schema:
            self._fields(columns.fields)
        elif schema is not None and schema.type is Type.STRUCT:
            items = values.to_list()
            self._fields([FieldColumn(field.schema, _of_field(items, field.name)) for field in schema.fields])
        elif schema is None:
            self.integer(PACKED)
            self._packed(values.to_list())
        else:
            self.field(FieldColumn(schema, values.to_list()))

    def _fields(self, columns: Iterable[FieldColumn]) -> None:
        self.integer(FIELDS)
        for column in columns:
            self.field(column)

    def _typed(self, schema: Schema, array: pa.Array) -> None:
        self.integer(TYPED)
        expected = arrow_type(schema)
        assert expected is not None
        if array.type != expected:
            array = array.cast(expected)
        if array.offset:
            array = pa.concat_arrays([array, array[:0]])  # a copy whose buffers begin with its first row
        buffers = array.buffers()
        self.integer(int(array.null_count > 0))
        if array.null_count:
            self._buffer(buffers[0], (len(array) + 7) // _BITS)
        if schema.type is Type.STRUCT:
            for field, child in zip(schema.fields, array.flatten(), strict=True):
                self._typed(field.schema, child)
        elif schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
            offsets = array.offsets if start == 0 else pa.compute.subtract(array.offsets, start)
            self._buffer(offsets.buffers()[1], 4 * (len(array) + 1), offsets.offset * 4)
            self._typed(schema.value_schema, array.values[start:end])
        elif pa.types.is_string(expected) or pa.types.is_binary(expected):
            if len(array):
                self._buffer(buffers[1], 4 * (len(array) + 1))
                size = _INT.unpack_from(buffers[1], 4 * len(array))[0]
                self._buffer(buffers[2], size)
            else:
                self._align()
                self.integer(0)
                self._align()
        elif schema.type is Type.BOOLEAN:
            self._buffer(buffers[1], (len(array) + 7) // _BITS)
        else:
            self._buffer(buffers[1], len(array) * expected.bit_width // _BITS)

    def _buffer(self, buffer: pa.Buffer | None, size: int, start: int = 0) -> None:
        self._align()
        if size:
            assert buffer is not None
            self._put(memoryview(buffer)[start : start + size])

    def _packed(self, value: Any) -> None:
        packed = pack(value)
        self.integer(len(packed))
        self._put(packed)

    def _index(self, schema: Schema | None) -> int:
        return -1 if schema is None else self._schemas.setdefault(schema, len(self._schemas))

    def _align(self) -> None:
        if rest := self._length % _BITS:
            self._put(_PADDING[rest:])

    def _put(self, part: Any) -> None:
        self._parts.append(part)
        self._length += len(part)


def _parted(rows: Sequence[int], group: Values) -> list[tuple[Sequence[int], Values, bool]]:
    """A group without its nulls, and its nulls."""
    if group.struct_columns is not None:
        return [(rows, group, False)]
    items = group.to_list()
    if not any(map(_IS_NULL, items)):
        return [(rows, group, False)] if len(items) else []
    present = [row for row, item in enumerate(items) if item is not None]
    if not present:
        return [(rows, group, True)]
    nulls = [row for row, item in enumerate(items) if item is None]
    parts = [(present, False), (nulls, True)]
    return [([rows[row] for row in chosen], group.take(chosen), empty) for chosen, empty in parts]


def _fits(column: FieldColumn) -> bool:
    """Whether the values are what their schema says: Arrow would cut 1.5 to 1 for an INT64, and Java refuses it."""
    return column.schema.type not in INT_BITS or float not in map(type, column.items)


def _of_field(structs: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The values of a field, None where a struct has none."""
    try:
        return list(map(itemgetter(name), structs))
    except KeyError:
        return [struct.get(name) for struct in structs]


class Reader:
    """A block that is read, in the order in which the other end wrote it.

    Attributes:
        rows: how many it has.
    """

    def __init__(self, block: memoryview) -> None:
        self._block = block
        self._buffer = pa.py_buffer(block)
        self._at = 0
        self.rows = self.integer()
        self._schemas = [schema_of(self._bytes()) for _ in range(self.integer())]
        self._align()

    def integer(self) -> int:
        """A number of 32 bits."""
        found: int = _INT.unpack_from(self._block, self._at)[0]
        self._at += 4
        return found

    def integers(self, count: int) -> list[int]:
        """As many of them."""
        found = list(struct.unpack_from(f"<{count}i", self._block, self._at))
        self._at += 4 * count
        return found

    def long(self) -> int:
        """A number of 64 bits."""
        found: int = _LONG.unpack_from(self._block, self._at)[0]
        self._at += 8
        return found

    def plain(self, schema: Schema | None) -> Column[Any]:
        """A column of values of one schema, or of values without one."""
        form = self.integer()
        if form == CONSTANT:
            return Constant(self._packed(), self.rows)
        if form == PACKED:
            return Plain(self._packed())
        assert schema is not None
        return Plain(FieldColumn(schema, array=self._typed(schema, self.rows)).items)

    def values(self) -> Values:
        """Keys or values."""
        count = self.integer()
        groups = [self._group(count) for _ in range(count)]
        if count == 1:
            return groups[0][1]
        return GroupedValues(self.rows, groups) if groups else Values([])

    def headers(self) -> Column[Headers]:
        """Converted headers, of each row."""
        return Plain([self._headers(row) for row in self._packed()])

    def raw_headers(self) -> Column[Any] | None:
        """Headers as they lie in Kafka, None where none has changed."""
        if not self.integer():
            return None
        return Plain([[(key, data) for key, data in row] or None for row in self._packed()])

    def field(self, schema: Schema, rows: int) -> FieldColumn:
        """The values of a field."""
        form = self.integer()
        if form == PACKED:
            return FieldColumn(schema, self._packed())
        return FieldColumn(schema, array=self._typed(schema, rows))

    def _group(self, groups: int) -> tuple[Sequence[int], Values]:
        index = self.integer()
        schema = None if index < 0 else self._schemas[index]
        nulls, count = self.integer(), self.integer()
        rows: Sequence[int] = range(count) if groups == 1 else self.integers(count)
        if nulls:
            return rows, Values.nulls(count, schema)
        if schema is None:
            self.integer()
            return rows, Values(self._packed())
        if schema.type is not Type.STRUCT:
            return rows, Values(self.field(schema, count).items, schema)
        self.integer()
        if not schema.fields:
            return rows, Values([{} for _ in range(count)], schema)
        return rows, StructColumns(schema, [self.field(field.schema, count) for field in schema.fields])

    def _headers(self, row: Sequence[tuple[str, int, Any]]) -> Headers:
        schemas = self._schemas
        made = [Header(key, value, schemas[index] if index >= 0 else None) for key, index, value in row]
        return Headers(made) if made else NO_HEADERS

    def _typed(self, schema: Schema, rows: int) -> pa.Array:
        chosen = arrow_type(schema)
        assert chosen is not None
        valid = self._slice((rows + 7) // _BITS) if self.integer() else None
        if schema.type is Type.STRUCT:
            children = [self._child(field.schema, rows) for field in schema.fields]
            return pa.Array.from_buffers(chosen, rows, [valid], children=children)
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            offsets = self._slice(4 * (rows + 1))
            items = self._child(schema.value_schema, _INT.unpack_from(offsets, 4 * rows)[0])
            return pa.Array.from_buffers(chosen, rows, [valid, offsets], children=[items])
        if pa.types.is_string(chosen) or pa.types.is_binary(chosen):
            offsets = self._slice(4 * (rows + 1))
            data = self._slice(_INT.unpack_from(offsets, 4 * rows)[0])
            return pa.Array.from_buffers(chosen, rows, [valid, offsets, data])
        size = (rows + 7) // _BITS if schema.type is Type.BOOLEAN else rows * chosen.bit_width // _BITS
        return pa.Array.from_buffers(chosen, rows, [valid, self._slice(size)])

    def _child(self, schema: Schema, rows: int) -> pa.Array:
        self.integer()
        return self._typed(schema, rows)

    def _slice(self, size: int) -> pa.Buffer:
        self._align()
        found = self._buffer.slice(self._at, size)
        self._at += size
        return found

    def _packed(self) -> Any:
        size = self.integer()
        self._at += size
        return unpack(self._block[self._at - size : self._at])

    def _bytes(self) -> bytes:
        size = self.integer()
        self._at += size
        return bytes(self._block[self._at - size : self._at])

    def _align(self) -> None:
        self._at = (self._at + 7) & ~7


def _crossing(schema: Schema | None, value: Any) -> Any:
    """A value of a schema, or a list of some, as `pack` takes it."""
    if schema is None or schema.type not in (Type.MAP, Type.STRUCT, Type.ARRAY):
        return value  # of most
    return paired(value) if _has_odd_keys(schema) else value


@lru_cache(1000)
def _has_odd_keys(schema: Schema) -> bool:
    """Whether there are maps in it whose keys are of a logical type."""
    if schema.key_schema is not None and logical.python_type(schema.key_schema) is not None:
        return True
    inner = [schema.value_schema, *(field.schema for field in schema.fields)]
    return any(each is not None and _has_odd_keys(each) for each in inner)
