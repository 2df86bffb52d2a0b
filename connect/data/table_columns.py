"""Columns of a table, made of Python values or of Arrow columns: strictly, without silent conversions.

Arrow alone would accept a float for a whole number, bytes for text and text for bytes. Here a value has exactly its
column's type, or it is reported with its row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, chain
from operator import itemgetter
from types import NoneType
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data import logical
from connect.data.arrow import filled, to_python
from connect.data.misfits import Misfits, Problems, Within, add, join
from connect.data.schema import Schema, Type
from connect.data.struct_columns import FieldColumn
from connect.data.table_types import column_type
from connect.data.widening import type_name
from connect.errors import SchemaError

_REFUSALS: Final = (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError, SchemaError)
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})
_TAKES: Final[Mapping[Type, tuple[type, ...]]] = {
    **dict.fromkeys(_WHOLE, (int,)),
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: (dict,),
    Type.STRUCT: (dict,),
}
_LOGICAL: Final[Mapping[str, tuple[type, ...]]] = {
    logical.DECIMAL_NAME: (Decimal, int),
    logical.DATE_NAME: (dt.date,),
    logical.TIME_NAME: (dt.time,),
    logical.TIMESTAMP_NAME: (dt.datetime,),
}
_NOT_EVEN_SO: Final = {int: bool, dt.date: dt.datetime}  # subclasses that are something else


@dataclass(frozen=True, slots=True)
class Columns:
    """Makes columns.

    Attributes:
        ignore_unknown: whether fields of a struct that its column does not have are left out, rather than misfits.
    """

    ignore_unknown: bool = False

    def of_values(self, schema: Schema, items: Sequence[Any], own: Schema | None, path: str) -> pa.Array:
        """A column of `column_type(schema)` of these Python values.

        Args:
            schema: of the column.
            items: the values.
            own: their own schema, if any.
            path: the column in messages.

        Raises:
            Misfits: for all rows whose values do not fit.
        """
        kinds = set(map(type, items))
        if NoneType in kinds and not schema.optional:
            items, kinds = _without_null(schema, items, path), kinds - {NoneType}
        _check_kinds(schema, items, kinds - {NoneType}, path)
        if schema.name in _LOGICAL:
            return _plain(schema, items, own, path)
        match schema.type:
            case Type.STRUCT:
                return self._structs(schema, items, NoneType in kinds, own, path)
            case Type.ARRAY:
                return self._lists(schema, items, own, path)
            case Type.MAP:
                return self._maps(schema, items, own, path)
        return _plain(schema, items, own, path)

    def of_column(self, schema: Schema, column: FieldColumn, path: str) -> pa.Array:
        """A column of `column_type(schema)` of the column of a field. Errors as `of_values`."""
        if not column.is_arrow:
            return self.of_values(schema, column.items, column.schema, path)
        return self._of_arrow(schema, column.array, column.schema, path)

    def of_fields(self, schema: Schema, fields: Mapping[str, FieldColumn], length: int, path: str) -> pa.StructArray:
        """Rows of the columns of fields, none of them null. Errors as `of_values`."""
        problems: Problems = {}
        children: list[tuple[str, pa.Array]] = []
        for field in schema.fields:
            wanted, here = column_type(field.schema), join(path, field.name)
            if wanted is None:
                continue
            try:
                if field.name in fields:
                    children.append((field.name, self.of_column(field.schema, fields[field.name], here)))
                else:
                    missing = [field.schema.default] * length
                    children.append((field.name, self.of_values(field.schema, missing, None, here)))
            except Misfits as misfits:
                add(problems, misfits.problems.items())
        if not self.ignore_unknown:
            for name in fields.keys() - {field.name for field in schema.fields}:
                column = fields[name]
                if not (column.is_arrow and column.array.null_count == length):
                    why = _unknown(join(path, name))
                    add(problems, ((row, why) for row, item in enumerate(column.items) if holds_something(item)))
        if problems:
            raise Misfits(problems)
        return _struct_array(children, length)

    # Python values.

    def _structs(
        self, schema: Schema, items: Sequence[Any], nulls: bool, own: Schema | None, path: str
    ) -> pa.StructArray:
        if not nulls:
            return self._present_structs(schema, items, own, path)
        places = [row for row, item in enumerate(items) if item is not None]
        try:
            present = self._present_structs(schema, [items[row] for row in places], own, path)
        except Misfits as misfits:
            raise Misfits({places[row]: why for row, why in misfits.problems.items()}) from None
        return scattered(present, places, len(items))

    def _present_structs(
        self, schema: Schema, items: Sequence[dict[str, Any]], own: Schema | None, path: str
    ) -> pa.StructArray:
        problems: Problems = {}
        children: list[tuple[str, pa.Array]] = []
        theirs = {} if own is None else {field.name: field.schema for field in own.fields}
        complete = set(map(len, items)) == {len(schema.fields)}
        for field in schema.fields:
            name = field.name
            try:
                column = list(map(itemgetter(name), items))
            except KeyError:
                complete, default = False, field.schema.default
                column = [item.get(name, default) for item in items]
            if column_type(field.schema) is not None:
                try:
                    child = self.of_values(field.schema, column, theirs.get(name), join(path, name))
                    children.append((name, child))
                except Misfits as misfits:
                    add(problems, misfits.problems.items())
        if not complete and not self.ignore_unknown:
            add(problems, _unknown_keys(schema, items, path))
        if problems:
            raise Misfits(problems)
        return _struct_array(children, len(items))

    def _lists(self, schema: Schema, items: Sequence[Any], own: Schema | None, path: str) -> pa.Array:
        assert schema.value_schema is not None
        ends = list(accumulate((0 if item is None else len(item) for item in items), initial=0))
        flat = list(chain.from_iterable(item for item in items if item is not None))
        theirs = None if own is None else own.value_schema
        with Within(ends):
            elements = self.of_values(schema.value_schema, flat, theirs, f"{path}[]")
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), elements, mask=_mask(items))

    def _maps(self, schema: Schema, items: Sequence[Any], own: Schema | None, path: str) -> pa.Array:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        present = [item for item in items if item is not None]
        ends = list(accumulate((0 if item is None else len(item) for item in items), initial=0))
        keys, values = list(chain.from_iterable(present)), list(chain.from_iterable(item.values() for item in present))
        of_keys, of_values = (None, None) if own is None else (own.key_schema, own.value_schema)
        with Within(ends):
            key_column = self.of_values(schema.key_schema.replace(optional=False), keys, of_keys, f"{path} key")
        with Within(ends):
            value_column = self.of_values(schema.value_schema, values, of_values, f"{path}[]")
        offsets = pa.array(ends, pa.int32())
        return pa.MapArray.from_arrays(offsets, key_column, value_column, mask=_mask(items))

    # Arrow columns.

    def _of_arrow(self, schema: Schema, array: pa.Array, own: Schema, path: str) -> pa.Array:
        if array.null_count and not schema.optional:
            if schema.default is None:
                why = _null(path)
                raise Misfits({row: why for row, there in enumerate(array.is_valid().to_pylist()) if not there})
            if schema.type is own.type and schema.name == own.name:
                array = filled(array, own.replace(default=schema.default))
        wanted = column_type(schema)
        if schema.type is Type.STRUCT and own.type is Type.STRUCT and array.null_count == 0:
            columns = {
                field.name: FieldColumn(field.schema, array=child)
                for field, child in zip(own.fields, array.flatten(), strict=True)
            }
            return self.of_fields(schema, columns, len(array), path)
        if array.type == wanted and (schema.type.is_primitive or schema.value_schema == own.value_schema):
            return array
        if _castable(array.type, schema, own):
            try:
                return array.cast(wanted)
            except pa.ArrowInvalid:
                pass  # the values that do not fit are found one by one
        return self.of_values(schema, _items(own, array, path), own, path)


def holds_something(item: Any) -> bool:
    """Whether a value has content: it is not null, and no list or dict of nothing else."""
    if isinstance(item, dict):
        return any(map(holds_something, item.values()))
    if isinstance(item, list | tuple):
        return any(map(holds_something, item))
    return item is not None


def scattered(array: pa.Array, places: Sequence[int], length: int) -> pa.Array:
    """A longer column with the rows of this one at these positions, and null elsewhere."""
    indices: list[int | None] = [None] * length
    for row, place in enumerate(places):
        indices[place] = row
    return array.take(pa.array(indices, pa.int64()))


def kind_of(value: Any) -> str:
    """A value's type in messages."""
    return "null" if value is None else type(value).__name__


