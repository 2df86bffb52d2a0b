"""Writes records beside a task's own way: dead letters, and records that are parked to be tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from connect.data.batch import SourceBatch
from connect.data.column import Constant, Plain
from connect.data.values import Values
from connect.errors import ConnectError
from connect.kafka.produce import BatchProducer, DeliveryError
from connect.pipeline.dead_letters import EncodedRecord

log = logging.getLogger("connect.pipeline")

_SLICE_S: Final = 0.1
_CLOSE_S: Final = 2.0

#: Makes the producer; what it is given is called with each record that is refused for good, and may raise.
MakeProducer = Callable[[Callable[[DeliveryError, object], None]], BatchProducer]


class ErrorTopics:
    """A producer that is made with the first record. Called from the task's thread.

    Nothing that `send` took is durable before `settle` has returned (P1).

    Args:
        make_producer: see `MakeProducer`.
        keep_going: called while waiting for brokers; raises to end the wait.
        refused: told of each record that is not taken.
    """

    def __init__(
        self, make_producer: MakeProducer, keep_going: Callable[[], None], refused: Callable[[], None] = lambda: None
    ) -> None:
        self._make_producer = make_producer
        self._keep_going = keep_going
        self._told_of_refusal = refused
        self._producer: BatchProducer | None = None
        self._unsettled = False

    def send(self, topic: str, letter: EncodedRecord, partition: int | None = None) -> None:
        """Hand a record over; waits while too much is under way. Without a partition it goes by its key, as in Java.

        Raises:
            ConnectError: this one, or one before, cannot be written.
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
            self._producer.send(batch, None)
        except DeliveryError as error:
            self._refused(error, None)
        self._producer.acknowledged()

    def settle(self) -> None:
        """Return when everything is acknowledged. Raises as `send` does, and what `keep_going` raises."""
        while self._unsettled and not self.settled(_SLICE_S):
            self._keep_going()

    def settled(self, seconds: float) -> bool:
        """Wait so long until everything is acknowledged, and say whether it is. Raises as `send` does."""
        if self._producer is not None and self._unsettled:
            self._unsettled = not self._producer.drain(seconds)
            self._producer.acknowledged()
        return not self._unsettled

    def close(self) -> None:
        """Wait a moment for what is under way, then forget it."""
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
    """A dead letter, or a record to be parked, that Kafka does not take: nothing may be committed behind it."""

    def __init__(self, error: DeliveryError) -> None:
        advice = {
            "MSG_SIZE_TOO_LARGE": " Raise max.message.bytes of that topic and producer.override.max.request.size.",
            "TOPIC_AUTHORIZATION_FAILED": f" Grant WRITE on topic {error.topic} to the connector's producer.",
        }.get(error.code.removeprefix("_"), " Look at that topic.")
        super().__init__(
            f'A record that failed could not be written to the topic "{error.topic}" ({error.code}). The task stops, so'
            f" that it is not lost.{advice}"
        )
