"""A compacted topic as a log that every worker reads: configurations, offsets and states are kept in such logs.

A record replaces the one before it with the same key; null removes it. Java's workers read and write the same topics:
keys lie in the partitions where Java's partitioner puts them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import client_settings
from connect.kafka.topics import TopicShape, end_offsets, make_or_check

log = logging.getLogger("connect.kafka")

_POLL_S = 0.2
_ADMIN_S = 30.0


class LogRecord(NamedTuple):
    """One record of the log."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None


class CompactedLog:
    """Reads a compacted topic from its beginning, for ever, and writes to it.

    Records are handed to `on_record` one by one, in order within a partition, by the log's own thread, which is the
    only one that calls it. What it raises is logged; the log goes on.

    Args:
        topic: its name.
        clients: Java's client settings, as for a worker: brokers, security.
        shape: see `TopicShape`.
        on_record: takes each record.
        transactional_id: writes go through transactions of this id; see `claim`.
    """

    def __init__(
        self,
        topic: str,
        clients: Mapping[str, str],
        shape: TopicShape,
        on_record: Callable[[LogRecord], None],
        transactional_id: str | None = None,
    ) -> None:
        self.topic = topic
        self._clients = dict(clients)
        self._shape = shape
        self._on_record = on_record
        self._transactional_id = transactional_id
        self._claimed = transactional_id is None
        self._consumer: Any = None
        self._admin: Any = None
        self._producer: Any = None
        self._ends: dict[int, int] = {}  # by partition, the offset up to which everything was handed out
        self._advanced = threading.Condition()
        self._sending = threading.Lock()
        self._closing = threading.Event()
        self._failure: ConnectError | None = None
        self._thread = threading.Thread(target=self._read, name=f"log {topic}", daemon=True)

    def start(self, timeout: float = 60) -> None:
        """Make or check the topic, and read it to its end.

        Raises:
            ConnectError: it cannot be made, it is not compacted, it cannot be read, or not in time.
        """
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
        from confluent_kafka.admin import AdminClient

        # Asked for the log's end: the consumer cannot be while another thread polls it (it hangs, 2.16.1).
        settings: dict[str, Any] = {**client_settings("admin", self._clients).librdkafka, "logger": client_log}
        self._admin = AdminClient(settings)
        partitions = make_or_check(self.topic, self._clients, self._shape, timeout)
        settings = client_settings("consumer", {**self._clients, "group.id": f"connect-log-{self.topic}"}).librdkafka
        self._consumer = Consumer(
            {
                **settings,
                "enable.partition.eof": True,  # control records at the end have no other sign
                "isolation.level": "read_committed",
                "logger": client_log,
            }
        )
        self._consumer.assign([TopicPartition(self.topic, partition, OFFSET_BEGINNING) for partition in partitions])
        self._ends = dict.fromkeys(partitions, 0)
        self._thread.start()
        self.read_to_end(timeout)

    def position(self) -> int:
        """For a log of one partition: the offset after the last record that was handed out."""
        with self._advanced:
            return max(self._ends.values())

    def read_to_end(self, timeout: float) -> None:
        """Return when every record that was in the log at the time of the call has been handed out.

        Raises:
            ConnectError: not within the timeout, or the log cannot be read.
        """
        deadline = time.monotonic() + timeout
        goal = end_offsets(self._admin, self.topic, list(self._ends), timeout)
        with self._advanced:
            reached = self._advanced.wait_for(
                lambda: self._failure or all(self._ends[p] >= end for p, end in goal.items()),
                deadline - time.monotonic(),
            )
        if self._failure is not None:
            raise self._failure
        if not reached:
            raise ConnectError(f"Topic {self.topic} could not be read to its end within {timeout:g} s.")

    def claim(self) -> None:
        """With a transactional id: become the only writer; one that claimed before is fenced.

        Raises:
            ConnectError: Kafka refuses.
        """
        from confluent_kafka import KafkaException

        with self._sending:
            if self._transactional_id is not None:
                try:
                    self._make_producer().init_transactions(_ADMIN_S)
                except KafkaException as error:
                    raise ConnectError(f"Topic {self.topic} cannot be claimed: {error.args[0].str()}") from error
                self._claimed = True

    def send(self, records: Sequence[tuple[bytes, bytes | None]], timeout: float = 30) -> None:
        """Write records in order, in one transaction where there is an id, and wait until they are durable.

        Raises:
            ConnectError: the broker refuses, or does not answer in time; then they may or may not be there.
        """
        with self._sending:
            if not self._claimed:
                raise ConnectError(f"Topic {self.topic} may be written by the group's leader only.")
            self._send(records, timeout)

    def send_later(self, key: bytes, value: bytes | None) -> Future[None]:
        """Write one record without waiting. The future ends when it is durable."""
        done: Future[None] = Future()

        def report(error: Any, message: Any) -> None:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(ConnectError(f"Topic {self.topic} does not take a record: {error.str()}"))

        with self._sending:
            self._make_producer().produce(self.topic, value, key, on_delivery=report)
        return done

    def close(self) -> None:
        """Stop reading, and write what is under way."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(10)
        with self._sending:
            if self._producer is not None:
                self._producer.flush(5)

    # Writing.

    def _make_producer(self) -> Any:
        if self._producer is None:
            from confluent_kafka import Producer

            # A record that cannot be written in time is an error that its sender hears of, unlike a connector's.
            settings = client_settings("producer", {**self._clients, "delivery.timeout.ms": "30000"}).librdkafka
            if self._transactional_id is not None:
                settings["transactional.id"] = self._transactional_id
            self._producer = Producer({**settings, "linger.ms": 0, "logger": client_log})
        return self._producer

    def _send(self, records: Sequence[tuple[bytes, bytes | None]], timeout: float) -> None:
        from confluent_kafka import KafkaException

        producer = self._make_producer()
        errors: list[str] = []
        left = [len(records)]

        def report(error: Any, message: Any) -> None:
            left[0] -= 1
            if error is not None:
                errors.append(error.str())

        try:
            if self._transactional_id is not None:
                producer.begin_transaction()
            for key, value in records:
                producer.produce(self.topic, value, key, on_delivery=report)
            deadline = time.monotonic() + timeout
            while left[0] and time.monotonic() < deadline:
                producer.flush(_POLL_S)
            if left[0]:
                errors.append(f"no answer within {timeout:g} s")
            if self._transactional_id is not None:
                if errors:
                    producer.abort_transaction(timeout)
                else:
                    producer.commit_transaction(timeout)
        except KafkaException as error:
            if error.args[0].fatal():
                self._claimed = self._transactional_id is None
                self._producer = None
            errors.append(error.args[0].str())
        if errors:
            raise ConnectError(f"Topic {self.topic} does not take a record: {errors[0]}")

    # Reading.

    def _read(self) -> None:
        from confluent_kafka import KafkaError

        while not self._closing.is_set():
            message = self._consumer.poll(_POLL_S)
            self._serve_producer()
            if message is None:
                continue
            error = message.error()
            if error is None:
                self._hand_out(message)
                self._advance(message.partition(), message.offset() + 1)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._advance(message.partition(), message.offset())
            elif error.fatal() or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                with self._advanced:
                    self._failure = ConnectError(f"Topic {self.topic} cannot be read: {error.str()} ({error.name()})")
                    self._advanced.notify_all()
                log.error("%s", self._failure)
            else:
                log.warning("Topic %s: %s (%s)", self.topic, error.str(), error.name())
        self._consumer.close()

    def _serve_producer(self) -> None:
        if self._producer is not None:
            self._producer.poll(0)

    def _hand_out(self, message: Any) -> None:
        record = LogRecord(
            message.partition(), message.offset(), message.key(), message.value(), message.timestamp()[1]
        )
        try:
            self._on_record(record)
        except Exception:
            log.exception("A record of topic %s at %d cannot be taken", self.topic, record.offset)

    def _advance(self, partition: int, end: int) -> None:
        with self._advanced:
            self._ends[partition] = max(self._ends[partition], end)
            self._advanced.notify_all()
