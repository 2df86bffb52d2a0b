"""Rows of a query as records: which columns make the key, which the value."""

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
    """What becomes of a row. Travels to the executors.

    Attributes:
        topic: where records go, before transformations.
        key: columns of the key; empty for a null key.
        value: columns of the value, in order. At least one.
        order: columns by which a writer's rows are sorted, after what else orders them.
        origin: the source partition that errors and dead letters name.
    """

    topic: str
    key: tuple[str, ...]
    value: tuple[str, ...]
    order: tuple[str, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Every column that records are made of, each once."""
        return list(dict.fromkeys([*self.key, *self.value]))

    def records(self, columns: pa.Schema) -> Records:
        """What makes records of rows with these columns. Raises SchemaError."""
        return Records(self, columns)

    def whole(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        """The same rows in batches that cut no record in two."""
        return rows


class Records:
    """Makes records of the rows of one query, whose columns are the same in every batch.

    Args:
        shape: see `RowShape`.
        columns: of the rows.

    Raises:
        SchemaError: a column is of a type that no record can hold.
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
        """The columns of these names, as Connect has them."""
        return [connect_column(each.schema, rows.column(each.name)) for each in schema.fields]

    def name(self, part: str) -> str:
        """The name of a schema: the topic's, made such that Avro takes it, and the part's."""
        return f"{_NO_NAME.sub('_', self.shape.topic)}.{part}"

    def _struct(self, known: Schema, names: Sequence[str], part: str) -> Schema:
        fields = {each.name: each.schema for each in known.fields if each.name in names}
        return Schema.struct({name: fields[name] for name in names}, name=self.name(part))
