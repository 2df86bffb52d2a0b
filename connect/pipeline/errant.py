"""The error reporter of a sink task, and the way from reported records back to their raw bytes (KIP-610)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition
from connect.data.values import Values
from connect.pipeline.error_checks import takes_reports, writes_aside
from connect.pipeline.failure import Failure, Stage
from connect.pipeline.policy import ErrorPolicy

#: What Kafka Connect calls whoever reports, whatever the task's class.
SINK_TASK: Final = "org.apache.kafka.connect.sink.SinkTask"

#: Bytes of batches that were handed over and are not committed: a commit is asked for, and the oldest are forgotten.
_COMMIT_AT: Final = 32 * 1024 * 1024
_FORGET_AT: Final = 64 * 1024 * 1024
#: What counts for a record beside its key and its value. It takes 280, but a commit asked for too often costs, too.
_RECORD_BYTES: Final = 64


class NotHanded:
    """Keeps no batches: for tasks whose raw bytes are not needed."""

    commit_soon: Callable[[], None]

    def take(self, batch: SinkBatch) -> None:
        """A batch is about to be put."""

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Forget batches that are committed, oldest first. A partition that is not named is not assigned."""

    def find(self, record: SinkRecord) -> SinkBatch | None:
        """A record as a batch of its own, that leads back to what was consumed; None when it is no longer kept."""
        return None


@dataclass(slots=True, eq=False)
class _Kept:
    """A batch that was put, as it was consumed.

    Attributes:
        batch: see there.
        size: its memory in bytes.
        spans: for each partition its first offset and the one after its last; None before somebody asks.
    """

    batch: SinkBatch
    size: int
    spans: dict[TopicPartition, tuple[int, int]] | None = None

    def may_have(self, partition: TopicPartition, offset: int) -> bool:
        """Whether the offset lies between those of the batch."""
        if self.spans is None:
            first = self.batch.first_offsets()
            self.spans = {place: (first[place], end) for place, end in self.batch.next_offsets().items()}
        begin, end = self.spans.get(partition, (0, 0))
        return begin <= offset < end


class Handed(NotHanded):
    """The batches that were put to a task and are not committed, as they were consumed. Bounded in bytes (P7).

    Attributes:
        commit_soon: requests a commit; set before a batch is put.
    """

    def __init__(self) -> None:
        self._batches: deque[_Kept] = deque()
        self._bytes = 0
        # The rows of one batch by their places: who reports records of a batch mostly reports several.
        self._looked_at: tuple[SinkBatch, dict[tuple[str, int, int], int]] | None = None

    def take(self, batch: SinkBatch) -> None:
        consumed = batch.consumed
        if not len(batch) or (self._batches and self._batches[-1].batch is consumed):
            return
        size = len(consumed) * _RECORD_BYTES + _bytes(consumed.keys) + _bytes(consumed.values)
        self._batches.append(_Kept(consumed, size))
        self._bytes += size
        if self._bytes > _COMMIT_AT:
            self.commit_soon()
        while self._bytes > _FORGET_AT and len(self._batches) > 1:
            self._forget()

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        while self._batches:
            ends = self._batches[0].batch.next_offsets()
            if any(partition in offsets and end > offsets[partition] for partition, end in ends.items()):
                return
            self._forget()

    def find(self, record: SinkRecord) -> SinkBatch | None:
        partition = TopicPartition(record.original_topic, record.original_partition)
        place = (*partition, record.original_offset)
        for kept in reversed(self._batches):
            if not kept.may_have(partition, record.original_offset):
                continue
            if (row := self._rows_of(kept.batch).get(place)) is not None:
                return kept.batch.slice(row, row + 1)
        return None

    def _rows_of(self, batch: SinkBatch) -> Mapping[tuple[str, int, int], int]:
        if self._looked_at is None or self._looked_at[0] is not batch:
            places = zip(batch.original_topics, batch.original_partitions, batch.offsets, strict=True)
            self._looked_at = batch, {place: row for row, place in enumerate(places)}
        return self._looked_at[1]

    def _forget(self) -> None:
        oldest = self._batches.popleft()
        self._bytes -= oldest.size
        if self._looked_at is not None and self._looked_at[0] is oldest.batch:
            self._looked_at = None


def _bytes(column: Values) -> int:
    return sum(len(item) for item in column if item is not None)


class PolicyReporter:
    """Passes records that a sink task could not write to the connector's error policy.

    Args:
        policy: see there.
        operation: the task's class, for messages.
        handed: the batches that were put.
    """

    def __init__(self, policy: ErrorPolicy, operation: str, handed: NotHanded | None = None) -> None:
        self.handed = handed or NotHanded()
        self._policy = policy
        self._operation = operation

    @classmethod
    def of(cls, config: Mapping[str, str], policy: ErrorPolicy, operation: str) -> PolicyReporter | None:
        """The reporter of a connector's tasks, if they have one. It keeps raw bytes if there are error topics."""
        if not takes_reports(config):
            return None
        return cls(policy, operation, Handed() if writes_aside(config) else None)

    def report(self, record: SinkRecord, error: Exception) -> None:
        """See `connect.api.sink.ErrantRecordReporter`."""
        self._policy.counts.failures += 1
        failure = Failure(Stage.TASK_PUT, self._operation, error, record, self.handed.find(record), SINK_TASK)
        self._policy.reject(failure)
