"""Batches as Arrow columns in the shapes that Spark expects: raw records, and rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from connect.data.batch import SinkBatch
from connect.data.schema import Schema
from connect.data.tables import Unfit, rows_of, schema_of, table_schema
from connect.data.values import Values
from spark_sink.cdc import marks_of, unsent
from spark_sink.reading.failures import FailedRecord
from spark_sink.reading.plan import RowShape

_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_METADATA: Final = [
    pa.field("_topic", pa.string()),
    pa.field("_partition", pa.int32()),
    pa.field("_offset", pa.int64()),
    pa.field("_timestamp", pa.timestamp("us", "UTC")),
    pa.field("_origin", pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])),
]
_WHOLE: Final = pa.field("_whole", pa.bool_())
_LACKS: Final = pa.field("_lacks", pa.list_(pa.string()))
_TEXTS: Final = ("stage", "class", "exception", "message", "trace")
_FAILURE: Final = pa.field(
    "_failure",
    pa.struct(
        [*((name, pa.string()) for name in _TEXTS), ("key", pa.binary()), ("value", pa.binary()), ("headers", _HEADERS)]
    ),
)


def spark_schema(shape: RowShape) -> StructType:
    """The Spark schema of rows."""
    from pyspark.sql.pandas.types import from_arrow_type

    fields: list[pa.Field] = []
    if shape.metadata or shape.failures:
        fields += _METADATA
    if shape.keys is not None:
        fields.append(pa.field("_key", row_type(shape.keys)))
    fields.append(pa.field("_value", row_type(shape.values)))
    if shape.merged:
        fields += [_WHOLE, _LACKS] if shape.partial else [_WHOLE]
    if shape.failures:
        fields.append(_FAILURE)
    return StructType([StructField(field.name, from_arrow_type(field.type)) for field in fields])


def row_type(schema: Schema) -> pa.DataType:
    """The Arrow type of rows: a struct of the table's columns."""
    return pa.struct(list(table_schema(schema)))


@dataclass(frozen=True, slots=True)
class Misfits:
    """Rows of a batch that do not fit.

    Attributes:
        reasons: why, for each.
        grows: the first that a wider schema would hold; None when there is none.
    """

    reasons: Mapping[int, str]
    grows: int | None = None


