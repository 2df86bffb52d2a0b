"""A compacted topic as a log that every worker reads: configurations, offsets and states are stored in such logs.

A record replaces the one before it with the same key; null removes it. Java's workers read and write the same topics:
Java's partitioner decides the partition of a key.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from connect.errors import ConnectError
from connect.kafka.admin.topics import TopicShape, end_offsets, make_or_check
from connect.kafka.clients.errors import ClientErrors
from connect.kafka.clients.log import log as client_log
from connect.kafka.clients.settings import Kind, client_settings
from connect.kafka.reading.arrivals import Arrivals, arrivals
from connect.kafka.reading.messages import assigned_consumer
from connect.kafka.writing.write_once import Outcome, OutgoingRecord, refusal, write_once
from connect.telemetry.outages import Wait

log = logging.getLogger("connect.kafka")

#: How long to wait for a record: where that wait cannot be ended, and where it can.
_POLL_S = 0.2
_LONG_POLL_S = 1.0
_CLAIM_S = 30.0
_CLOSE_S = 2.0

# A log is to be there soon after its brokers are again: Java's default, a tenth of librdkafka's.
_CLIENT_DEFAULTS = {"reconnect.backoff.max.ms": "1000"}


#: Java's client settings, for all clients of a log or by kind.
Clients = Mapping[str, str] | Callable[[Kind], Mapping[str, str]]


class LogRecord(NamedTuple):
    """One record of the log."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None


