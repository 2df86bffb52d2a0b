"""Rows of a query as records: which columns form the key, which the value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from connect.data.batch import SourceBatch
from connect.data.schema import Schema
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.table_types import connect_column
from connect.data.tables import schema_of_table

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.]")


@dataclass(frozen=True)
class RowShape:
    """How a row becomes a record. Travels to the executors.

    Attributes:
        topic: of records, before transformations.
        key: columns of the key; empty for a null key.
        value: columns of the value, in order. At least one.
        order: further columns by which a writer's rows are sorted.
        origin: the source partition in errors and dead letters.
    """

    topic: str
    key: tuple[str, ...]
    value: tuple[str, ...]
    order: tuple[str, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """All columns of records, each once."""
        return list(dict.fromkeys([*self.key, *self.value]))

    def records(self, columns: pa.Schema) -> Records:
        """The maker of records from rows with these columns. Raises SchemaError."""
        return Records(self, columns)

    def whole(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        """The same rows in batches that split no record."""
        return rows


class Records:
    """Makes records of the rows of one query, whose columns are the same in every batch.

    Args:
        shape: see `RowShape`.
        columns: of the rows.

    Raises:
        SchemaError: a column has a type that no record can hold.
    """

    def __init__(self, shape: RowShape, columns: pa.Schema) -> None:
        known = schema_of_table(pa.schema([columns.field(name) for name in shape.columns]))
        self.shape = shape
        self.key_schema = self._struct(known, shape.key, "Key") if shape.key else None
        self.value_schema = self._struct(known, shape.value, "Value")

    def of(self, rows: pa.RecordBatch) -> SourceBatch:
        """A record for each row."""
        values = StructColumns(self.value_schema, self.fields(self.value_schema, rows))
        return SourceBatch(self.shape.topic, values, keys=self.keys(rows), source_partitions=self.shape.origin)

    def keys(self, rows: pa.RecordBatch) -> StructColumns | None:
        """The keys of rows; None where keys are null."""
        return None if self.key_schema is None else StructColumns(self.key_schema, self.fields(self.key_schema, rows))

    def fields(self, schema: Schema, rows: pa.RecordBatch) -> list[FieldColumn]:
        """The columns of these names, as fields of Connect."""
        return [connect_column(each.schema, rows.column(each.name)) for each in schema.fields]

    def name(self, part: str) -> str:
        """The name of a schema: the topic's, changed to be valid in Avro, and the part's."""
        return f"{_NO_NAME.sub('_', self.shape.topic)}.{part}"

    def _struct(self, known: Schema, names: Sequence[str], part: str) -> Schema:
        fields = {each.name: each.schema for each in known.fields if each.name in names}
        return Schema.struct({name: fields[name] for name in names}, name=self.name(part))