class PartialRecord(Exception):
    """A record lacks columns.

    Attributes:
        row: its number in the batch.
    """

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class RawColumns:
    """Records as they are stored in Kafka."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def batch(self, records: SinkBatch) -> pa.RecordBatch:
        """Raw records as one Arrow batch."""
        return pa.RecordBatch.from_arrays(
            [
                _repeated(records.topics, pa.string()),
                _repeated(records.partitions, pa.int32()),
                pa.array(records.offsets.to_list(), pa.int64()),
                pa.array(records.timestamps.to_list(), pa.int64()),
                _repeated(records.timestamp_types, pa.string()),
                pa.array(records.keys.to_list(), pa.binary()),
                pa.array(records.values.to_list(), pa.binary()),
                _headers(records.headers.to_list(), self._schema.field("headers").type),
            ],
            schema=self._schema,
        )


class RowColumns:
    """Records as rows of a table.

    Args:
        shape: see there.
        schema: Spark's schema of it, in Arrow.
    """

    def __init__(self, shape: RowShape, schema: pa.Schema) -> None:
        self._shape = shape
        self._schema = schema

    @property
    def is_fixed(self) -> bool:
        """Whether the schema never grows: fields that it does not have are left out."""
        return self._shape.unknown == "ignore"

    def batch(self, records: SinkBatch) -> pa.RecordBatch:
        """The chain's output for these records, as one Arrow batch.

        Raises:
            Unfit: a row does not fit the schema.
            PartialRecord: a record lacks columns, and the shape has no room for that.
        """
        columns: dict[str, Any] = {}
        n = len(records)
        if self._shape.metadata or self._shape.failures:
            offsets = pa.array(records.offsets.to_list(), pa.int64())
            columns = {
                "_topic": _repeated(records.topics, pa.string()),
                "_partition": _repeated(records.partitions, pa.int32()),
                "_offset": offsets,
                "_timestamp": _moments(records.timestamps.to_list()),
                "_origin": pa.StructArray.from_arrays(
                    [
                        _repeated(records.original_topics, pa.string()),
                        _repeated(records.original_partitions, pa.int32()),
                        offsets,
                    ],
                    names=["topic", "partition", "offset"],
                ),
            }
        for name, values, schema, wrap in self._tables(records):
            columns[name] = rows_of(values, schema, wrap=wrap, unknown=self._shape.unknown)
        if self._shape.merged:
            columns["_whole"], lacks = presence(records.values, self._shape)
            if self._shape.partial:
                columns["_lacks"] = lacks
            elif (row := next((at for at, names in enumerate(lacks) if names), None)) is not None:
                raise PartialRecord(row)
        return self._made(columns, n)

    def misfits(self, records: SinkBatch) -> Misfits:
        """The rows that `batch` refuses."""
        reasons: dict[int, str] = {}
        grows: int | None = None
        for _, values, schema, wrap in self._tables(records):
            try:
                rows_of(values, schema, wrap=wrap, unknown=self._shape.unknown)
            except Unfit as unfit:
                found = _misfits(values, schema, wrap, unfit)
                grows = found.grows if grows is None else grows
                reasons = {**found.reasons, **reasons}
        return Misfits(reasons, grows)

    def _tables(self, records: SinkBatch) -> Iterator[tuple[str, Values, Schema, str]]:
        shape = self._shape
        if shape.keys is not None:
            yield "_key", records.keys, shape.keys, shape.wrap_key
        yield "_value", records.values, shape.values, shape.wrap

    def failures(self, failed: Sequence[FailedRecord]) -> pa.RecordBatch:
        """Records that were given up, as rows without a value."""
        origin = [{"topic": f.topic, "partition": f.partition, "offset": f.offset} for f in failed]
        columns: dict[str, Any] = {
            "_topic": [f.topic for f in failed],
            "_partition": [f.partition for f in failed],
            "_offset": [f.offset for f in failed],
            "_timestamp": _moments([f.timestamp for f in failed]),
            "_origin": origin,
            "_failure": [f.failure for f in failed],
        }
        return self._made(columns, len(failed))

    def _made(self, columns: dict[str, Any], n: int) -> pa.RecordBatch:
        arrays = []
        for field in self._schema:
            column = columns.get(field.name)
            if column is None:
                column = pa.nulls(n, field.type)
            elif isinstance(column, list):
                column = pa.array(column, field.type)
            elif column.type != field.type:
                column = column.cast(field.type)
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def presence(values: Values, shape: RowShape) -> tuple[list[bool], list[list[str] | None]]:
    """Whether each row's record is the whole row, and the columns that it does not have, in lower case."""
    whole: list[bool] = [False] * len(values)
    lacks: list[list[str] | None] = [None] * len(values)
    known = [field.name for field in shape.values.fields]
    for rows, group in values.groups():
        own, missing = group.schemas[0], None
        if own is not None:
            has = {field.name for field in own.fields} or {shape.wrap}
            missing = [name.lower() for name in known if name not in has] or None
        marks = marks_of(group) if shape.events else [""] * len(rows)
        for row, mark in zip(rows, marks, strict=True):
            names = [name.lower() for name in unsent(mark)] if mark else []
            whole[row], lacks[row] = own is None, [*(missing or []), *names] if names else missing
    return whole, lacks


def _misfits(values: Values, schema: Schema, wrap: str, unfit: Unfit) -> Misfits:
    reasons = {mismatch.row: mismatch.reason for mismatch in unfit.mismatches}
    rows = unfit.rows
    while rows:
        try:
            grown = schema_of(values.take(rows), schema, wrap=wrap)
        except Unfit as hopeless:  # they contradict what the schema says, or what rows before them say
            reasons |= {rows[mismatch.row]: mismatch.reason for mismatch in hopeless.mismatches}
            rows = [row for index, row in enumerate(rows) if index not in hopeless.rows]
        else:
            return Misfits(reasons, rows[0] if grown != schema else None)
    return Misfits(reasons)


def _repeated(column: Any, kind: pa.DataType) -> pa.Array:
    """A column of mostly constant values."""
    if column.constant and len(column):
        return pa.repeat(pa.scalar(column[0], kind), len(column))
    return pa.array(column.to_list(), kind)


def _moments(milliseconds: list[int | None]) -> pa.Array:
    import pyarrow.compute as pc

    return pc.multiply(pa.array(milliseconds, pa.int64()), 1000).view(pa.timestamp("us", "UTC"))


def _headers(raw: list[Any], kind: pa.DataType) -> pa.Array:
    if not any(raw):
        return pa.nulls(len(raw), kind)
    items = [None if not headers else [{"key": k, "value": v} for k, v in headers] for headers in raw]
    return pa.array(items, kind)
