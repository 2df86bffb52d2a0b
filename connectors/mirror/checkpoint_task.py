"""MirrorCheckpointTask: follows offset syncs and the source's groups, and writes their positions at the target."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final

from connect import RetriableError, SourceBatch, SourceRecord, SourceTask, TopicPartition, __version__
from connect.data.schema import BYTES
from connect.kafka.admin.cluster import Committed, RefusedError
from connect.kafka.reading.partition_reader import BEGINNING, PartitionReader
from connectors.mirror.clusters import admin, called, client
from connectors.mirror.filters import TopicFilter
from connectors.mirror.groups import Checkpoints, Refusals, commit_for_idle
from connectors.mirror.keys import SOURCE, TARGET, MirrorCheckpointOptions
from connectors.mirror.notes import Checkpoint, OffsetSync
from connectors.mirror.syncs import SyncStore

log = logging.getLogger(__name__)

#: How long a poll may last that waits for syncs, or for the next time.
_POLL_S: Final = 0.5
#: What comes within this time after a sync belongs to the same look.
_MORE_S: Final = 0.05
#: Until a question that a cluster did not answer is asked again.
_AGAIN_S: Final = 2.0


class MirrorCheckpointTask(SourceTask):
    """Follows its share of the groups."""

    settings = MirrorCheckpointOptions.definition()
    version = __version__

    def start(self, config: Mapping[str, str]) -> None:
        self._options = options = MirrorCheckpointOptions.parse(config)
        self._alias = options.source_alias
        self._groups = options.assigned_groups
        self._topic = options.policy.checkpoints_topic(self._alias)
        self._name = f"{self.context.connector}-{self.context.task_id}"
        self._source = admin(options, SOURCE, self._name, self.context.metrics)
        self._target = admin(options, TARGET, self._name, self.context.metrics)
        self._syncs = SyncStore()
        self._syncs_topic = options.offset_syncs_topic
        self._checkpoints = Checkpoints(
            self._syncs, TopicFilter(options), lambda topic: options.policy.remote(self._alias, topic)
        )
        self._refusals = Refusals()
        self._reader: PartitionReader | None = None
        self._emits = options.emit_checkpoints
        self._commits = options.sync_offsets
        self._emit_due = self._commit_due = 0.0

    def poll(self) -> SourceBatch | None:
        """Checkpoints, when they are due; meanwhile syncs are read."""
        if self._reader is None:
            self._begin()
            return None
        now = time.monotonic()
        due = min(self._emit_due, self._commit_due if self._commits else self._emit_due)
        self._take_syncs(min(_POLL_S, max(0.0, due - now)))
        if not self._reader.at_end or self.context.stopping():
            return None
        now = time.monotonic()
        if now >= self._emit_due:
            self._emit_due = now + _AGAIN_S  # unless all goes well
            records = self._look()
            self._emit_due = now + self._options.emit_checkpoints_seconds
            if records and self._emits:
                return SourceBatch.of(records)  # at once: they count as written, and what follows may fail
        if self._commits and now >= self._commit_due:
            self._commit_due = now + _AGAIN_S
            self._commit_groups()
            self._commit_due = now + self._options.sync_offsets_seconds
        return None

    def _begin(self) -> None:
        """Read earlier checkpoints, and follow the syncs from their beginning."""
        cluster = self._source if self._options.syncs_location == SOURCE else self._target
        if self._syncs_topic not in cluster.topics():
            raise RetriableError(
                f"{cluster.name} has no topic {self._syncs_topic}. The source connector makes it: look whether that"
                " runs with the same aliases and offset-syncs.topic.location."
            )
        for checkpoint in self._written():
            self._checkpoints.remember(checkpoint)
        self._reader = self._reading(self._options.syncs_location, self._syncs_topic)

    def _written(self) -> list[Checkpoint]:
        """The existing checkpoints of its groups, so that none goes back."""
        if self._topic not in self._target.topics():
            return []
        ours = set(self._groups)
        found = []
        # One whose transaction was aborted, as its task was killed, was not written.
        reader = self._reading(TARGET, self._topic, **{"isolation.level": "read_committed"})
        try:
            while not reader.at_end and not self.context.stopping():
                batch = reader.poll(_POLL_S, self.context.stopping)
                for record in batch or ():
                    try:
                        checkpoint = Checkpoint.read(record.key or b"", record.value or b"")
                    except ValueError as error:
                        self._malformed(self._topic, record.offset, error)
                        continue
                    if checkpoint.group in ours:
                        found.append(checkpoint)
        finally:
            reader.close()
        return found

    def _take_syncs(self, seconds: float) -> None:
        """Take what there is, waiting this long for the first; not for the end of what comes without one."""
        assert self._reader is not None
        until = time.monotonic() + _POLL_S
        batch = self._reader.poll(seconds, self.context.stopping)
        while batch is not None:
            for key, value, offset in zip(batch.keys, batch.values, batch.offsets, strict=True):
                try:
                    self._syncs.add(OffsetSync.read(key or b"", value or b""))
                except ValueError as error:
                    self._malformed(self._syncs_topic, offset, error)
            if self.context.stopping() or time.monotonic() >= until:
                return
            batch = self._reader.poll(_MORE_S, self.context.stopping)

    def _look(self) -> list[SourceRecord]:
        """Read the groups' offsets, and make records of what is new."""
        groups = takewhile(lambda _: not self.context.stopping(), self._groups)
        found = self._checkpoints.take((group, self._committed(group)) for group in groups)
        for checkpoint in found:
            self.context.metrics.count("mirror_checkpoints_written_total", source=self._alias, group=checkpoint.group)
        return [self._record(checkpoint) for checkpoint in found]

    def _committed(self, group: str) -> Mapping[TopicPartition, Committed]:
        try:
            return self._source.committed(group)
        except RefusedError as error:
            self._refusals.met(error)
            return {}

    def _record(self, checkpoint: Checkpoint) -> SourceRecord:
        partition = checkpoint.partition
        return SourceRecord(
            self._topic,
            checkpoint.value,
            BYTES,
            checkpoint.key,
            BYTES,
            {"group": checkpoint.group, "topic": partition.topic, "partition": partition.partition},
            {"offset": 0},
            0,
            int(time.time() * 1000),
        )

    def _commit_groups(self) -> None:
        done = commit_for_idle(self._groups, self._checkpoints, self._target, self._refusals)
        for group, partitions in done.items():
            self.context.metrics.count("mirror_group_offsets_total", partitions, source=self._alias, group=group)

    def _reading(self, side: str, topic: str, **own: Any) -> PartitionReader:
        settings: dict[str, Any] = client(self._options, side, "consumer", self._name)
        settings |= {"auto.offset.reset": "earliest", **own}
        return PartitionReader(settings, {TopicPartition(topic, 0): BEGINNING}, called(self._options, side), ends=True)

    def _malformed(self, topic: str, offset: int, error: ValueError) -> None:
        self.context.metrics.count("mirror_errors_total", 1, cluster=self._alias, **{"class": "malformed"})
        log.warning("The record at offset %d of topic %s is not understood and left out: %s", offset, topic, error)

    def stop(self) -> None:
        if self._reader is not None:
            self._reader.close()
