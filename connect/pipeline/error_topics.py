"""Writes records to error topics: dead letters (KIP-298), and parked records."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from connect.data.batch import SinkBatch, SourceBatch
from connect.data.column import Constant, Plain
from connect.data.record import SinkRecord
from connect.data.values import Values
from connect.errors import ConnectError
from connect.kafka.admin.new_topics import NewTopic
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord, Original, context_of, dead_letter, original
from connect.pipeline.failure import Failure
from connect.pipeline.policy import ErrorCounts

log = logging.getLogger("connect.pipeline")

_SLICE_S: Final = 0.1
_CLOSE_S: Final = 2.0

#: Makes the producer; what it is given is called with each record that is refused for good, and may raise.
MakeProducer = Callable[[Callable[[DeliveryError, object], None]], BatchProducer]


class ErrorTopics:
    """A producer that is created with the first record. For the task's thread.

    Nothing that `send` accepted is durable before `settle` has returned (P1).

    Args:
        make_producer: see `MakeProducer`.
        keep_going: called while waiting for brokers; raises to end the wait.
        refused: called with each refused record.
    """

    def __init__(
        self, make_producer: MakeProducer, keep_going: Callable[[], None], refused: Callable[[], None] = lambda: None
    ) -> None:
        self._make_producer = make_producer
        self._keep_going = keep_going
        self._told_of_refusal = refused
        self._producer: BatchProducer | None = None
        self._unsettled = False
        # Why a record is in no topic. Nothing behind it may be committed, even if a plug-in has caught this; where it
        # is no error, the task is to stop.
        self._unwritten: BaseException | None = None

    def send(self, topic: str, letter: EncodedRecord, partition: int | None = None) -> None:
        """Send a record; waits while too much is unacknowledged. Without a partition it goes by its key, as in Java.

        Raises:
            ConnectError: this one, or an earlier one, cannot be written.
        """
        if self._producer is None:
            self._producer = self._make_producer(self._refused)
        batch = SourceBatch(
            topic,
            Values.raw([letter.value]),
            keys=Values.raw([letter.key]),
            partitions=partition,
            timestamps=[letter.timestamp],
        ).with_columns(headers=Plain([letter.headers]) if letter.headers else Constant(None, 1))
        self._unsettled = True
        try:
            try:
                self._producer.send(batch, None)
            except DeliveryError as error:
                self._refused(error, None)
        except BaseException as error:
            self._unwritten = error
            raise
        self._producer.deliveries.acknowledged()

    def settle(self) -> None:
        """Return when everything is acknowledged. Raises as `send` does, and what `keep_going` raises."""
        while not self.settled(_SLICE_S):
            self._keep_going()

    def settled(self, seconds: float) -> bool:
        """Wait this long until everything is acknowledged, and return whether it is. Raises as `send` does."""
        if isinstance(self._unwritten, Exception):
            raise self._unwritten
        if self._producer is not None and self._unsettled:
            self._unsettled = not self._producer.drain(seconds)
            self._producer.deliveries.acknowledged()
        return not self._unsettled and self._unwritten is None

    def close(self) -> None:
        """Wait a moment for unacknowledged records, then drop them."""
        if self._producer is None:
            return
        try:
            if not self.settled(_CLOSE_S):
                log.warning("Records for dead letter or retry topics were not acknowledged in time: they come again.")
        finally:
            self._producer.close()

    def _refused(self, error: DeliveryError, message: object) -> None:
        self._told_of_refusal()
        raise UnwrittenError(error) from error


class UnwrittenError(ConnectError):
    """A dead letter, or a record to be parked, that Kafka refuses: nothing behind it may be committed."""

    def __init__(self, error: DeliveryError) -> None:
        advice = {
            "MSG_SIZE_TOO_LARGE": " Raise max.message.bytes of that topic and producer.override.max.request.size.",
            "TOPIC_AUTHORIZATION_FAILED": f" Grant WRITE on topic {error.topic} to the connector's producer.",
        }.get(error.code.removeprefix("_"), " Check that topic.")
        super().__init__(
            f'A record that failed could not be written to the topic "{error.topic}" ({error.code}). The task stops, so'
            f" that the record is not lost.{advice}"
        )


class DeadLetterQueue:
    """Writes what the error policy gives up. For the task's thread.

    Args:
        settings: see there.
        connector, task: for the headers.
        topics: writes.
        counts: counts what is written.
        encode: makes bytes of a record that the task made itself, or whose raw bytes are no longer kept.
        retry_topics: records from these were parked, and are dead letters of their first topics.
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
        """Send a record; it is durable when the topics have settled. Raises ConnectError."""
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
    """The definition of the dead letter topic."""
    return NewTopic(settings.topic, settings.partitions, settings.replication, {})
