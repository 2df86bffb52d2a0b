"""Connect's types in Arrow, and back. Imported where the first column is needed in Arrow: it loads pyarrow.

| Connect | Arrow |
|---|---|
| INT8 ... INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES | the type of that name and width |
| STRUCT, ARRAY | struct, list |
| Decimal | decimal128(38, scale) |
| Date, Time, Timestamp | date32, time32[ms], timestamp[ms, UTC] |

MAP has no Arrow form here: such a field stays a list of Python values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data import logical
from connect.data.column import NoArrowForm
from connect.data.schema import Schema, Type
from connect.data.times import EPOCH, EPOCH_DAY

#: Of types that contain no others.
PLAIN_TYPES: Final = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_LOGICAL: Final = {
    logical.DATE_NAME: (Type.INT32, pa.date32()),
    logical.TIME_NAME: (Type.INT32, pa.time32("ms")),
    logical.TIMESTAMP_NAME: (Type.INT64, pa.timestamp("ms", "UTC")),
}
_MOST_DIGITS: Final = 38


@lru_cache(maxsize=1000)
def arrow_type(schema: Schema) -> pa.DataType | None:
    """The Arrow type of a schema's values, or None where there is none."""
    if schema.name in _LOGICAL:
        encoded, chosen = _LOGICAL[schema.name]
        return chosen if schema.type is encoded else None
    if schema.name == logical.DECIMAL_NAME:
        scale = logical.scale_of(schema)
        return pa.decimal128(_MOST_DIGITS, scale) if 0 <= scale <= _MOST_DIGITS else None
    if schema.type is Type.STRUCT:
        fields = [(field.name, arrow_type(field.schema)) for field in schema.fields]
        return pa.struct(fields) if fields and all(chosen is not None for _, chosen in fields) else None
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        element = arrow_type(schema.value_schema)
        return None if element is None else pa.list_(element)
    return PLAIN_TYPES.get(schema.type)


# Arrow -> Python.


def to_python(schema: Schema, column: pa.Array) -> list[Any]:
    """A column of any schema with an `arrow_type`, as Connect's values."""
    if schema.type is Type.STRUCT:
        structs = iter(_structs(schema, column.flatten() if column.null_count == 0 else _present(column).flatten()))
        return list(structs) if column.null_count == 0 else _scattered(column, structs)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        elements = iter(to_python(schema.value_schema, column.flatten()))
        lengths = pc.list_value_length(column).to_pylist()
        return [None if length is None else list(islice(elements, length)) for length in lengths]
    if schema.name in _FROM_ENCODED:
        encoded = column.view(pa.int32() if schema.type is Type.INT32 else pa.int64()).to_pylist()
        return _moments(schema, encoded)
    items: list[Any] = column.to_pylist()
    return items


_FROM_ENCODED: Final = frozenset(_LOGICAL)


def _moments(schema: Schema, encoded: list[int | None]) -> list[Any]:
    """As `logical.decode`, at a third of its time for dates and timestamps."""
    try:
        if schema.name == logical.TIMESTAMP_NAME:
            epoch, delta = EPOCH, dt.timedelta
            return [None if item is None else epoch + delta(0, 0, 0, item) for item in encoded]
        if schema.name == logical.DATE_NAME:
            date = dt.date.fromordinal
            return [None if item is None else date(item + EPOCH_DAY) for item in encoded]
    except (OverflowError, ValueError):
        pass  # the other says which
    return [None if item is None else logical.decode(schema, item) for item in encoded]


def _structs(schema: Schema, columns: Iterable[pa.Array]) -> list[Any]:
    names = tuple(field.name for field in schema.fields)
    lists = [to_python(field.schema, column) for field, column in zip(schema.fields, columns, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _present(column: pa.Array) -> pa.Array:
    return column.filter(column.is_valid())


def _scattered(column: pa.Array, present: Iterable[Any]) -> list[Any]:
    rest = iter(present)
    return [next(rest) if valid else None for valid in column.is_valid().to_pylist()]


# Python -> Arrow.


def from_python(schema: Schema, items: list[Any]) -> pa.Array:
    """A column of Python values as an Arrow array of `arrow_type(schema)`.

    Raises:
        NoArrowForm: the schema has no Arrow type, or a value does not fit.
    """
    if arrow_type(schema) is None:
        raise NoArrowForm(repr(schema))
    try:
        return _array(schema, items)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError, AttributeError) as error:
        raise NoArrowForm(repr(schema)) from error


def _array(schema: Schema, items: list[Any]) -> pa.Array:
    """A column of Python values. Raises what Arrow raises for a value that does not fit."""
    if schema.type is Type.STRUCT:
        mask = [item is None for item in items]
        children = [_array(f.schema, [None if i is None else i.get(f.name) for i in items]) for f in schema.fields]
        names = [field.name for field in schema.fields]
        return pa.StructArray.from_arrays(children, names, mask=pa.array(mask) if any(mask) else None)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        offsets: list[int | None] = []
        flat: list[Any] = []
        for item in items:
            offsets.append(None if item is None else len(flat))
            flat.extend(item or ())
        return pa.ListArray.from_arrays(pa.array([*offsets, len(flat)], pa.int32()), _array(schema.value_schema, flat))
    if schema.name in _FROM_ENCODED:
        encoded = [None if item is None else logical.encode(schema, item) for item in items]
        return pa.array(encoded, pa.int32() if schema.type is Type.INT32 else pa.int64()).view(arrow_type(schema))
    column: pa.Array = pa.array(items, arrow_type(schema))
    return column


def filled(column: pa.Array, schema: Schema) -> pa.Array:
    """The column with the schema's default in place of nulls. Only for schemas with a default."""
    if column.null_count == 0:
        return column
    if schema.type in (Type.STRUCT, Type.ARRAY):
        values = [schema.default if item is None else item for item in to_python(schema, column)]
        return _array(schema, values)
    return column.fill_null(_array(schema, [schema.default])[0])
