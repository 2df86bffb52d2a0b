"""The offsets of a consumer's group: commits, each waited for at most some seconds, and questions.

librdkafka waits as long as there is no coordinator, even if the task has to end meanwhile: a commit runs on a thread of
its own. There is one at a time, so that an old one is never the last.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.reading.standstill import Standstill

#: More than a broker needs that has much to do; less than a task has for its end.
_PATIENCE_S: Final = 3.0
_ANSWER_S: Final = 30.0
#: In place of a time: the end of a partition (KIP-79).
_END: Final = -1


class GroupOffsets:
    """The offsets of the group of one consumer. For one thread.

    Args:
        consumer: the client.
        standstill: learns which partitions brokers do not know.
    """

    def __init__(self, consumer: Any, standstill: Standstill) -> None:
        self._consumer = consumer
        self._standstill = standstill
        self._thread = threading.Thread()
        self._called_back = False

    @contextmanager
    def in_callback(self) -> Iterator[None]:
        """Inside, the client is in a callback: it accepts a commit from this thread only."""
        self._called_back = True
        try:
            yield
        finally:
            self._called_back = False

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit, and wait for the broker's answer, for some seconds at most.

        Raises:
            ConnectError: the broker refused it, or has not answered yet; perhaps not even the commit before.
        """
        from confluent_kafka import KafkaError, KafkaException

        # One that was gone may be there again, as another one of the same name, of which these are not the offsets.
        if gone := self._standstill.gone & offsets.keys():
            self.commit({partition: offset for partition, offset in offsets.items() if partition not in gone})
            raise ConnectError(f"Offsets were not committed: {names_of(gone)} did not exist when they were to be.")
        if not offsets:
            return
        try:
            answers = self._answers(offsets)
        except TimeoutError:
            raise ConnectError("Offsets were not committed: the brokers do not answer") from None
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._standstill.is_gone(offsets)
            raise ConnectError(f"Offsets were not committed: {error.args[0].str()}") from error
        refused = {TopicPartition(each.topic, each.partition): each.error for each in answers if each.error is not None}
        self._standstill.is_gone(
            partition for partition, why in refused.items() if why.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        )
        for partition, why in refused.items():
            raise ConnectError(f"The offset of {names_of([partition])} was not committed: {why.str()}")

    def under_way(self, patience: float | None = 0) -> bool:
        """Whether a commit still runs after this many seconds; None waits for its end."""
        if self._thread.is_alive():
            self._thread.join(patience)
        return self._thread.is_alive()

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed of these partitions, if anything.

        Raises:
            ConnectError: the broker does not answer.
        """
        from confluent_kafka import KafkaException
        from confluent_kafka import TopicPartition as ClientPartition

        try:
            asked = [ClientPartition(*partition) for partition in partitions]
            found = self._consumer.committed(asked, timeout=_ANSWER_S)
        except KafkaException as error:
            raise ConnectError(f"The group's offsets cannot be read: {error.args[0].str()}") from error
        return {TopicPartition(str(p.topic), int(p.partition)): int(p.offset) for p in found if p.offset >= 0}

    def at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """For each partition the first offset of this time (ms since 1970) or later; else its end.

        Raises:
            ConnectError: the broker does not answer.
        """
        from confluent_kafka import KafkaException

        try:
            begins = self._first_at(timestamp, partitions)
            # There may be none so late: the answer is -1 then.
            return begins | self._first_at(_END, [partition for partition, offset in begins.items() if offset < 0])
        except KafkaException as error:
            raise ConnectError(f"The offsets of a time cannot be read: {error.args[0].str()}") from error

    def _answers(self, offsets: Mapping[TopicPartition, int]) -> Sequence[Any]:
        """The broker's answer for each partition. Raises TimeoutError, and KafkaException where it refuses."""
        from confluent_kafka import TopicPartition as ClientPartition

        told = [ClientPartition(*partition, offset) for partition, offset in offsets.items()]
        if self._called_back:
            return self._consumer.commit(offsets=told, asynchronous=False) or ()
        answer: Future[Any] = Future()

        def run() -> None:
            try:
                answer.set_result(self._consumer.commit(offsets=told, asynchronous=False))
            except Exception as error:
                answer.set_exception(error)

        if self.under_way(_PATIENCE_S):
            raise TimeoutError
        self._thread = threading.Thread(target=run, name="commit", daemon=True)
        self._thread.start()
        return answer.result(_PATIENCE_S) or ()

    def _first_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        from confluent_kafka import KafkaException
        from confluent_kafka import TopicPartition as ClientPartition

        if not partitions:
            return {}
        asked = [ClientPartition(*partition, timestamp) for partition in partitions]
        found = self._consumer.offsets_for_times(asked, timeout=_ANSWER_S)
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        return {TopicPartition(str(each.topic), int(each.partition)): int(each.offset) for each in found}


def names_of(partitions: Iterable[TopicPartition]) -> str:
    """Partitions in words, such as "orders-0, orders-1"."""
    return ", ".join(f"{each.topic}-{each.partition}" for each in sorted(partitions))
