"""Rows of a DataFrame as records: the inverse of reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.batch import SourceBatch
from connect.data.headers import NO_HEADERS, Header, Headers
from connect.data.schema import OPTIONAL_BYTES, Field
from connect.data.struct_columns import StructColumns
from connect.data.table_types import connect_column, milliseconds
from connect.data.tables import schema_of_table
from connect.data.values import Values
from connect.errors import DataError
from spark_sink.source.records import Records, RowShape

KEY: Final = "_key"
TOPIC: Final = "_topic"
TIMESTAMP: Final = "_timestamp"
#: Columns that reading adds to the value's fields. A written record has a place of its own.
ADDED: Final = (KEY, TOPIC, "_partition", "_offset", TIMESTAMP)
#: Columns of records as bytes; all but the value may be missing.
BYTES: Final = ("topic", "timestamp", "key", "value", "headers")


@dataclass(frozen=True)
class FrameShape(RowShape):
    """How a row of a DataFrame becomes a record.

    Attributes:
        topic: of all records; empty where a column has it.
        columns_given: all columns of the DataFrame.
        is_bytes: whether rows are records as bytes, with columns as `BYTES`.
    """

    columns_given: tuple[str, ...] = ()
    is_bytes: bool = False

    def named(self, column: str) -> str | None:
        """The actual name of a column, `_topic` or `topic`; None where it is missing."""
        name = column.removeprefix("_") if self.is_bytes else column
        return name if name in self.columns_given else None

    def records(self, columns: pa.Schema) -> Records:
        return FrameRecords(self, columns)


class FrameRecords(Records):
    """Makes records of the rows of a DataFrame. Arguments and errors as of `Records`."""

    def __init__(self, shape: FrameShape, columns: pa.Schema) -> None:
        super().__init__(shape, columns)
        self.shape: FrameShape = shape
        self._one_key: Field | None = None
        if KEY in shape.columns_given and not shape.key and not shape.is_bytes:
            (self._one_key,) = schema_of_table(pa.schema([columns.field(KEY)])).fields

    def of(self, rows: pa.RecordBatch) -> SourceBatch:
        shape = self.shape
        return SourceBatch(
            shape.topic or self._topics(rows),
            self._bytes(rows, "value") if shape.is_bytes else self._values(rows),
            keys=self._bytes(rows, "key") if shape.is_bytes else self._keys(rows),
            timestamps=self._timestamps(rows),
            headers=self._headers(rows) if shape.is_bytes and "headers" in shape.columns_given else None,
            source_partitions=shape.origin,
        )

    def _keys(self, rows: pa.RecordBatch) -> Values | None:
        one = self._one_key
        return (
            self.keys(rows) if one is None else Values(connect_column(one.schema, rows.column(KEY)).items, one.schema)
        )

    def _values(self, rows: pa.RecordBatch) -> Values:
        return StructColumns(self.value_schema, self.fields(self.value_schema, rows))

    def _topics(self, rows: pa.RecordBatch) -> list[str]:
        name = self.shape.named(TOPIC)
        column = rows.column(name)
        if column.null_count:
            raise DataError(f'The column "{name}" has no topic in some rows. Fill it, or set the option topic.')
        found: list[str] = column.to_pylist()
        return found

    def _timestamps(self, rows: pa.RecordBatch) -> list[int | None] | None:
        name = self.shape.named(TIMESTAMP)
        if name is None:
            return None
        column = rows.column(name)
        whole: list[int | None] = (
            milliseconds(column).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column.cast(pa.int64())
        ).to_pylist()
        return whole

    def _bytes(self, rows: pa.RecordBatch, name: str) -> Values:
        if name not in self.shape.columns_given:
            return Values.nulls(rows.num_rows, OPTIONAL_BYTES)
        column = rows.column(name)
        if not (pa.types.is_binary(column.type) or pa.types.is_string(column.type)):
            raise DataError(
                f'The column "{name}" is of type {column.type}; without value.converter it has to be bytes or text. '
                "Cast it, or set value.converter."
            )
        return Values.raw((column if pa.types.is_binary(column.type) else pc.cast(column, pa.binary())).to_pylist())

    def _headers(self, rows: pa.RecordBatch) -> list[Headers]:
        def of(pairs: list[dict[str, Any]] | None) -> Headers:
            if not pairs:
                return NO_HEADERS
            return Headers(Header(pair["key"], pair["value"], OPTIONAL_BYTES) for pair in pairs)

        return [of(pairs) for pairs in rows.column("headers").to_pylist()]
