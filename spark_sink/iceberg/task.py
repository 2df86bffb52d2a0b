"""IcebergSinkTask: topics into Iceberg tables, by the worker itself.

Rows wait in memory and are written by `pre_commit`, with the offsets they come from in the same commit of the table
(see `spark_sink.iceberg.table`): nothing is lost and nothing repeated, whichever process dies at whatever moment.
"""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from connect import ConnectError, Offsets, SinkBatch, SinkTask, TopicPartition
from connect.data.evolution import Mismatch
from spark_sink.iceberg.catalog import open_catalog
from spark_sink.iceberg.keys import IcebergOptions
from spark_sink.iceberg.listing import tables
from spark_sink.iceberg.routing import Routes
from spark_sink.iceberg.table import Table
from spark_sink.rows.fields import texts_at
from spark_sink.rows.opening import taken_over
from spark_sink.rows.pace import Pace
from spark_sink.rows.unfit import report

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from spark_sink.iceberg.writer import Writer
    from spark_sink.rows.waiting import Part, Waiting

log = logging.getLogger(__name__)

#: What to do when a record does not fit.
_HINT: Final = (
    "Let the table change with iceberg.tables.evolve-schema-enabled=true, or give such records a dead letter topic."
)
_NEEDED: Final = ("pyiceberg", "pyarrow")


class IcebergSinkTask(SinkTask):
    """Writes rows to the tables that their records belong to.

    With one table, its offsets are the truth: `open` returns them and takes over the partitions in the table. With
    several tables, one may be ahead of another: reading continues at the offset of the consumer group, which is ahead
    of none of them, and each table drops the rows that it has.

    `put` only makes rows and never writes: it finds the record that does not fit, alone, and a commit that fails is
    never the fault of a record. `pre_commit` writes when it is time: between two commits it reports what the last one
    has made durable.
    """

    settings = IcebergOptions.definition()
    atomic: ClassVar[bool] = True
    records_at_once: ClassVar[int | None] = 10_000

    def start(self, config: Mapping[str, str]) -> None:
        if any(importlib.util.find_spec(name) is None for name in _NEEDED):
            raise ConnectError("Iceberg tables need the package pyiceberg. Install connect-runtime[iceberg].")
        self._options = options = IcebergOptions.parse(config)
        self._routes = Routes(options)
        self._writers: dict[str, Writer] = {}
        self._pace = Pace(self.context, options.interval_s, options.flush_bytes)
        self._durable: dict[TopicPartition, int] = {}
        self._missing: set[str] = set()  # tables that records named, that do not exist

    @cached_property
    def _catalog(self) -> Catalog:
        catalog = open_catalog(self._options.catalog, self._options.catalog_props)
        self.context.exit_stack.callback(catalog.close)
        return catalog

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        self._forget(partitions)
        if (name := self._options.one_table) is None:
            return None
        return taken_over(self._writer(name).table, partitions, self.context)

    def put(self, batch: SinkBatch) -> None:
        if len(batch):
            self._pace.refuse_when_full(self._waiting)
            self._take(batch)
        self._pace.ask_for_commit(self._waiting)

    def pre_commit(self, offsets: Offsets) -> Offsets:
        rows_wait = any(each.records for each in self._waiting)
        if rows_wait and not self.context.one_batch and not self._pace.is_due(self._waiting):
            return {partition: self._durable[partition] for partition in offsets if partition in self._durable}
        start = time.monotonic()
        for name, writer in list(self._writers.items()):
            began = time.monotonic()
            written = writer.flush(offsets)
            if written:
                self._tell(name, written, time.monotonic() - began)
        if rows_wait:
            self._pace.wrote(start)
        self._durable.update(offsets)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._forget(partitions)

    def _forget(self, partitions: Sequence[TopicPartition]) -> None:
        for writer in self._writers.values():
            writer.forget(partitions)
        for partition in partitions:
            self._durable.pop(partition, None)

    # Taking.

    def _take(self, batch: SinkBatch) -> None:
        gone = self._deletions(batch)
        tables, homeless = self._routes.by_table(batch)
        unfit = dict(homeless)
        prepared: list[tuple[Writer, list[Part]]] = []
        for name, rows in tables:
            writer = self._writer(name)
            if writer.is_left_out():
                self._tell_missing(name)
                continue
            mine = {at for at, row in enumerate(rows) if row in gone} if gone else gone
            parts, mismatches = writer.prepare(batch if len(rows) == len(batch) else batch.take(rows), mine)
            unfit.update((rows[each.row], f"{each.reason} (Table {name})") for each in mismatches)
            prepared.append((writer, parts))
        if unfit:
            report(self.context, batch, [Mismatch(row, why) for row, why in sorted(unfit.items())], hint=_HINT)
        for writer, parts in prepared:
            for part in parts:
                writer.waiting.add(part)

    def _deletions(self, batch: SinkBatch) -> set[int]:
        """The records whose own field says that they delete."""
        if self._options.cdc_field is None:
            return set()
        words = texts_at(batch.values, self._options.cdc_field.split("."))
        return {row for row, word in enumerate(words) if isinstance(word, str) and word[:1] in ("D", "d")}

    def _writer(self, name: str) -> Writer:
        from spark_sink.iceberg.writer import Writer

        if name not in self._writers:
            plan = self._options.plan(name)
            table = Table(self._catalog, name, self.context.connector, plan.branch)
            self._writers[name] = Writer(table, self._options, plan)
        return self._writers[name]

    @property
    def _waiting(self) -> list[Waiting]:
        return [writer.waiting for writer in self._writers.values()]

    def _tell_missing(self, name: str) -> None:
        if name not in self._missing:
            self._missing.add(name)
            log.warning(
                "Table %s does not exist, and iceberg.tables.auto-create-enabled=false: its records are left out.", name
            )

    def _tell(self, name: str, rows: int, seconds: float) -> None:
        metrics = self.context.metrics
        metrics.count("iceberg_rows_total", rows, table=name)
        metrics.observe("iceberg_commit_seconds", seconds, table=name)
        log.info("wrote %s rows to table %s in %.2f s", f"{rows:,}", name, seconds)


def alter_offsets(config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
    """Set offsets in the tables as a user asked, while the connector is stopped.

    Where records name their tables, those of all tables of the catalog are changed that have an offset of the
    connector.

    Args:
        config: of the connector, with its name.
        offsets: where to continue; None for where the consumer group begins.

    Raises:
        ConnectError: a table cannot be written.
    """
    options = IcebergOptions.parse(config)
    names = options.tables or tables(config)
    with closing(open_catalog(options.catalog, options.catalog_props)) as catalog:
        for name in names:
            table = Table(catalog, name, config["name"], options.plan(name).branch)
            if table.look():
                known = {p: at for p, at in offsets.items() if options.one_table or table.offset(p) is not None}
                if known:
                    table.alter_offsets(known)
    return True
