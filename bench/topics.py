"""The broker's side of a measurement: fresh topics, topics filled beforehand, and what has really arrived."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

WITHIN = 30.0  # seconds for one request to a broker that is busy


class TopicUnreadable(Exception):
    """The broker does not give what was written, or holds something else. The message says what."""


def make(bootstrap: str, topic: str, partitions: int = 1) -> None:
    """Make an empty topic."""
    # A name keeps it: it answers nothing once it is gone.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(WITHIN)


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes],
    *,
    key: Callable[[int], bytes | None] = lambda _: None,
    headers: Sequence[tuple[str, bytes]] | None = None,
    partitions: int = 1,
    settings: Mapping[str, str | int] | None = None,
) -> None:
    """Make a topic and write records into it, partition after partition in turn.

    Args:
        key: makes the key of the record of a number.
        headers: of each record.
        settings: of the producer.
    """
    make(bootstrap, topic, partitions)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, **(settings or {})})
    more: dict[str, Any] = {"headers": list(headers)} if headers else {}
    for number, value in enumerate(values):
        while True:
            try:
                producer.produce(topic, value, key(number), number % partitions, **more)
                break
            except BufferError:
                producer.poll(0.1)
    if left := producer.flush(WITHIN):
        raise TopicUnreadable(f"the broker did not take {left:,} records of {topic}")


class Topics:
    """Topics of one partition, seen by clients that have nothing to do with the workers.

    Args:
        bootstrap: where the broker listens.
    """

    def __init__(self, bootstrap: str) -> None:
        quiet: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._quiet = quiet
        self._admin = AdminClient(quiet)
        self._consumer = self._new_consumer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._consumer.close()

    def _new_consumer(self) -> Consumer:
        return Consumer({**self._quiet, "group.id": "bench", "enable.auto.commit": False})

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make an empty topic."""
        self._admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(WITHIN)
        self.end(topic)  # it has a leader now, so nobody's start waits for one

    def delete(self, topic: str) -> None:
        """Give its room back."""
        self._admin.delete_topics([topic])[topic].result(WITHIN)

    def fill(self, topic: str, lines: Path, form: Callable[[bytes], bytes]) -> int:
        """Make a topic that holds each line of a file, in order. Returns how many.

        The batches are of 16 KiB, as a Java producer makes them, whoever reads them.

        Args:
            form: makes a record's value of a line.
        """
        self.create(topic)
        producer = Producer(
            {**self._quiet, "enable.idempotence": True, "batch.size": 16384, "queue.buffering.max.kbytes": 65536}
        )
        count = 0
        with lines.open("rb") as file:
            for value in (form(line[:-1]) for line in file):
                while True:
                    try:
                        producer.produce(topic, value)
                        break
                    except BufferError:
                        producer.poll(0.1)
                count += 1
        producer.flush(WITHIN)
        if self.end(topic) != count:
            raise TopicUnreadable(f"{topic} holds {self.end(topic):,} records instead of {count:,}")
        return count

    def end(self, topic: str) -> int:
        """How many records the broker has taken: the end offset of a topic that was never compacted or repeated."""
        deadline = time.monotonic() + WITHIN
        while True:
            try:
                _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=WITHIN)
            except KafkaException as error:
                # A topic that was made a moment ago may have no leader yet. A client that once saw it without
                # partitions remembers that for minutes: another one asks again.
                if time.monotonic() > deadline:
                    raise TopicUnreadable(f"the broker does not tell the end of {topic}: {error}") from error
                time.sleep(0.05)
                self._consumer.close()
                self._consumer = self._new_consumer()
            else:
                return int(end)

    def value(self, topic: str, offset: int) -> bytes:
        """The value of one record."""
        self._consumer.assign([TopicPartition(topic, 0, offset)])
        message: Message | None = self._consumer.poll(WITHIN)
        self._consumer.unassign()
        value = message.value() if message and not message.error() else None
        if value is None:
            raise TopicUnreadable(f"record {offset} of {topic} cannot be read: {message and message.error()}")
        return bytes(value)
