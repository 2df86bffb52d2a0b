"""The error reporter of a sink task, and the way from reported records back to their raw bytes (KIP-610)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition
from connect.pipeline.error_checks import takes_reports, writes_aside
from connect.pipeline.failure import Failure, Stage
from connect.pipeline.policy import ErrorPolicy

#: What Kafka Connect calls whoever reports, whatever the task's class.
SINK_TASK: Final = "org.apache.kafka.connect.sink.SinkTask"

#: Bytes of batches that were handed over and are not committed: a commit is asked for, and the oldest are forgotten.
_COMMIT_AT: Final = 32 * 1024 * 1024
_FORGET_AT: Final = 64 * 1024 * 1024


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


class Handed(NotHanded):
    """The batches that were put to a task and are not committed, as they were consumed. Bounded in bytes (P7).

    Attributes:
        commit_soon: requests a commit; set before a batch is put.
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[SinkBatch, int]] = deque()
        self._bytes = 0

    def take(self, batch: SinkBatch) -> None:
        consumed = batch.consumed
        if not len(batch) or (self._batches and self._batches[-1][0] is consumed):
            return
        size = sum(len(value) for value in consumed.values if value is not None)
        self._batches.append((consumed, size))
        self._bytes += size
        if self._bytes > _COMMIT_AT:
            self.commit_soon()
        while self._bytes > _FORGET_AT and len(self._batches) > 1:
            self._forget()

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        while self._batches:
            ends = self._batches[0][0].next_offsets()
            if any(partition in offsets and end > offsets[partition] for partition, end in ends.items()):
                return
            self._forget()

    def find(self, record: SinkRecord) -> SinkBatch | None:
        partition = (record.original_topic, record.original_partition, record.original_offset)
        for batch, _ in reversed(self._batches):
            rows = zip(batch.original_topics, batch.original_partitions, batch.offsets, strict=True)
            for row, found in enumerate(rows):
                if found == partition:
                    return batch.slice(row, row + 1)
        return None

    def _forget(self) -> None:
        self._bytes -= self._batches.popleft()[1]


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
