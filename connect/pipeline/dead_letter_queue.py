"""The dead letter queue of a sink task: made when the task starts, written when a record is given up (KIP-298)."""

from __future__ import annotations

from collections.abc import Callable

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord
from connect.kafka.new_topics import NewTopic
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord, Original, context_of, dead_letter, original
from connect.pipeline.error_topics import ErrorTopics
from connect.pipeline.failure import Failure
from connect.pipeline.policy import ErrorCounts


class DeadLetterQueue:
    """Writes what the error policy gives up. Called from the task's thread.

    Args:
        settings: see there.
        connector, task: for the headers.
        topics: writes.
        counts: counts what is written.
        encode: makes bytes of a record that the task made itself, or of which the raw bytes are not held any more.
        retry_topics: records from these were parked, and are dead letters of where they came from first.
    """

    def __init__(
        self,
        settings: DeadLetterSettings,
        connector: str,
        task: int,
        topics: ErrorTopics,
        counts: ErrorCounts,
        encode: Callable[[SinkRecord], EncodedRecord],
        retry_topics: frozenset[str] = frozenset(),
    ) -> None:
        self._settings = settings
        self._connector = connector
        self._task = task
        self._topics = topics
        self._counts = counts
        self._encode = encode
        self._retry_topics = retry_topics

    def write(self, failure: Failure) -> None:
        """Hand a record over; it is durable when the topics have settled. Raises ConnectError."""
        source = self._original(failure)
        context = context_of(failure, self._connector, self._task, source) if self._settings.context else None
        self._counts.dead_letters += 1
        self._topics.send(self._settings.topic, dead_letter(source, context))

    def _original(self, failure: Failure) -> Original:
        if isinstance(batch := failure.batch, SinkBatch):
            return original(batch, 0, parked=batch.original_topics[0] in self._retry_topics)
        record = failure.record
        assert isinstance(record, SinkRecord)
        return Original(record.topic, record.partition, record.offset, self._encode(record))


def new_topic(settings: DeadLetterSettings) -> NewTopic:
    """The dead letter topic as it is to be made."""
    return NewTopic(settings.topic, settings.partitions, settings.replication, {})
