"""The executors' side of reading: consumes a range, runs converters and transformations, makes Arrow batches.

Runs in Spark's Python workers. A worker is used again for the next batch, so clients and chains are kept there.
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
from spark_sink.reading.columns import RawColumns, RowColumns
from spark_sink.reading.failures import Failures
from spark_sink.reading.plan import ReadPlan, SchemaChanged

if TYPE_CHECKING:
    from spark_sink.reading.part import Part

log = logging.getLogger("connect.spark")

#: Records of one step. Larger ones gain nothing in the chain; smaller ones cost Spark a step for each.
_ROWS: Final = 10_000
_KEPT: Final = 4  # plans of which clients are kept

_readings: dict[str, Reading] = {}


def read(plan: ReadPlan, schema: Any, part: Part) -> Iterator[pa.RecordBatch]:
    """The records of one range, as Arrow batches of Spark's schema. Raises what the task is to fail with."""
    reading = _readings.pop(plan.id, None) or _begun(plan, schema)
    while len(_readings) >= _KEPT:
        _readings.pop(next(iter(_readings))).close()
    try:
        yield from reading.batches(TopicPartition(part.topic, part.partition), part.start, part.end)
    except BaseException:
        reading.close()  # it may have left something half done
        raise
    _readings[plan.id] = reading


def _begun(plan: ReadPlan, schema: Any) -> Reading:
    tune_collector()
    made = Reading(plan, _arrow(schema))
    freeze()
    return made


def _arrow(schema: Any) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    found: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return found


class Reading:
    """What a Python worker keeps of one plan."""

    def __init__(self, plan: ReadPlan, schema: pa.Schema) -> None:
        self._plan = plan
        clients = task_client_settings("consumer", plan.worker, plan.config)
        self._consumer = RangeConsumer(clients.librdkafka, fail_on_data_loss=plan.fail_on_data_loss)
        self._raw = RawColumns(schema) if plan.rows is None else None
        if plan.rows is not None:
            plugins = Plugins.discover([Path(folder) for folder in plan.plugin_path])
            self._chain = sink_chain(plugins, plan.worker, plan.config, time.sleep)
            self._failures = Failures(plan, self._chain.policy, plugins)
            self._rows = RowColumns(plan.rows, schema)

    def batches(self, partition: TopicPartition, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """The records from `start` up to, not including, `end`."""
        for records in self._consumer.read(partition, start, end, _ROWS):
            if self._raw is not None:
                yield self._raw.batch(records)
                continue
            changed = self._chain.run(records)
            yield from self._batches_of(changed)
            if failed := self._failures.taken():
                yield self._rows.failures(failed)
        if self._raw is None:
            self._failures.settle()

    def _batches_of(self, records: SinkBatch) -> Iterator[pa.RecordBatch]:
        if not len(records):
            return
        try:
            yield self._rows.batch(records)
        except Unfit:
            yield from self._without_misfits(records)

    def _without_misfits(self, records: SinkBatch) -> Iterator[pa.RecordBatch]:
        """A batch without the rows that do not fit: those are given up, where no schema with more room would hold them.

        Raises:
            SchemaChanged: the schema has to grow.
        """
        misfits = self._rows.misfits(records)
        if (row := misfits.grows) is not None:
            raise SchemaChanged(records.original_topics[row], records.original_partitions[row], records.offsets[row])
        for row, reason in sorted(misfits.reasons.items()):
            self._failures.reject(records.slice(row, row + 1), reason)
        rest = [row for row in range(len(records)) if row not in misfits.reasons]
        if rest:
            yield self._rows.batch(records.take(rest))

    def close(self) -> None:
        """Release clients and plug-ins, whatever they say to that."""
        closing = [self._consumer.close]
        if self._raw is None:
            closing += [self._chain.close, self._failures.close]
        for close in closing:
            try:
                close()
            except Exception as error:  # plug-ins raise anything
                log.warning("While reading was ended: %s: %s", type(error).__name__, error)