def _plain(schema: Schema, items: Sequence[Any], own: Schema | None, path: str) -> pa.Array:
    wanted = column_type(schema)
    prepare: Callable[[Any], Any] | None = _milliseconds if schema.name == logical.TIME_NAME else None
    try:
        column = pa.array(items if prepare is None else list(map(prepare, items)), wanted)
    except _REFUSALS as error:
        problems = {row: why for row, item in enumerate(items) if (why := _refusal(schema, item, prepare, path))}
        raise Misfits(problems or dict.fromkeys(range(len(items)), f'The field "{path}": {error}')) from None
    if schema.type is Type.FLOAT32 and not (own is not None and own.type is Type.FLOAT32):
        _check_exact(column, items, path)
    return column


def _refusal(schema: Schema, item: Any, prepare: Callable[[Any], Any] | None, path: str) -> str | None:
    try:
        pa.array([item if prepare is None else prepare(item)], column_type(schema))
    except _REFUSALS:
        return f'The field "{path}" holds a value that does not fit into {type_name(schema)}.'
    return None


def _milliseconds(time: dt.time | None) -> int | None:
    if time is None:
        return None
    if time.microsecond % 1000:
        raise ValueError("A Time has milliseconds, not microseconds.")
    encoded: int = logical.encode(logical.TIME, time)
    return encoded


