"""What a source connector reads as rows of a DataFrame: a column for each field, then key, topic and timestamp."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.splits import Split
from connect.data.batch import SourceBatch
from connect.data.schema import Schema
from connect.data.tables import Unfit, rows_of
from connect.errors import ConfigError, SchemaError
from connect.pipeline import transformation_chain
from connect.plugins import Plugins
from connect.telemetry.metrics import Registry
from spark_sink.connector_source.reading import split_records
from spark_sink.frames.columns import WRAP, WRAP_KEY, flat_fields
from spark_sink.frames.connectors import CONNECTOR
from spark_sink.reading.plan import RowShape
from spark_sink.reading.sample import grown, if_any

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

log = logging.getLogger("connect.spark")

#: Columns beside the value's fields and `_key`.
METADATA: Final = ("_topic", "_timestamp")
_SAMPLED_ROWS: Final = 500
_SAMPLED_SPLITS: Final = 8


@dataclass(frozen=True)
class SourceFrame:
    """What is read of a source connector. Travels to the executors, and is never shown.

    Attributes:
        task: the class of its task, "module:Class".
        folder: its plug-in's folder; None if it is installed as a package.
        config: the task's configuration, with transformations and `errors.*`.
        most: splits of a plan.
    """

    task: str
    folder: str | None
    config: dict[str, str] = field(repr=False)
    most: int

    def records(self, split: Split, number: int) -> Iterator[SourceBatch]:
        """The records of a split, behind the transformations. Errors as of `SplitSourceTask.read`."""
        chain = transformation_chain(Plugins.discover([]), self.config, time.sleep)
        try:
            metrics = Registry().labelled()  # nobody asks for them
            with split_records(
                self.task, self.folder, self.config["name"], self.config, split, number, metrics
            ) as read:
                for batch in read:
                    if len(batch) and len(changed := chain.run(batch)):
                        yield changed
        finally:
            chain.close()

    def shape(self, splits: list[Split]) -> RowShape:
        """The shape of the first records of some splits.

        Raises:
            ConfigError: none of them shows the columns.
        """
        values: Schema | None = None
        keys: Schema | None = None
        for number, split in enumerate(splits[:_SAMPLED_SPLITS]):
            looked = 0
            for batch in self.records(split, number):
                some = batch[: _SAMPLED_ROWS - looked]
                values, keys = grown(some.values, values, WRAP), grown(some.keys, keys, WRAP_KEY)
                looked += len(some)
                if looked >= _SAMPLED_ROWS:
                    break
        if (known := if_any(values)) is None:
            raise ConfigError(CONNECTOR, "has no record yet that says which columns there are. Name them by .schema().")
        return RowShape(known, if_any(keys), WRAP, WRAP_KEY, unknown="ignore")

    def rows(self, split: Split, number: int, shape: RowShape, schema: StructType) -> Iterator[pa.RecordBatch]:
        """The records of a split as rows of a schema.

        Raises:
            SchemaError: a record does not fit, and errors are not tolerated.
        """
        from pyspark.sql.pandas.types import to_arrow_schema

        arrow: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        for batch in self.records(split, number):
            if len(fitting := self._fitting(batch, shape)):
                yield _arrow(fitting, shape, arrow)

    def _fitting(self, batch: SourceBatch, shape: RowShape) -> SourceBatch:
        """The records that fit the columns."""
        try:
            _tables(batch, shape)
            return batch
        except Unfit as unfit:
            reason = next(iter(unfit.mismatches)).reason if unfit.mismatches else str(unfit)
            if (self.config.get("errors.tolerance") or "").lower() != "all":
                raise SchemaError(
                    f"A record does not fit the columns that the first records have: {reason}. Name the columns by "
                    ".schema(), or leave such records out with errors.tolerance=all."
                ) from unfit
            wrong = set(unfit.rows)
            log.warning("%d records do not fit the columns and are left out: %s", len(wrong), reason)
            return self._fitting(batch.take([row for row in range(len(batch)) if row not in wrong]), shape)


def source_schema(shape: RowShape) -> StructType:
    """The columns of a DataFrame. Raises SchemaError: a field has the name of a column of ours."""
    from pyspark.sql.types import StringType, StructField, StructType, TimestampType

    ours = [StructField("_topic", StringType()), StructField("_timestamp", TimestampType())]
    return StructType([*flat_fields(shape, METADATA), *ours])


def _tables(batch: SourceBatch, shape: RowShape) -> tuple[Any, Any]:
    """Values and keys as structs in Arrow. Raises Unfit."""
    keys = None
    if shape.keys is not None:
        keys = rows_of(batch.keys, shape.keys, wrap=shape.wrap_key, unknown=shape.unknown)
    return rows_of(batch.values, shape.values, wrap=shape.wrap, unknown=shape.unknown), keys


def _arrow(batch: SourceBatch, shape: RowShape, schema: pa.Schema) -> pa.RecordBatch:
    values, keys = _tables(batch, shape)
    arrays = []
    for each in schema:
        if each.name == "_topic":
            array = pa.array(batch.topics.to_list(), pa.string())
        elif each.name == "_timestamp":
            array = pc.multiply(pa.array(batch.timestamps.to_list(), pa.int64()), 1000).view(pa.timestamp("us", "UTC"))
        elif each.name == "_key":
            array = pc.struct_field(keys, [0]) if not pa.types.is_struct(each.type) else keys
        else:
            array = pc.struct_field(values, [shape.values.field(each.name).index])  # type: ignore[union-attr]
        arrays.append(array if array.type == each.type else array.cast(each.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
