"""One batch of a query, divided among writers: one writer gets all rows of a key, in order, and writes them once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connect.errors import ConfigError, ConnectError
from spark_sink.lease_file import work_may_begin
from spark_sink.source.changes import NONE, RANKS, TYPE, VERSION, ChangeShape
from spark_sink.source.committed_batches import CommittedBatches, Partitioning
from spark_sink.source.records import RowShape
from spark_sink.source.tally import Tally
from spark_sink.source.writing import WRITER, BatchRequest, PartWriter, WritePlan, Written

#: Types whose values can be compared and hashed alike by everybody.
_ATOMIC: Final = ("byte", "short", "integer", "long", "float", "double", "boolean", "string", "binary", "date")
_ATOMIC_PREFIXES: Final = ("decimal", "timestamp", "char", "varchar", "time")


class NotNow(ConnectError):
    """No batch may begin: the connector is paused, or its lease is over. The batch is repeated later."""


class BatchWriter:
    """Called with each batch by Spark (`foreachBatch`), or with the rows of a poll. For one thread at a time.

    Over Spark Connect it runs on the server, pickled: then it has no tally.

    Args:
        plan: see `WritePlan`.
        partitioning: how batches are divided among writers.
        committed: with exactly-once, of the plan's run, which has begun.
        lease_file: the file of `spark_sink.lease_file`, where the driver sees it.
        tally: counts what was written.
    """

    def __init__(
        self,
        plan: WritePlan,
        partitioning: Partitioning,
        committed: CommittedBatches | None = None,
        lease_file: str | None = None,
        tally: Tally | None = None,
    ) -> None:
        self._plan = plan
        self._partitioning = partitioning
        self._committed = committed
        self._lease_file = lease_file
        self._tally = tally

    @property
    def shape(self) -> RowShape:
        """How a row becomes a record."""
        return self._plan.shape

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tally": None}

    def __call__(self, rows: Any, batch: int) -> None:
        """Write a batch; returns when it is durable.

        Raises:
            NotNow: see there.
            FencedError: another run has begun.
            ConnectError: the brokers refuse.
        """
        if self._lease_file is not None and not work_may_begin(self._lease_file):
            raise NotNow("The connector is paused, or its worker does not answer for it.")
        committed = self._committed
        request = BatchRequest(batch, self._partitioning)
        if committed is not None:
            since = committed.refresh()
            partitioning = committed.partitioning_of(batch, self._partitioning)
            request = BatchRequest(batch, partitioning, committed.done(batch), since)
        divided = self._divided(rows, request.partitioning)
        parts = divided.mapInArrow(PartWriter(self._plan, request), Written.COLUMNS).collect()
        if self._tally is not None:
            self._tally.add([Written(**part.asDict()) for part in parts])

    def _divided(self, rows: Any, partitioning: Partitioning) -> Any:
        """The rows with those of each writer in a partition of its own, in order."""
        from pyspark.sql import functions as sf

        shape = self._plan.shape
        if isinstance(shape, ChangeShape) and shape.envelope == NONE and not shape.tombstones:
            rows = rows.where(sf.col(TYPE).isin("insert", "update_postimage"))
        by = [_column(name) for name in partitioning.by] or [_hashable(each) for each in rows.schema.fields]
        writer = sf.pmod(sf.hash(*by), sf.lit(partitioning.writers)).cast("int")
        divided = rows.withColumn(WRITER, writer).repartitionById(partitioning.writers, WRITER)
        ordered = self._sorting(shape)
        if ordered:
            divided = divided.sortWithinPartitions(*ordered)
        return divided.select(*(_selected(rows.schema[name]) for name in shape.columns), WRITER)

    def _sorting(self, shape: RowShape) -> list[Any]:
        from pyspark.sql import functions as sf

        ordered = [_column(name) for name in shape.order]
        if not isinstance(shape, ChangeShape):
            return ordered
        rank = sf.array_position(sf.array(*map(sf.lit, RANKS)), sf.col(TYPE))
        return [sf.col(VERSION), *(_column(name) for name in shape.key), rank, *ordered]


def check_columns(schema: Any, shape: RowShape) -> None:
    """Check that rows have the required columns, with types that records can hold.

    Args:
        schema: a StructType.
        shape: with the required columns.

    Raises:
        ConfigError: a column is missing.
        SchemaError: a column has a type that no record can hold.
    """
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    from connect.data.tables import schema_of_table

    known = {each.name: each for each in schema.fields}
    for setting, names in (("key.fields", shape.key), ("columns.include", shape.value), ("order.by", shape.order)):
        for name in names:
            if name not in known:
                raise ConfigError(setting, f'there is no column "{name}". There are: {", ".join(known)}.')
    for name in shape.key:
        kind = known[name].dataType.jsonValue()
        if not isinstance(kind, str) or not (kind in _ATOMIC or kind.startswith(_ATOMIC_PREFIXES)):
            raise ConfigError(
                "key.fields", f'"{name}" is of type {known[name].dataType.simpleString()}. Name plain columns.'
            )
    wanted = [
        StructField(name, StringType()) if _is_variant(known[name]) else known[name]
        for name in shape.columns
        if name in known
    ]
    schema_of_table(to_arrow_schema(StructType(wanted), timezone="UTC"))


def value_columns(names: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...]:
    """The columns of values, in the rows' order. Raises ConfigError."""
    unknown = [name for name in (*include, *exclude) if name not in names]
    if unknown:
        setting = "columns.include" if unknown[0] in include else "columns.exclude"
        raise ConfigError(setting, f'there is no column "{unknown[0]}". There are: {", ".join(names)}.')
    kept = tuple(name for name in names if (not include or name in include) and name not in exclude)
    if not kept:
        raise ConfigError("columns.exclude", "leaves no column for the value.")
    return kept


def _column(name: str) -> Any:
    from pyspark.sql import functions as sf

    quoted = name.replace("`", "``")
    return sf.col(f"`{quoted}`")


def _hashable(field: Any) -> Any:
    """The columns for a hash: maps and variants have none of their own."""
    from pyspark.sql import functions as sf

    kind = field.dataType.simpleString()
    return sf.to_json(_column(field.name)) if "map<" in kind or "variant" in kind else _column(field.name)


def _selected(field: Any) -> Any:
    from pyspark.sql import functions as sf

    return sf.to_json(_column(field.name)).alias(field.name) if _is_variant(field) else _column(field.name)


def _is_variant(field: Any) -> bool:
    return bool(field.dataType.simpleString() == "variant")
