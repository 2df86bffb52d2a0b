"""The executors' side of reading: consumes a range, runs converters and transformations, creates Arrow batches.

Runs in Spark's Python workers. A worker is reused for the next batch, so clients and chains are kept there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from connect.data.batch import SinkBatch
from connect.data.collector import freeze, tune_collector
from connect.data.record import TopicPartition
from connect.data.tables import Unfit
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.range_consumer import RangeConsumer
from connect.pipeline import sink_chain
from connect.plugins import Plugins
from spark_sink.cdc import ChangeEvents
from spark_sink.reading.columns import PartialRecord, RawColumns, RowColumns
from spark_sink.reading.failures import Failures
from spark_sink.reading.plan import ReadPlan, RowShape, SchemaChanged

if TYPE_CHECKING:
    from spark_sink.reading.part import Part

log = logging.getLogger("connect.spark")

#: Records of one step. Larger ones gain nothing in the chain; smaller ones cost Spark a step for each.
_ROWS: Final = 10_000
_KEPT: Final = 4  # plans of which clients are kept
_SHAPES: Final = 100  # of topics, of which what writes their columns is kept

_readings: dict[str, Reading] = {}


def read(plan: ReadPlan, schema: Any, part: Part) -> Iterator[pa.RecordBatch]:
    """The records of one range, as Arrow batches of Spark's schema. Raises errors for Spark."""
    reading = _readings.pop(plan.id, None) or _begun(plan)
    while len(_readings) >= _KEPT:
        _readings.pop(next(iter(_readings))).close()
    try:
        yield from reading.batches(plan.rows, schema, part)
    except BaseException:
        reading.close()  # it may have left something half done
        raise
    if reading.keeps_nothing:
        _readings[plan.id] = reading
    else:
        reading.close()  # Spark may read the range again: a transformation that remembers it would drop its records


def _begun(plan: ReadPlan) -> Reading:
    tune_collector()
    made = Reading(plan)
    freeze()
    return made


def _arrow(schema: Any) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    found: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return found


class Reading:
    """What a Python worker keeps for the plans of one id."""

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan
        clients = task_client_settings("consumer", plan.worker, plan.config)
        self._consumer = RangeConsumer(clients.librdkafka, fail_on_data_loss=plan.fail_on_data_loss)
        self._raw: RawColumns | None = None
        self._rows: dict[str, tuple[RowShape, RowColumns]] = {}  # by topic, what was used last at the end
        if plan.rows is not None:
            plugins = Plugins.discover([Path(folder) for folder in plan.plugin_path])
            self._chain = sink_chain(plugins, plan.worker, plan.config, time.sleep)
            self._failures = Failures(plan, self._chain.policy, plugins)
            self._events = ChangeEvents.of(plan.config) if plan.rows.events else None

    @property
    def keeps_nothing(self) -> bool:
        """Whether no transformation may remember records."""
        return self._plan.rows is None or self._chain.keeps_nothing

    def batches(self, shape: RowShape | None, schema: Any, part: Part) -> Iterator[pa.RecordBatch]:
        """The records of a range, as rows of this shape, or raw."""
        read = self._consumer.read(TopicPartition(part.topic, part.partition), part.start, part.end, _ROWS)
        if shape is None:
            self._raw = self._raw or RawColumns(_arrow(schema))
            yield from map(self._raw.batch, read)
            return
        rows = self._columns(part.topic, shape, schema)
        for records in read:
            yield from self._batches_of(self._changed(self._chain.run(records)), rows)
            if failed := self._failures.taken():
                yield rows.failures(failed)
        self._failures.settle()

    def _changed(self, records: SinkBatch) -> SinkBatch:
        """The rows of change events, where records are such."""
        if self._events is None or not len(records):
            return records
        changes = self._events.changed(records)
        for row, reason in sorted(changes.problems.items()):
            self._failures.reject(records.slice(row, row + 1), reason)
        return changes.batch

    def _columns(self, topic: str, shape: RowShape, schema: Any) -> RowColumns:
        known, rows = self._rows.pop(topic, (None, None))
        if rows is None or known != shape:
            rows = RowColumns(shape, _arrow(schema))
        while len(self._rows) >= _SHAPES:
            self._rows.pop(next(iter(self._rows)))
        self._rows[topic] = shape, rows
        return rows

    def _batches_of(self, records: SinkBatch, rows: RowColumns) -> Iterator[pa.RecordBatch]:
        if not len(records):
            return
        try:
            yield _made(records, rows)
        except Unfit:
            yield from self._without_misfits(records, rows)

    def _without_misfits(self, records: SinkBatch, rows: RowColumns) -> Iterator[pa.RecordBatch]:
        """A batch without the rows that do not fit: those that no wider schema would hold are given up.

        All are, where the schema never grows and errors are tolerated.

        Raises:
            SchemaChanged: the schema has to grow.
        """
        misfits = rows.misfits(records)
        if (row := misfits.grows) is not None and not (rows.is_fixed and self._failures.tolerates_misfits):
            raise _changed_at(records, row)
        for row, reason in sorted(misfits.reasons.items()):
            self._failures.reject(records.slice(row, row + 1), reason)
        rest = [row for row in range(len(records)) if row not in misfits.reasons]
        if rest:
            yield _made(records.take(rest), rows)

    def close(self) -> None:
        """Close clients and plug-ins; their errors are ignored."""
        closing = [self._consumer.close]
        if self._plan.rows is not None:
            closing += [self._chain.close, self._failures.close]
        for close in closing:
            try:
                close()
            except Exception as error:  # plug-ins raise anything
                log.warning("While reading was ended: %s: %s", type(error).__name__, error)


def _made(records: SinkBatch, rows: RowColumns) -> pa.RecordBatch:
    """Raises Unfit as `RowColumns.batch`, and SchemaChanged where a record lacks columns for the first time."""
    try:
        return rows.batch(records)
    except PartialRecord as found:
        raise _changed_at(records, found.row) from None


def _changed_at(records: SinkBatch, row: int) -> SchemaChanged:
    return SchemaChanged(records.original_topics[row], records.original_partitions[row], records.offsets[row])