def _check_exact(column: pa.Array, items: Sequence[Any], path: str) -> None:
    """Doubles for a column of floats: only those that a float represents exactly."""
    doubles = pa.array(items, pa.float64())
    same = pc.or_(pc.equal(column.cast(pa.float64()), doubles), pc.is_nan(doubles)).fill_null(True)
    if pc.all(same).as_py() is False:
        why = f'The field "{path}" holds a value that does not fit into float.'
        raise Misfits({row: why for row, fits in enumerate(same.to_pylist()) if not fits})


def _without_null(schema: Schema, items: Sequence[Any], path: str) -> Sequence[Any]:
    if schema.default is not None:
        return [schema.default if item is None else item for item in items]
    why = _null(path)
    raise Misfits({row: why for row, item in enumerate(items) if item is None})


def _check_kinds(schema: Schema, items: Sequence[Any], kinds: set[type], path: str) -> None:
    takes = _LOGICAL.get(schema.name or "") or _TAKES[schema.type]
    wrong = tuple(kind for kind in kinds.difference(takes) if not any(_is_a(kind, each) for each in takes))
    if wrong:
        wanted = type_name(schema)
        raise Misfits(
            {
                row: f'The field "{path}" holds a value of type {kind_of(item)}, where the table has {wanted}.'
                for row, item in enumerate(items)
                if type(item) in wrong
            }
        )


def _is_a(kind: type, taken: type) -> bool:
    return issubclass(kind, taken) and not (taken in _NOT_EVEN_SO and issubclass(kind, _NOT_EVEN_SO[taken]))


def _unknown_keys(schema: Schema, items: Sequence[dict[str, Any]], path: str) -> Iterable[tuple[int, str]]:
    names = {field.name for field in schema.fields}
    for row, item in enumerate(items):
        for name in item.keys() - names:
            if holds_something(item[name]):
                yield row, _unknown(join(path, str(name)))


def _castable(array: pa.DataType, schema: Schema, own: Schema) -> bool:
    """Whether Arrow's own cast, which refuses losses, gives the right column."""
    if schema.name == own.name and schema.name in (logical.TIMESTAMP_NAME, logical.TIME_NAME, logical.DECIMAL_NAME):
        return True
    if own.name in _LOGICAL or own.type not in _WHOLE | {Type.FLOAT32}:
        return False
    if own.type is Type.FLOAT32:
        return schema.type is Type.FLOAT64
    return schema.name == logical.DECIMAL_NAME or (
        schema.name not in _LOGICAL and schema.type in _WHOLE | {Type.FLOAT32, Type.FLOAT64}
    )


def _items(own: Schema, array: pa.Array, path: str) -> list[Any]:
    try:
        return to_python(own, array)
    except SchemaError:
        pass
    problems: Problems = {}
    for row in range(len(array)):
        try:
            to_python(own, array.slice(row, 1))
        except SchemaError as error:
            problems[row] = f'The field "{path}": {error}'
    raise Misfits(problems)


def _struct_array(children: list[tuple[str, pa.Array]], length: int) -> pa.StructArray:
    if not children:
        return pa.array([{}] * length, pa.struct([]))
    return pa.StructArray.from_arrays([child for _, child in children], [name for name, _ in children])


def _mask(items: Sequence[Any]) -> pa.Array | None:
    mask = [item is None for item in items]
    return pa.array(mask, pa.bool_()) if any(mask) else None


def _unknown(path: str) -> str:
    return f'The table has no field "{path}".'


def _null(path: str) -> str:
    return f'The field "{path}" is null, and the table requires it.'
