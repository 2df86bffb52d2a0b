"""DeltaSinkTask: topics into Delta tables by the worker itself, with neither Spark nor a JVM.

Rows wait in memory and are written by `pre_commit`, with the offsets they come from in the same commit of the table
(see `spark_sink.delta.table`): nothing is lost and nothing repeated, whichever process dies at whatever moment.
"""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from connect import ConnectError, Offsets, SinkBatch, SinkTask, TopicPartition
from connect.data.evolution import Mismatch
from spark_sink.cdc import ChangeEvents, taken_apart
from spark_sink.delta.routing import by_table, tables_of
from spark_sink.delta.table import Table
from spark_sink.rows.opening import taken_over
from spark_sink.rows.pace import Pace
from spark_sink.rows.unfit import report
from spark_sink.table_rules import is_one_table
from spark_sink.table_settings import TableOptions

if TYPE_CHECKING:
    from spark_sink.delta.maintenance import Maintenance
    from spark_sink.delta.writer import Writer
    from spark_sink.rows.waiting import Part, Waiting

log = logging.getLogger(__name__)

_CARE_S: Final = 1.0
#: What to do when a record does not fit.
_HINT: Final = "Allow more with schema.evolution, or quarantine such records."


class DeltaSinkTask(SinkTask):
    """Writes rows to the tables that their records belong to.

    With one table, its offsets are the truth: `open` returns them and takes over the partitions in the table. With
    several tables, one may be ahead of another: reading continues at the offset of the consumer group, which is ahead
    of none of them, and each table drops the rows that it has.

    `put` only makes rows and never writes: it finds the record that does not fit, alone, and a commit that fails is
    never the fault of a record.
    """

    settings = TableOptions.definition()
    atomic: ClassVar[bool] = True
    records_at_once: ClassVar[int | None] = 10_000

    def start(self, config: Mapping[str, str]) -> None:
        if importlib.util.find_spec("deltalake") is None or importlib.util.find_spec("pyarrow") is None:
            raise ConnectError(
                "Delta tables without Spark need the package deltalake. Install connect-runtime[delta], or set "
                "engine=spark."
            )
        from spark_sink.delta.maintenance import Maintenance

        self._options = options = TableOptions.parse(config)
        self._events = ChangeEvents.of(config)
        self._writers: dict[str, Writer] = {}
        self._pace = Pace(self.context, options.interval_s, options.flush_bytes, options.flush_records)
        self._maintenance: Maintenance | None = None
        if options.compaction_s or options.vacuum_s:
            self._maintenance = Maintenance(options.storage, options)
        self._owned: set[TopicPartition] = set()

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        self._owned.update(partitions)
        for writer in self._writers.values():
            writer.forget(partitions)
        begin: Offsets = {}
        if is_one_table(self._options.table):
            begin = taken_over(self._writer(self._options.table).table, partitions, self.context) or {}
        if self._options.starting_ms is None:
            return begin or None
        group = self.context.committed(*partitions)
        new = [partition for partition in partitions if partition not in begin and partition not in group]
        return {**begin, **self.context.offsets_at(self._options.starting_ms, *new)} or None

    def put(self, batch: SinkBatch) -> None:
        if len(batch):
            self._pace.refuse_when_full(self._waiting)
            self._take(batch)
        self._pace.ask_for_commit(self._waiting)

    def pre_commit(self, offsets: Offsets) -> Offsets:
        start = time.monotonic()
        for uri, writer in list(self._writers.items()):
            began = time.monotonic()
            waiting = writer.waiting.records
            written = writer.flush(offsets)
            if written:
                self._tell(uri, written, time.monotonic() - began)
            if waiting and self._maintenance is not None:
                self._maintenance.after_commit(uri, partial(writer.table.begins_with, self._owned))
        self._pace.wrote(start)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._owned.difference_update(partitions)
        for writer in self._writers.values():
            writer.forget(partitions)

    def stop(self) -> None:
        if self._maintenance is not None:
            self._maintenance.join(_CARE_S)

    # Taking.

    def _take(self, batch: SinkBatch) -> None:
        gone: set[int] = set()
        unsent: dict[int, frozenset[str]] = {}
        if self._events is not None:
            changes = self._events.changed(batch)
            if changes.problems:
                self._report(batch, [Mismatch(row, why) for row, why in sorted(changes.problems.items())])
            batch, gone, unsent = taken_apart(changes.batch)
        tables, homeless = by_table(batch, self._options.table, self._options.table_field)
        unfit = [Mismatch(row, why) for row, why in homeless.items()]
        prepared: list[tuple[Writer, Part]] = []
        for uri, rows in tables:
            writer = self._writer(uri)
            mine = {at for at, row in enumerate(rows) if row in gone} if gone else gone
            lacking = {at: unsent[row] for at, row in enumerate(rows) if row in unsent} if unsent else unsent
            part, mismatches = writer.prepare(batch if len(rows) == len(batch) else batch.take(rows), mine, lacking)
            unfit += [Mismatch(rows[each.row], f"{each.reason} (Table {uri})") for each in mismatches]
            prepared.append((writer, part))
        if unfit:
            self._report(batch, sorted(unfit, key=lambda mismatch: mismatch.row))
        for writer, part in prepared:
            writer.waiting.add(part)

    def _report(self, batch: SinkBatch, unfit: Sequence[Mismatch]) -> None:
        report(self.context, batch, unfit, fails=self._options.policy.mismatch == "fail", hint=_HINT)

    def _writer(self, uri: str) -> Writer:
        from spark_sink.delta.writer import Writer

        if uri not in self._writers:
            self._writers[uri] = Writer(Table(uri, self.context.connector, self._options.storage), self._options)
        return self._writers[uri]

    @property
    def _waiting(self) -> list[Waiting]:
        return [writer.waiting for writer in self._writers.values()]

    def _tell(self, uri: str, rows: int, seconds: float) -> None:
        metrics = self.context.metrics
        metrics.count("delta_rows_total", rows, table=uri)
        metrics.observe("delta_commit_seconds", seconds, table=uri)
        log.info("wrote %s rows to table %s in %.2f s", f"{rows:,}", uri, seconds)


def alter_offsets(config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
    """Set offsets in the tables as a user asked, while the connector is stopped.

    Args:
        config: of the connector, with its name.
        offsets: where to continue; None for where the consumer group begins.

    Raises:
        ConnectError: a table cannot be written.
    """
    options = TableOptions.parse(config)
    uris = [options.table] if is_one_table(options.table) else tables_of(options.table, options.storage)
    for uri in uris:
        table = Table(uri, config["name"], options.storage)
        if table.look():
            known = (
                offsets
                if is_one_table(options.table)
                else {p: o for p, o in offsets.items() if table.offset(p) is not None}
            )
            if known:
                table.alter_offsets(known)
    return True
