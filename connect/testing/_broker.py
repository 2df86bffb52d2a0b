"""Topics in memory: the target of a source's producer, with the outcome of each record."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord, TopicPartition
from connect.kafka.writing.deliveries import Deliveries, Delivery, Report
from connect.kafka.writing.refusals import DeliveryError


class Message(NamedTuple):
    """A record in Kafka.

    Attributes:
        topic: its topic.
        value, key: bytes, or None for null.
        headers: pairs of key and bytes or None.
        partition: of the topic.
        timestamp: milliseconds since the epoch; None leaves it to the broker.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    timestamp: int | None = None


class Refusal(NamedTuple):
    """Why the broker refuses a record."""

    code: str
    text: str


class MemoryBroker:
    """Accepts records, acknowledges them at once or when the test says so, and refuses those that the test names.

    Attributes:
        sent: every accepted record, with its encoded form.
        holding: whether acknowledgements wait for `allow`.
        allowed: the number of acknowledgements that may be sent while holding.
        refusals: of the next records.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[SourceRecord, Message]] = []
        self.holding = False
        self.allowed = 0
        self.refusals: deque[Refusal] = deque()
        self._ends: dict[TopicPartition, int] = {}

    def take(self, record: SourceRecord, message: Message) -> int:
        """Append a record; returns its offset."""
        partition = TopicPartition(message.topic, message.partition)
        offset = self._ends.get(partition, 0)
        self._ends[partition] = offset + 1
        self.sent.append((record, message))
        return offset

    def may_acknowledge(self) -> bool:
        """Whether one more acknowledgement may be sent; counts it."""
        if self.holding and not self.allowed:
            return False
        self.allowed = max(0, self.allowed - 1)
        return True


class _Answer:
    """The arguments of a delivery callback of confluent-kafka, as error and as message."""

    def __init__(self, topic: str, partition: int, offset: int, refusal: Refusal | None) -> None:
        self._place = topic, partition, offset
        self._refusal = refusal

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._place[2]

    def name(self) -> str:
        return self._refusal.code if self._refusal else ""

    def str(self) -> str:
        return self._refusal.text if self._refusal else ""


class MemoryProducer:
    """Replaces `connect.kafka.writing.produce.BatchProducer`.

    Args:
        broker: the target.
        records: the records of an encoded batch, before encoding.
        refused: see `BatchProducer`.
    """

    def __init__(
        self,
        broker: MemoryBroker,
        records: Callable[[SourceBatch], Sequence[SourceRecord]],
        refused: Callable[[DeliveryError, Any], None],
    ) -> None:
        self.sent = 0
        self.deliveries = Deliveries(refused)
        self._broker = broker
        self._records = records
        self._waiting: deque[tuple[Report, _Answer, bool]] = deque()

    def send(self, batch: SourceBatch, mark: Any, each: Callable[[int], Report | None] | None = None) -> None:
        delivery = Delivery(mark, len(batch), 0, self.deliveries.give_up)
        self.deliveries.add(delivery)
        encoded = batch.records()
        for row, record in enumerate(self._records(batch)):
            report = delivery.report_and_tell(each(row)) if each else delivery.report
            self._waiting.append((report, *self._produce(record, encoded[row])))
        self.sent += len(batch)
        self.poll()

    def poll(self, timeout: float = 0) -> None:
        while self._waiting and self._broker.may_acknowledge():
            report, answer, refused = self._waiting.popleft()
            report(answer if refused else None, answer)
        self.deliveries.check()

    def drain(self, timeout: float) -> bool:
        self.poll()
        return not self.deliveries.outstanding

    def close(self) -> None:
        self.deliveries.clear()
        self._waiting.clear()

    def _produce(self, record: SourceRecord, encoded: SourceRecord) -> tuple[_Answer, bool]:
        partition = 0 if encoded.partition is None else encoded.partition
        headers: Any = encoded.headers or ()
        message = Message(
            encoded.topic, encoded.value, encoded.key, tuple(map(tuple, headers)), partition, encoded.timestamp
        )
        if self._broker.refusals:
            return _Answer(message.topic, partition, -1, self._broker.refusals.popleft()), True
        return _Answer(message.topic, partition, self._broker.take(record, message), None), False
