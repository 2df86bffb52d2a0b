"""The content of Parquet files, by Arrow: columns of structs become row groups. It loads pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from connect import DataError, Schema, Type, Values
from connect.converters.lru_cache import LruCache
from connect.data import arrow
from connect.data.column import Column, NoArrowForm
from connect.data.struct_columns import FieldColumn
from connect.errors import one_line
from connectors.objects.formats.format import Encoded, Payload, Sink, Writer

#: The size of a row group, in bytes of Arrow's memory.
_ROW_GROUP: Final = 64 << 20
_MOST_SCHEMAS: Final = 1000


_types: Final[LruCache[Schema, pa.Schema]] = LruCache(_MOST_SCHEMAS)


def encode(values: Values) -> Encoded:
    """See `Format.encode`."""
    return _Rows(values.schemas, [(rows, _rows(part)) for rows, part in values.groups()], len(values))


def writer(schema: Schema, sink: Sink, codec: str) -> Writer:
    """See `Format.writer`."""
    return _File(sink, _schema(schema), codec)


def _rows(values: Values) -> pa.RecordBatch:
    schema = values.schemas[0]
    if schema is None:
        raise DataError(
            "Parquet needs a schema, and the record has none. Use a converter with schemas (JsonConverter with "
            "schemas.enable or schema.content, AvroConverter), or format.class=json."
        )
    kind = _schema(schema)
    columns = values.struct_columns
    try:
        if columns is not None:
            arrays = [_array(field) for field in columns.fields]
        else:
            items = values.to_list()
            if None in items:
                raise DataError("the record has no value, which Parquet cannot store.")
            arrays = [
                _array(FieldColumn(field.schema, [item.get(field.name) for item in items])) for field in schema.fields
            ]
        for field, array in zip(kind, arrays, strict=True):
            if array.null_count and not field.nullable:  # Arrow sees it only when the file is written
                raise DataError(f'the field "{field.name}", which its schema requires, is null or missing.')
        return pa.RecordBatch.from_arrays(arrays, schema=kind)
    except (NoArrowForm, pa.ArrowException, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"the value cannot be written as Parquet: {one_line(error)[:200]}") from error


def _schema(schema: Schema) -> pa.Schema:
    found = _types.get(schema)
    if found is None:
        if schema.type is not Type.STRUCT or not schema.fields:
            raise DataError("Parquet takes only structs with fields. Use HoistField to wrap a single value in one.")
        fields = [pa.field(each.name, _type(each.schema), nullable=each.schema.optional) for each in schema.fields]
        found = _types[schema] = pa.schema(fields)
    return found


class _Rows(Encoded):
    def __init__(self, schemas: Column[Any], groups: list[tuple[Sequence[int], pa.RecordBatch]], length: int) -> None:
        self.schemas = schemas
        self._whole = groups[0][1] if len(groups) == 1 else None
        self._groups = [batch for _, batch in groups]
        self._indexes: list[tuple[int, int]] = [(0, 0)] * (0 if self._whole is not None else length)
        if self._whole is None:
            for number, (rows, _) in enumerate(groups):
                for index, row in enumerate(rows):
                    self._indexes[row] = (number, index)

    def pick(self, rows: Sequence[int]) -> Payload:
        if self._whole is None:
            batch = self._groups[self._indexes[rows[0]][0]]
            rows = [self._indexes[row][1] for row in rows]
        else:
            batch = self._whole
        # A part shares the memory of the whole, which is not counted: a small one that waits for others is copied.
        shared = _in_a_row(rows) and 2 * len(rows) >= len(batch)
        chosen = batch.slice(rows[0], len(rows)) if shared else batch.take(pa.array(rows, pa.int32()))
        return Payload(chosen, len(rows), chosen.nbytes)


def _in_a_row(rows: Sequence[int]) -> bool:
    return isinstance(rows, range) or (rows[-1] - rows[0] == len(rows) - 1)


class _File(Writer):
    def __init__(self, sink: Sink, schema: pa.Schema, codec: str) -> None:
        self._out = _Out(sink)
        self._writer = pq.ParquetWriter(pa.PythonFile(self._out, mode="w"), schema, compression=codec)
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0

    def write(self, payload: Payload) -> None:
        self._waiting.append(payload.content)
        self._size += payload.size
        if self._size >= _ROW_GROUP:
            self.release(hard=False)

    def finish(self) -> None:
        self.release(hard=False)
        self._writer.close()

    @property
    def held(self) -> int:
        return self._size

    def release(self, *, hard: bool) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._waiting, self._size = [], 0
            self._writer.write_table(table, row_group_size=len(table))


class _Out:
    """An append-only file for Arrow."""

    closed = False

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._at = 0

    def write(self, data: Any) -> int:
        data = bytes(data)
        self._at += len(data)
        self._sink(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _type(schema: Schema) -> pa.DataType:
    """Arrow's type: those of `connect.data.arrow`, and maps."""
    found = arrow.arrow_type(schema)
    if found is not None:
        return found
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        return pa.map_(_type(schema.key_schema), _type(schema.value_schema))
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return pa.list_(_type(schema.value_schema))
    if schema.type is Type.STRUCT and schema.fields:
        return pa.struct([(field.name, _type(field.schema)) for field in schema.fields])
    raise DataError(f"a field of type {schema.name or schema.type.value} cannot be written as Parquet.")


def _array(column: FieldColumn) -> pa.Array:
    if arrow.arrow_type(column.schema) is not None:
        return column.array
    return pa.array([_plain(column.schema, item) for item in column.items], _type(column.schema))


def _plain(schema: Schema, value: Any) -> Any:
    """A value in the form that Arrow takes for `_type`: maps as pairs."""
    if value is None:
        return None
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        return [(_plain(schema.key_schema, k), _plain(schema.value_schema, v)) for k, v in value.items()]
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return [_plain(schema.value_schema, item) for item in value]
    if schema.type is Type.STRUCT:
        return {field.name: _plain(field.schema, value.get(field.name)) for field in schema.fields}
    return value
