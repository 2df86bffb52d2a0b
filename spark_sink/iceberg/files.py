"""Rows as data files of an Iceberg table."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import types as iceberg
from pyiceberg.io.pyarrow import _dataframe_to_data_files

from spark_sink.rows.waiting import Part

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

_FORMAT: Final = "write.format.default"
_PARQUET: Final = "parquet"


class DataFiles:
    """Writes data files of one table. They count only when a commit names them.

    Args:
        table: as it is now.
        properties: that count before those of the table.
    """

    def __init__(self, table: Table, properties: Mapping[str, str]) -> None:
        own = {**table.metadata.properties, **properties, _FORMAT: _PARQUET}
        self._metadata = table.metadata.model_copy(update={"properties": own})
        self._io = table.io
        self._id = uuid.uuid4()
        self._counter = itertools.count()
        self._version = (table.metadata.current_schema_id, table.metadata.default_spec_id, table.metadata.table_uuid)
        self.written: list[DataFile] = []

    @property
    def rows(self) -> int:
        """How many rows they have."""
        return sum(file.record_count for file in self.written)

    def fit(self, table: Table) -> bool:
        """Whether the files can be added to the table as it is now: its columns and partitions have not changed."""
        now = table.metadata
        return self._version == (now.current_schema_id, now.default_spec_id, now.table_uuid)

    def write(self, rows: pa.Table) -> list[DataFile]:
        """Write rows, in files for each partition. Raises what the storage's client raises."""
        if not len(rows):
            return []
        files = list(
            _dataframe_to_data_files(self._metadata, rows, self._io, write_uuid=self._id, counter=self._counter)
        )
        self.written += files
        return files

    def discard(self) -> None:
        """Delete the files, which no commit has named. One that cannot be deleted stays: it harms nobody."""
        for file in self.written:
            with contextlib.suppress(Exception):
                self._io.delete(file.file_path)
        self.written.clear()


def table_of(parts: Iterable[Part], schema: Schema) -> tuple[pa.Table, pa.Table]:
    """The rows of parts with a table's current columns, in its types, and their origins.

    Raises:
        pa.ArrowInvalid: another writer narrowed a column, and a value does not fit.
    """
    parts = list(parts)
    columns = pa.schema([pa.field(f.name, _arrow(f.field_type), not f.required) for f in schema.fields])
    rows = []
    for part in parts:
        arrays = []
        for field, column in zip(schema.fields, columns, strict=True):
            at = part.rows.schema.get_field_index(field.name)
            if at < 0:
                arrays.append(pa.nulls(len(part.rows), column.type))
            else:
                arrays.append(fitted(part.rows.column(at), field.field_type))
        rows.append(pa.RecordBatch.from_arrays(arrays, schema=columns))
    return pa.Table.from_batches(rows, columns), pa.Table.from_batches([part.origins for part in parts])


def misfits(rows: pa.StructArray, schema: Schema) -> dict[int, str]:
    """The rows that a column refuses although they are of its type: a text that is no UUID, bytes of another length.

    Args:
        rows: as `connect.data.tables` makes them.
        schema: of the table.
    """
    found: dict[int, str] = {}
    for field in schema.fields:
        at = rows.type.get_field_index(field.name)
        if at < 0 or not _is_picky(field.field_type):
            continue
        column = pc.struct_field(rows, [at])
        try:
            fitted(column, field.field_type)
        except (ValueError, pa.ArrowException):
            for row in range(len(column)):
                try:
                    fitted(column.slice(row, 1), field.field_type)
                except (ValueError, pa.ArrowException) as error:
                    found[row] = f'its "{field.name}" is not a {field.field_type}: {error}'
    return found


def _is_picky(kind: iceberg.IcebergType) -> bool:
    match kind:
        case iceberg.StructType():
            return any(_is_picky(field.field_type) for field in kind.fields)
        case iceberg.ListType():
            return _is_picky(kind.element_type)
        case iceberg.MapType():
            return _is_picky(kind.key_type) or _is_picky(kind.value_type)
    return isinstance(kind, iceberg.UUIDType | iceberg.FixedType)


_PLAIN: Final[dict[type, pa.DataType]] = {
    iceberg.BooleanType: pa.bool_(),
    iceberg.IntegerType: pa.int32(),
    iceberg.LongType: pa.int64(),
    iceberg.FloatType: pa.float32(),
    iceberg.DoubleType: pa.float64(),
    iceberg.StringType: pa.string(),
    iceberg.BinaryType: pa.binary(),
    iceberg.UUIDType: pa.uuid(),
    iceberg.DateType: pa.date32(),
    iceberg.TimeType: pa.time64("us"),
    iceberg.TimestampType: pa.timestamp("us"),
    iceberg.TimestamptzType: pa.timestamp("us", "UTC"),
    iceberg.TimestampNanoType: pa.timestamp("ns"),
    iceberg.TimestamptzNanoType: pa.timestamp("ns", "UTC"),
}


def _arrow(kind: iceberg.IcebergType) -> pa.DataType:
    match kind:
        case iceberg.StructType():
            return pa.struct([pa.field(f.name, _arrow(f.field_type), not f.required) for f in kind.fields])
        case iceberg.ListType():
            return pa.list_(pa.field("element", _arrow(kind.element_type), not kind.element_required))
        case iceberg.MapType():
            return pa.map_(_arrow(kind.key_type), pa.field("value", _arrow(kind.value_type), not kind.value_required))
        case iceberg.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case iceberg.FixedType():
            return pa.binary(len(kind))
    return _PLAIN[type(kind)]


def fitted(array: pa.Array, kind: iceberg.IcebergType) -> pa.Array:
    """A column as rows have it (see `connect.data.table_types`) in the type of a table's column.

    Raises:
        pa.ArrowInvalid, ValueError: a value does not fit.
    """
    wanted = _arrow(kind)
    if array.type == wanted:
        return array
    mask = array.is_null() if array.null_count else None
    match kind:
        case iceberg.StructType():
            return _struct(array, kind, list(wanted), mask)
        case iceberg.ListType():
            return pa.ListArray.from_arrays(
                _offsets(array), fitted(array.flatten(), kind.element_type), wanted, mask=mask
            )
        case iceberg.MapType():
            begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
            keys, items = array.keys.slice(begin, end - begin), array.items.slice(begin, end - begin)
            offsets = pc.subtract(array.offsets, begin)
            return _map(offsets, fitted(keys, kind.key_type), fitted(items, kind.value_type), wanted, mask)
        case iceberg.UUIDType():
            return _each(array, lambda text: uuid.UUID(text).bytes, wanted.storage_type).cast(wanted)
        case iceberg.TimeType() if pa.types.is_int32(array.type):
            return array.cast(pa.time32("ms")).cast(wanted)
    return array.cast(wanted)


def _struct(array: pa.StructArray, kind: iceberg.StructType, fields: list[pa.Field], mask: Any) -> pa.StructArray:
    held = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    children = [
        fitted(held[f.name], f.field_type) if f.name in held else pa.nulls(len(array), field.type)
        for f, field in zip(kind.fields, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _offsets(array: pa.ListArray) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(array).cast(pa.int32()), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])


def _map(offsets: pa.Array, keys: pa.Array, items: pa.Array, wanted: pa.DataType, mask: Any) -> pa.MapArray:
    return pa.MapArray.from_arrays(offsets, keys, items, wanted, mask=mask)


def _each(array: pa.Array, made: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None if item is None else made(item) for item in array.to_pylist()], kind)
