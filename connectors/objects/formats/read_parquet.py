"""Parquet: rows as structs, straight from Arrow's columns, some at a time, whatever the size of a row group.

A type that Connect lacks becomes the nearest one that holds it: unsigned numbers the next wider ones, times are cut to
milliseconds towards the past, and a column of only nulls becomes strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from connect import ConnectError, DataError, StructColumns
from connect.errors import one_line
from connectors.objects.formats.reading import CHUNK_BYTES, Chunks, chunk

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS: Final = 10_000
#: Row groups up to this size are fetched in few requests; of larger ones each column comes in pieces.
_AT_ONCE: Final = 32 << 20
_PIECE: Final = 2 << 20


def read_parquet(file: Any, skip: int) -> Chunks:
    """Each row as a struct.

    Args:
        file: a seekable binary file.
        skip: how many rows to skip at the beginning; row groups among them are not read.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ConnectError(
            "Parquet objects cannot be read: the package pyarrow is missing. Install connect-runtime[s3]."
        ) from None
    from connect.data.table_types import connect_column
    from connect.data.tables import schema_of_table

    try:
        options: dict[str, Any] = {"arrow_extensions_enabled": False, "coerce_int96_timestamp_unit": "us"}
        whole = pq.ParquetFile(file, pre_buffer=False, **options)
        groups = [whole.metadata.row_group(number) for number in range(whole.metadata.num_row_groups)]
        rows = [group.num_rows for group in groups]
        if max((_packed(group) for group in groups), default=0) <= _AT_ONCE:
            whole = pq.ParquetFile(file, metadata=whole.metadata, pre_buffer=True, **options)
        else:
            whole = pq.ParquetFile(file, metadata=whole.metadata, pre_buffer=False, buffer_size=_PIECE, **options)
        wanted = _wanted(whole.schema_arrow)
        if len(set(wanted.names)) < len(wanted):
            raise DataError(f"two columns of its Parquet have one name: {', '.join(wanted.names)}.")
        schema = schema_of_table(wanted)
        if not schema.fields:
            raise DataError("its Parquet has no columns.")
        first = 0
        for number, group in enumerate(groups):
            if first + rows[number] > skip:
                width = max(1, group.total_byte_size // (rows[number] or 1))
                at_once = max(1, min(_MOST_ROWS, CHUNK_BYTES // width))
                index = first
                for batch in whole.iter_batches(at_once, row_groups=[number], use_threads=False):
                    left = max(0, skip - index)
                    for part in _parts(batch.slice(left)) if left < batch.num_rows else ():
                        columns = [
                            connect_column(field.schema, _cast(column, told.type))
                            for field, column, told in zip(schema.fields, part.columns, wanted, strict=True)
                        ]
                        yield chunk(StructColumns(schema, columns), index + left)
                        left += part.num_rows
                    index += batch.num_rows
            first += rows[number]
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"its Parquet cannot be read: {one_line(error)[:300]}") from error


def _packed(group: Any) -> int:
    return sum(group.column(number).total_compressed_size for number in range(group.num_columns))


def _parts(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The batch in parts of at most a chunk each, if it turned out larger than the file said."""
    count = min(batch.num_rows, -(-batch.nbytes // CHUNK_BYTES))
    if count <= 1:
        return [batch]
    size = -(-batch.num_rows // count)
    return [batch.slice(start, size) for start in range(0, batch.num_rows, size)]


def _wanted(columns: pa.Schema) -> pa.Schema:
    """The columns with types that Connect has."""
    import pyarrow as pa

    return pa.schema([column.with_type(_type(column.type)) for column in columns])


def _type(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_type(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(_type(kind.key_type)), kind.item_field.with_type(_type(kind.item_type)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_type(kind.value_type)))
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.null(): pa.string(),
    }.get(kind, kind)


def _cast(column: pa.Array, kind: Any) -> pa.Array:
    return column if column.type == kind else column.cast(kind)