class CompactedLog:
    """Reads a compacted topic from its beginning, forever, and writes to it.

    Records are passed to `on_record` one by one, in order within a partition, on the log's own thread, the only one
    that calls it. Its errors are logged; the log continues.

    Args:
        topic: its name.
        clients: Java's client settings, as for a worker: brokers, security. Or a function of each kind of client.
        shape: see `TopicShape`.
        on_record: called with each record.
        transactional_id: writes go through transactions of this id; see `claim`.
        patience: seconds until an unacknowledged record is given up; None retries until `close`.
    """

    def __init__(
        self,
        topic: str,
        clients: Clients,
        shape: TopicShape,
        on_record: Callable[[LogRecord], None],
        transactional_id: str | None = None,
        patience: float | None = 30,
    ) -> None:
        self.topic = topic
        self._clients = clients
        self._patience = patience
        self._shape = shape
        self._on_record = on_record
        self._transactional_id = transactional_id
        self._claimed = transactional_id is None
        self._consumer: Any = None
        self._admin: Any = None
        self._producer: Any = None
        self._unclaimed: Any = None  # with a transactional id, the producer of what anybody may write
        self._ends: dict[int, int] = {}  # by partition, the offset up to which everything was handed out
        self._advanced = threading.Condition()
        self._sending = threading.Lock()
        self._closing = threading.Event()
        self._arrivals: Arrivals | None = None
        self._failure: ConnectError | None = None
        self._brokers: ClientErrors | None = None  # what the consumer hears of them
        self._thread = threading.Thread(target=self._read, name=f"log {topic}", daemon=True)

    def start(self, timeout: float = 60) -> None:
        """Create or check the topic, and read it to its end. Once; when it raises, it leaves nothing open.

        Raises:
            ConnectError: it cannot be created, it is not compacted, it cannot be read, or not in time.
            NotLetInError: the brokers refuse this client.
        """
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        from connect.kafka.admin.client import Admin

        deadline = time.monotonic() + timeout
        # Asked for the log's end: the consumer cannot be while another thread polls it (it hangs, 2.16.1).
        self._admin = Admin(self._java("admin"), f"connect-log-{self.topic}")
        try:
            partitions = make_or_check(self.topic, self._admin, self._shape, timeout)
        except ConnectError:
            self._admin.close()
            raise
        java = {**self._java("consumer"), "group.id": f"connect-log-{self.topic}"}
        settings = client_settings("consumer", java).librdkafka
        self._brokers = ClientErrors(settings, name=f"topic {self.topic}")
        self._consumer = assigned_consumer(settings, {"isolation.level": "read_committed"}, self._brokers.hear)
        self._arrivals = arrivals(self._consumer, str(settings.get("client.id", "rdkafka")))
        self._consumer.assign([TopicPartition(self.topic, partition, OFFSET_BEGINNING) for partition in partitions])
        self._ends = dict.fromkeys(partitions, 0)
        self._thread.start()
        try:
            self.read_to_end(deadline - time.monotonic())
        except ConnectError:
            self.close()
            raise

    @property
    def wait(self) -> Wait | None:
        """Since when no broker answers, if none does."""
        return None if self._brokers is None else self._brokers.wait

    def position(self) -> int:
        """For a log of one partition: the offset after the last record that was passed on."""
        with self._advanced:
            return max(self._ends.values())

    def read_to_end(self, timeout: float, *, open_too: bool = False) -> None:
        """Return when every record that was in the log at the time of the call has been passed on.

        Args:
            timeout: seconds.
            open_too: wait until the transactions have ended that are open at the moment. Without it a record that was
                committed after the beginning of one of them is not waited for.

        Raises:
            ConnectError: not within the timeout, or the log cannot be read.
        """
        deadline = time.monotonic() + timeout
        goal = end_offsets(self._admin, self.topic, list(self._ends), timeout, open_too=open_too)
        self.read_to(goal, deadline - time.monotonic())

    def read_to(self, goal: Mapping[int, int], timeout: float) -> None:
        """Return when every record before these offsets, by partition, has been passed on. Raises as `read_to_end`."""
        with self._advanced:
            self._advanced.wait_for(
                lambda: self._failure or self._closing.is_set() or self._reached(goal), max(0, timeout)
            )
            if self._reached(goal):
                return
            if self._failure is not None:
                raise self._failure
        if self._closing.is_set():
            raise ConnectError(f"Topic {self.topic} is not read any more.")
        raise ConnectError(f"Topic {self.topic} could not be read to its end in time. Do its brokers answer?")

    def _reached(self, goal: Mapping[int, int]) -> bool:
        return all(self._ends.get(partition, 0) >= end for partition, end in goal.items())

    @property
    def claimed(self) -> bool:
        """Whether this log may be written: always without a transactional id, else from `claim` until it is lost."""
        return self._claimed

    def claim(self) -> None:
        """With a transactional id: become the only writer; one that claimed before is fenced. May be called again.

        Raises:
            ConnectError: Kafka refuses, or does not answer in time.
        """
        from confluent_kafka import KafkaException

        if self._transactional_id is None:
            return
        with self._sending:
            self._give_up()  # a producer can be initialised only once
            producer = self._make_producer()
            try:
                producer.init_transactions(_CLAIM_S)
            except KafkaException as error:
                self._give_up()
                raise ConnectError(f"Topic {self.topic} cannot be claimed: {error.args[0].str()}") from error
            self._claimed = True

    def send(
        self, records: Sequence[tuple[bytes, bytes | None]], timeout: float = 30, *, unclaimed: bool = False
    ) -> dict[int, int]:
        """Write records in order, in one transaction where there is an id, and wait until they are durable.

        Args:
            records: keys and values.
            timeout: seconds.
            unclaimed: write outside of a transaction: anybody may write such records, whoever has claimed the log.

        Returns:
            for each partition that was written to, the offset after the last of these records; see `read_to`.

        Raises:
            ConnectError: the broker refuses, or does not answer in time; then they may or may not be there. With a
                transactional id another writer may also have claimed the topic; see `claimed`.
        """
        with self._sending:
            transactional = self._transactional_id is not None and not unclaimed
            if transactional and not self._claimed:
                raise ConnectError(f"Topic {self.topic} may be written by the group's leader only.")
            return self._send(records, timeout, transactional=transactional) if records else {}

    def send_later(self, key: bytes, value: bytes | None) -> Future[int]:
        """Write one record without waiting. The future has its offset when it is durable, else a ConnectError."""
        from confluent_kafka import KafkaException

        done: Future[int] = Future()
        done.set_running_or_notify_cancel()  # it cannot be taken back

        def report(error: Any, message: Any) -> None:
            if error is None:
                done.set_result(message.offset())
            else:
                done.set_exception(ConnectError(f"Topic {self.topic} refuses a record: {error.str()}"))

        with self._sending:
            try:
                self._make_producer().produce(self.topic, value, key, on_delivery=report)
            except (KafkaException, BufferError) as error:
                self._give_up_if_fatal(error)
                done.set_exception(ConnectError(f"Topic {self.topic} refuses a record: {_reason(error)}"))
        return done

    def close(self, within: float = _CLOSE_S) -> None:
        """Finish running writes, and stop reading. Waiting callers get an error.

        Args:
            within: the time limit of all this, in seconds.
        """
        deadline = time.monotonic() + within
        if self._sending.acquire(timeout=within):
            self._sending.release()
        self._closing.set()
        if self._admin is not None:
            self._admin.close()
        with self._advanced:
            self._advanced.notify_all()
        if (arrived := self._arrivals) is not None:
            arrived.wake()
        if self._thread.is_alive():
            self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._sending.acquire(timeout=max(0.0, deadline - time.monotonic())):
            for producer in (self._producer, self._unclaimed):
                if producer is not None:
                    producer.flush(max(0.0, deadline - time.monotonic()))
            self._sending.release()

    def _java(self, kind: Kind) -> dict[str, str]:
        given = self._clients(kind) if callable(self._clients) else self._clients
        return _CLIENT_DEFAULTS | dict(given)

    # Writing.

    def _make_producer(self) -> Any:
        if self._producer is None:
            self._producer = self._new_producer(self._transactional_id)
        return self._producer

    def _make_unclaimed(self) -> Any:
        if self._unclaimed is None:
            self._unclaimed = self._new_producer(None)
        return self._unclaimed

    def _new_producer(self, transactional_id: str | None) -> Any:
        from confluent_kafka import Producer

        java = self._java("producer")
        if self._patience is not None:
            java["delivery.timeout.ms"] = f"{self._patience * 1000:.0f}"
        settings = client_settings("producer", java).librdkafka
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        return Producer({**settings, "linger.ms": 0, "logger": client_log})

    def _give_up(self) -> None:
        """Abandon the producer with all that it has not written."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0)
        self._producer = None
        self._claimed = self._transactional_id is None

    def _give_up_if_fatal(self, error: Exception) -> None:
        from confluent_kafka import KafkaError, KafkaException

        if isinstance(error, KafkaException):
            cause = error.args[0]
            if cause.fatal() or cause.code() == KafkaError._FATAL:
                self._give_up()

    def _send(
        self, records: Sequence[tuple[bytes, bytes | None]], timeout: float, *, transactional: bool
    ) -> dict[int, int]:
        from confluent_kafka import KafkaException

        plain = self._transactional_id is not None and not transactional
        producer = self._make_unclaimed() if plain else self._make_producer()
        deadline = time.monotonic() + timeout
        outcomes: list[Outcome] = []
        refused = ""
        try:
            if transactional:
                producer.begin_transaction()
            outgoing = [OutgoingRecord(self.topic, key, value) for key, value in records]
            outcomes = write_once(producer, outgoing, timeout, self._closing.is_set)
            refused = refusal(outcomes)
            if transactional:
                left = max(1.0, deadline - time.monotonic())
                (producer.abort_transaction if refused else producer.commit_transaction)(left)
            elif not plain and any(outcome.code == "_FATAL" for outcome in outcomes):
                self._give_up()
        except KafkaException as error:
            refused = refused or error.args[0].str()
            self._give_up()  # how the transaction ends is unknown; whoever claims next ends it
        if refused:
            raise ConnectError(f"Topic {self.topic} refuses a record: {refused}")
        return dict(sorted((outcome.partition, outcome.offset + 1) for outcome in outcomes))

    # Reading.

    def _read(self) -> None:
        try:
            while not self._closing.is_set():
                if self._arrivals is None:
                    message = self._consumer.poll(_POLL_S)
                else:
                    message = self._arrivals.poll(self._consumer, _LONG_POLL_S)
                producer = self._producer
                if producer is not None:
                    producer.poll(0)  # serves the reports of `send_later`
                if message is not None:
                    self._take(message)
                elif self._brokers is not None:
                    self._brokers.look(self._consumer)
        except Exception as error:
            log.exception("Topic %s is not read any more", self.topic)
            self._fail(ConnectError(f"Topic {self.topic} is not read any more: {error}"))
        finally:
            arrived, self._arrivals = self._arrivals, None
            if arrived is not None:
                arrived.close()
            if self._brokers is not None:
                self._brokers.close()
            self._consumer.close()

    def _take(self, message: Any) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error is None:
            self._hand_out(message)
            self._advance(message.partition(), message.offset() + 1)
        elif error.code() == KafkaError._PARTITION_EOF:
            self._advance(message.partition(), message.offset())
        elif error.fatal() or error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._AUTHENTICATION):
            self._fail(ConnectError(f"Topic {self.topic} cannot be read: {error.str()} ({error.name()})"))
        else:
            log.warning("Topic %s: %s (%s)", self.topic, error.str(), error.name())

    def _fail(self, error: ConnectError) -> None:
        with self._advanced:
            if self._failure is None:
                log.error("%s", error)
            self._failure = error
            self._advanced.notify_all()

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
            # It can go back: when the topic was recreated, it is read from its beginning.
            self._ends[partition] = end
            self._failure = None
            self._advanced.notify_all()


def _reason(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    return str(cause.str()) if hasattr(cause, "str") else str(cause)
