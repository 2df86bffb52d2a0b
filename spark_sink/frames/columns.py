"""Rows as users want them: a column for each field, followed by the record's origin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.schema import Schema
from connect.data.tables import schema_of_table
from connect.errors import ConfigError, SchemaError
from spark_sink.raw_rows import RAW_COLUMNS
from spark_sink.reading.columns import spark_schema as nested_schema
from spark_sink.reading.executor import read as read_nested
from spark_sink.reading.plan import ReadPlan, RowShape, SchemaChanged

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

#: The types of `RAW_COLUMNS` in Arrow: there is no JVM here that parses `RAW_SCHEMA`.
_ARROW: Final = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "binary": pa.binary(),
    "array<struct<key:string,value:binary>>": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
#: Columns of values and keys that are not structs. No struct that is a key has a field of this name.
WRAP: Final = "value"
WRAP_KEY: Final = "_key"
#: Columns beside the value's fields.
_METADATA: Final = ("_topic", "_partition", "_offset", "_timestamp")


def spark_schema(shape: RowShape | None) -> StructType:
    """The columns of a DataFrame; None: of records as bytes.

    Raises:
        SchemaError: a field of the values has the name of a column of the origin.
    """
    from pyspark.sql.types import StructField, StructType, TimestampType

    nested = _nested(shape)
    if shape is None:
        return StructType(
            [StructField(f.name, TimestampType() if f.name == "timestamp" else f.dataType) for f in nested.fields]
        )
    fields = flat_fields(shape, _METADATA)
    return StructType([*fields, *(StructField(name, nested[name].dataType) for name in _METADATA)])


def flat_fields(shape: RowShape, ours: Sequence[str]) -> list[StructField]:
    """A column for each field of the values, and `_key` where there are keys.

    Raises:
        SchemaError: a field of the values has the name of `_key` or another column of ours.
    """
    from pyspark.sql.types import StructField

    nested = _nested(shape)
    if taken := [field.name for field in shape.values.fields if field.name in (*ours, "_key")]:
        raise SchemaError(
            f'The records have a field "{taken[0]}", which is a column of ours. Rename it by ReplaceField.'
        )
    values: Any = nested["_value"].dataType
    fields = [StructField(field.name, field.dataType) for field in values.fields]
    if shape.keys is not None:
        kind: Any = nested["_key"].dataType
        fields.append(StructField("_key", kind.fields[0].dataType if _is_one(shape) else kind))
    return fields


def shape_of(schema: StructType) -> RowShape:
    """The shape of records for rows of a schema that the user gives.

    Raises:
        ConfigError: it has no column for a value.
        SchemaError: a column has a type that no record has.
    """
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    values = [field for field in schema.fields if field.name not in (*_METADATA, "_key")]
    if not values:
        raise ConfigError("schema", "has no column for the values. Name their fields.")
    keys = [field for field in schema.fields if field.name == "_key"]
    if keys and isinstance(keys[0].dataType, StructType):
        of_keys = schema_of_table(to_arrow_schema(keys[0].dataType, timezone="UTC"))
    elif keys:
        (key,) = schema_of_table(to_arrow_schema(StructType(keys), timezone="UTC")).fields
        of_keys = Schema.struct({WRAP_KEY: key.schema})
    else:
        of_keys = None
    whole = schema_of_table(to_arrow_schema(StructType(values), timezone="UTC"))
    return RowShape(whole, of_keys, WRAP, WRAP_KEY, metadata=True, unknown="ignore")


def read(plan: ReadPlan, part: Any, rows: StructType) -> Iterator[pa.RecordBatch]:
    """The records of a range as rows of its schema. Raises errors for Spark."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if part.start == part.end:
        return
    schema: pa.Schema = to_arrow_schema(rows, timezone="UTC")
    for batch in _batches(plan, part):
        arrays = [_column(batch, field.name, plan.rows) for field in schema]
        yield pa.RecordBatch.from_arrays(
            [
                array if array.type == field.type else array.cast(field.type)
                for array, field in zip(arrays, schema, strict=True)
            ],
            schema=schema,
        )


def _batches(plan: ReadPlan, part: Any) -> Iterator[pa.RecordBatch]:
    try:
        yield from read_nested(plan, _nested(plan.rows), part)
    except SchemaChanged as changed:
        raise SchemaError(
            f"A record does not fit the columns that the first records have ({changed}). Restart the query, which "
            "then knows it too, or have such records go to the error policy with errors.tolerance=all."
        ) from changed


def _column(batch: pa.RecordBatch, name: str, shape: RowShape | None) -> pa.Array:
    if shape is None:
        column = batch.column(name)
        return pc.multiply(column, 1000).view(pa.timestamp("us", "UTC")) if name == "timestamp" else column
    if name == "_key":
        keys = batch.column("_key")
        return pc.struct_field(keys, [0]) if _is_one(shape) else keys
    if name in _METADATA:
        return batch.column(name)
    return pc.struct_field(batch.column("_value"), [shape.values.field(name).index])  # type: ignore[union-attr]


def _nested(shape: RowShape | None) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    if shape is not None:
        return nested_schema(shape)
    return StructType([StructField(name, from_arrow_type(_ARROW[kind])) for name, kind in RAW_COLUMNS.items()])


def _is_one(shape: RowShape) -> bool:
    """Whether keys are not structs, and are wrapped in one."""
    keys = shape.keys
    return keys is not None and [field.name for field in keys.fields] == [shape.wrap_key]
