"""MirrorSourceTask: copies partitions, bytes unchanged, and writes which offset became which."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect import (
    ConnectError,
    Headers,
    RecordMetadata,
    RetriableError,
    SinkBatch,
    SourceBatch,
    SourceRecord,
    SourceTask,
    TopicPartition,
    __version__,
)
from connect.data import NO_HEADERS, BytesHeaders, Column, Constant, Deferred, Dictionary, Plain
from connect.kafka.reading.partition_reader import BEGINNING, END, PartitionReader
from connect.kafka.writing.note_producer import NoteProducer
from connectors.mirror import positions
from connectors.mirror.clusters import called, client
from connectors.mirror.keys import SOURCE, MirrorSourceOptions
from connectors.mirror.syncs import SyncChooser

log = logging.getLogger(__name__)

#: How long a poll waits while records are under way, of which we are told only between two polls.
_UNDER_WAY_S: Final = 0.1
#: How often, when nothing comes, the last record of a partition gets a sync of its own.
_LATE_S: Final = 5.0


class MirrorSourceTask(SourceTask):
    """Copies its share of the partitions.

    For syncs, acknowledgements of some of the records are enough (`acknowledged_rows`).
    """

    settings = MirrorSourceOptions.definition()
    version = __version__
    acknowledges_records = True

    def start(self, config: Mapping[str, str]) -> None:
        options = MirrorSourceOptions.parse(config)
        self._alias = options.source_alias
        self._timeout = options.poll_timeout
        self._lag = options.lag
        partitions = positions.partitions(options.assigned_partitions)
        self._routes = {
            partition: _Route(self._alias, partition, options.policy.remote(self._alias, partition.topic), self._lag)
            for partition in partitions
        }
        name = f"{self.context.connector}-{self.context.task_id}"
        consumer = client(options, SOURCE, "consumer", name)
        self._reader = PartitionReader(consumer, self._starts(consumer), called(options, SOURCE))
        self.context.exit_stack.callback(self._reader.close)
        self._notes: NoteProducer | None = None
        if options.emit_syncs:
            side = options.syncs_location
            producer = client(options, side, "producer", name)
            self._notes = NoteProducer(producer, options.offset_syncs_topic, called(options, side))
            self.context.exit_stack.callback(self._notes.close)
        self._awaited = 0
        self._late_due = 0.0

    def _starts(self, consumer: Mapping[str, Any]) -> dict[TopicPartition, int]:
        stored = self.context.offsets([route.source for route in self._routes.values()])
        reset = str(consumer.get("auto.offset.reset", "earliest"))
        otherwise = END if reset in ("latest", "end", "largest") else BEGINNING
        starts = {}
        for partition, offset in zip(self._routes, stored, strict=True):
            known = positions.next_offset(offset)
            if known is None and reset == "error":
                raise ConnectError(
                    f"No offset is stored for {partition}, and auto.offset.reset=none. Set one (PATCH"
                    f" /connectors/{self.context.connector}/offsets), or write earliest or latest."
                )
            starts[partition] = otherwise if known is None else known
        log.info("copying %d partitions, %d from the start", len(starts), sum(at < 0 for at in starts.values()))
        return starts

    def poll(self) -> SourceBatch | None:
        timeout = min(self._timeout, _UNDER_WAY_S) if self._awaited > 0 else self._timeout
        try:
            batch = self._reader.poll(timeout, self.context.stopping)
        except RetriableError:
            self.context.metrics.count("mirror_errors_total", 1, cluster=self._alias, **{"class": "unreachable"})
            raise
        if batch is None:
            self._write_late()
            return None
        if self._notes is not None:
            self._notes.serve()
        return self._copied(batch)

    def _copied(self, batch: SinkBatch) -> SourceBatch:
        """The records for the target, by columns."""
        n = len(batch)
        codes, partitions = _origins(batch)
        routes = [self._routes[partition] for partition in partitions]
        topics: Column[str] = _by_code(codes, [route.topic for route in routes], n)
        offsets = batch.offsets
        metrics = self.context.metrics
        for code, route in enumerate(routes):
            rows = n if len(routes) == 1 else codes.count(code)
            metrics.count("mirror_records_read_total", rows, source=self._alias, topic=route.partition.topic)
        return SourceBatch(
            topics,
            batch.values,
            keys=batch.keys,
            partitions=_by_code(codes, [route.partition.partition for route in routes], n),
            timestamps=batch.timestamps,
            headers=_headers(batch.headers),
            source_partitions=_by_code(codes, [route.source for route in routes], n),
            source_offsets=Deferred(
                n, lambda: [{"offset": offset} for offset in offsets], lambda row: {"offset": offsets[row]}
            ),
        )

    # Offset syncs.

    def acknowledged_rows(self, batch: SourceBatch) -> Sequence[int]:
        """Rows of each partition at the interval of offset.lag.max, and the last one."""
        if self._notes is None:
            return ()
        column = batch.source_partitions
        rows: dict[int, Sequence[int]] = {0: range(len(batch))}
        distinct = [column[0]]
        if isinstance(column, Dictionary):
            distinct, rows = column.distinct, _rows_by_code(column.codes)
        chosen: list[int] = []
        for code, rows_of in rows.items():
            source = distinct[code]
            route = self._routes[TopicPartition(source["topic"], source["partition"])]
            chosen += route.chosen(rows_of, self._lag + 1)
        self._awaited += len(chosen)
        return sorted(chosen)

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self._awaited -= 1
        source = record.source_partition
        route = self._routes.get(TopicPartition(source["topic"], source["partition"]))
        if metadata is None or route is None or self._notes is None or metadata.partition != route.partition.partition:
            return
        if record.timestamp is not None:
            latency = max(0.0, time.time() - record.timestamp / 1000)
            self.context.metrics.observe("mirror_replication_latency_seconds", latency, source=self._alias)
        if metadata.offset < 0:  # with acks=0
            return
        sync = route.chooser.acknowledged(record.source_offset["offset"], metadata.offset)
        if sync is not None:
            self._notes.write(sync.key, sync.value)

    def commit(self) -> None:
        self._late_due = 0.0
        self._write_late()

    def _write_late(self) -> None:
        """Write a sync for the last record of each partition, but not with every single record."""
        if self._notes is None:
            return
        now = time.monotonic()
        if now >= self._late_due:
            self._late_due = now + _LATE_S
            for route in self._routes.values():
                sync = route.chooser.late()
                if sync is not None:
                    self._notes.write(sync.key, sync.value)
        self._notes.serve()

    def stop(self) -> None:
        self._late_due = 0.0
        self._write_late()


class _Route:
    """One partition and its copy."""

    def __init__(self, alias: str, partition: TopicPartition, topic: str, lag: int) -> None:
        self.partition = partition
        self.topic = topic
        self.source = positions.source_partition(alias, partition)
        self.chooser = SyncChooser(partition, lag)
        self._since = lag  # rows since the last that was chosen by number; the first is

    def chosen(self, rows: Sequence[int], step: int) -> list[int]:
        """Every `step`-th row, counted across batches, and the last."""
        first = step - 1 - self._since
        picked = list(rows[first::step]) if first < len(rows) else []
        self._since = (self._since + len(rows)) % step
        if not picked or picked[-1] != rows[-1]:
            picked.append(rows[-1])
        return picked


def _origins(batch: SinkBatch) -> tuple[list[int], list[TopicPartition]]:
    """The partitions of a batch, and for each row which of them; no rows where there is only one."""
    if batch.topics.constant and batch.partitions.constant:
        return [], [TopicPartition(batch.topics[0], batch.partitions[0])]
    index: dict[tuple[str, int], int] = {}
    codes = [index.setdefault(partition, len(index)) for partition in zip(batch.topics, batch.partitions, strict=True)]
    return codes, [TopicPartition(*partition) for partition in index]


def _rows_by_code(codes: list[int]) -> dict[int, Sequence[int]]:
    rows: dict[int, list[int]] = {}
    for row, code in enumerate(codes):
        rows.setdefault(code, []).append(row)
    return dict(rows)


def _by_code(codes: list[int], values: list[Any], n: int) -> Column[Any]:
    return Constant(values[0], n) if len(values) == 1 else Dictionary(codes, values)


def _headers(column: Column[Any]) -> Column[Headers] | None:
    """Pairs of key and bytes as Connect's headers; None where no record has any."""
    found = column.to_list()
    if not any(found):
        return None
    return Plain([BytesHeaders(pairs) if pairs else NO_HEADERS for pairs in found])
