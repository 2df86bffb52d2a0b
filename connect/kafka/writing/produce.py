"""Sends batches of encoded records and reports when each batch is acknowledged.

Java's partitions and order: murmur2 partitioner, idempotent, no delivery timeout (see `client_settings`). The bytes of
unacknowledged records are limited, with what the client needs for each of them: a slow broker makes `send` wait, and
the source is not polled meanwhile (P7).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from connect.data.batch import SourceBatch
from connect.data.column import Column
from connect.errors import ConnectError, RetriableError
from connect.kafka.clients.errors import ClientErrors
from connect.kafka.clients.log import log as client_log
from connect.kafka.writing.deliveries import Deliveries, Delivery, Report, Unsent
from connect.kafka.writing.leaders import Leaders
from connect.kafka.writing.refusals import (
    OF_A_BROKEN_CLIENT,
    BrokenClientError,
    ClockCheck,
    DeliveryError,
    WrongClockError,
)
from connect.kafka.writing.topic_wait import await_topic

log = logging.getLogger("connect.kafka")

_ROWS_PER_CALL: Final = 5000
_WAIT_S: Final = 0.05
#: Timestamps of records that leave it to the client; the second is Java's.
_NO_TIME: Final = (None, -1)
_LAST_TIME: Final = 2**63 - 1
#: What the client takes for each record, and for each of its headers, beside their bytes (measured with 2.16).
_RECORD_BYTES: Final = 256
_HEADER_BYTES: Final = 48


class BatchProducer:
    """A producer of one task. For one thread.

    Args:
        settings: librdkafka's, from `client_settings`. queue.buffering.max.kbytes limits the unacknowledged bytes.
        keep_going: called while waiting; raises to end the wait (the task stops, the lease is gone).
        refused: called with each record that is refused for good, and the client's message; may raise to fail the task.
            Not for the time of this machine's clock: that is raised at once, see `WrongClockError`.
        before_first: called with each topic before its first record; may raise to fail the task.
        settled: called with each finished batch, when `acknowledged` returns its mark.
        keys: see `ClientErrors`.

    Attributes:
        sent: records passed to the client so far.
        window: the limit of unacknowledged bytes.
        deliveries: the batches that are not acknowledged.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        keep_going: Callable[[], None],
        refused: Callable[[DeliveryError, Any], None],
        before_first: Callable[[str], None] | None = None,
        settled: Callable[[Delivery], None] = lambda _: None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.sent = 0
        self.window = int(settings["queue.buffering.max.kbytes"]) * 1024
        self.deliveries = Deliveries(refused, settled)
        self._keep_going = keep_going
        self._before_first = before_first
        self._known_topics: set[str] = set()
        self._brokers = ClientErrors(settings, keys)
        self._clock = ClockCheck(settings)
        self._closed = False
        self._told_of_zero = False
        # The window is ours, so that a batch never meets a full queue half way through.
        limits = {"queue.buffering.max.kbytes": 2_000_000, "queue.buffering.max.messages": 0}
        self._leaders = Leaders()
        self._settings = {**settings, **limits, **self._leaders.settings, "error_cb": self._on_error}
        self._connect(client_log)

    def _connect(self, logger: Any) -> None:
        """Make the client."""
        from confluent_kafka import Producer

        self._producer = Producer({**self._settings, "logger": logger})

    def send(self, batch: SourceBatch, mark: Any, each: Callable[[int], Report | None] | None = None) -> None:
        """Pass a batch to the client; wait while too much is unacknowledged.

        Args:
            batch: keys and values are bytes, headers pairs of key and bytes or None.
            mark: returned by `Deliveries.acknowledged`.
            each: returns, for a row of the batch, a function to call when it is acknowledged, or with an error when it
                is given up, if any. Costs time; for tasks with `commit_record`.

        Raises:
            ConnectError: a topic does not exist and cannot be created.
            NotLetInError: the brokers refuse this client.
        """
        if not len(batch):
            self.deliveries.add(Delivery(mark, 0, 0, self._given_back))
            return
        told = bytes_of(batch)
        size = told + bytes_of_headers(batch) + len(batch) * _RECORD_BYTES
        while self.deliveries.bytes and self.deliveries.bytes + size > self.window:
            self._wait()
        delivery = Delivery(mark, len(batch), told, self._given_back, size)
        delivery.timestamp = None if batch.timestamps[0] in _NO_TIME else batch.timestamps[0]
        self.deliveries.add(delivery)
        topics = batch.places_by_topic()
        try:
            for topic in topics:
                if topic not in self._known_topics:
                    self._know(topic)
        except BaseException:
            self.deliveries.withdraw()  # nothing of it was passed to the client, so nobody is to wait for it
            raise
        for topic, places in topics.items():
            part = batch if len(places) == len(batch) else batch.take(places)
            of_part = each if each is None or part is batch else partial(_each_of_part, each, places)
            is_dated = not part.timestamps.constant or part.timestamps[0] is not None
            if is_dated and any(timestamp not in _NO_TIME for timestamp in part.timestamps):
                self._clock.dated_topics.add(topic)
            if is_dated or _says_something(part.headers):
                self._send_singly(topic, part, delivery, of_part)
            else:
                self._send_columns(topic, part, delivery, of_part)
        self.sent += len(batch)
        self.poll()

    def poll(self, timeout: float = 0) -> None:
        """Serve delivery reports.

        Raises:
            what `refused` raised.
            NotLetInError: brokers refuse this client.
            RetriableError: it sends records to the wrong broker for good; another client would not.
            ConnectError: the client is broken.
        """
        self._serve(self._producer.poll, timeout)

    def drain(self, timeout: float) -> bool:
        """Wait until everything is acknowledged or refused, at most this many seconds. Returns whether it is.

        Raises as `poll`.
        """
        deadline = time.monotonic() + timeout
        while self.deliveries.outstanding:
            if time.monotonic() >= deadline:
                return False
            self._serve(self._producer.flush, min(_WAIT_S, timeout))
        return True

    def close(self) -> None:
        """Drop what is unacknowledged, and close the client."""
        self._closed = True  # what is thrown away now was neither acknowledged nor given up
        self._producer.purge(in_queue=True, in_flight=True)
        self._forget()
        self.deliveries.errors.clear()
        self._producer.flush(1)
        self._brokers.close()

    def _forget(self) -> None:
        """Stop waiting for unacknowledged records."""
        self.sent -= self.deliveries.outstanding
        self.deliveries.clear()

    # Sending.

    def _send_columns(self, topic: str, part: SourceBatch, delivery: Delivery, each: Any) -> None:
        messages = _messages(part)
        if each is not None:
            for row, message in enumerate(messages):
                message["callback"] = delivery.report_and_tell(self._while_open(each(row)))
        for partition, rows in _by_partition(part.partitions, messages):
            for start in range(0, len(rows), _ROWS_PER_CALL):
                chunk = rows if len(rows) <= _ROWS_PER_CALL else rows[start : start + _ROWS_PER_CALL]
                told = {} if each is not None else {"on_delivery": delivery.report}
                queued = self._producer.produce_batch(topic, chunk, partition=partition, **told)
                if queued != len(chunk):
                    # Records that the client itself refused: larger than message.max.bytes, for example.
                    for message in chunk:
                        if (error := message.get("_error")) is not None:
                            message.get("callback", delivery.report)(error, Unsent(topic))

    def _send_singly(self, topic: str, part: SourceBatch, delivery: Delivery, each: Any) -> None:
        """One call for each record: the client's call for batches accepts neither headers nor timestamps."""
        from confluent_kafka import KafkaError, KafkaException

        headers: Any  # bytes by now: a list of pairs, or None
        columns = zip(part.values, part.keys, part.partitions, part.timestamps, part.headers, strict=True)
        for row, (value, key, partition, timestamp, headers) in enumerate(columns):
            tell = None if each is None else each(row)
            report = delivery.report if tell is None else delivery.report_and_tell(self._while_open(tell))
            place = -1 if partition is None else partition
            if timestamp in _NO_TIME:
                moment = 0
            elif 0 <= timestamp <= _LAST_TIME:
                moment = timestamp or self._first_moment()
            else:
                report(KafkaError(KafkaError.INVALID_TIMESTAMP, f"its timestamp is {timestamp}"), Unsent(topic))
                continue
            try:
                self._producer.produce(topic, value, key, place, report, None, moment, headers or None)
            except KafkaException as error:
                report(error.args[0], Unsent(topic))

    def _first_moment(self) -> int:
        """The replacement of timestamp 0, which librdkafka takes for the time of sending."""
        if not self._told_of_zero:
            self._told_of_zero = True
            log.warning(
                "A record has the timestamp 0 (1970-01-01T00:00Z), which the client library cannot write: "
                "it is written as 1, one millisecond later. The log says this once."
            )
        return 1

    def _know(self, topic: str) -> None:
        if self._before_first is not None:
            self._before_first(topic)
        await_topic(topic, self._producer, self._brokers, self._keep_going)
        self._known_topics.add(topic)

    # Waiting and errors.

    def _serve(self, call: Callable[[float], object], timeout: float) -> None:
        from confluent_kafka import KafkaException

        try:
            call(timeout)
        except KafkaException as raised:  # fatal errors are told so, not to the callback (2.16)
            raise self._broken_by(raised.args[0]) from raised
        self._check()

    def _broken_by(self, error: Any) -> ConnectError:
        """The error for a fatal one of the client."""
        return ConnectError(f"The producer cannot go on: {error.str()} ({error.name()}). A restart makes another one.")

    def _check(self) -> None:
        self.deliveries.check()
        self._brokers.check(self._producer)
        if not self.deliveries.rows:
            self._leaders.rest()
        elif (wrong := self._leaders.wrong(self._producer)) is not None:
            raise RetriableError(
                f"{wrong}: the topic was deleted and recreated. A producer that starts now is not affected."
            )

    def _wait(self) -> None:
        self.poll(_WAIT_S)
        self.deliveries.release()
        self._keep_going()

    def _given_back(self, error: DeliveryError, message: Any) -> bool:
        """As `_refused`, with the original cause."""
        return self._refused(self._clock.cause(error, message), message)

    def _refused(self, error: DeliveryError, message: Any) -> bool:
        """Whether the record is given up."""
        if self._closed:
            return False
        if isinstance(error, WrongClockError):
            self.deliveries.errors.append(error)
            return False
        if error.code in OF_A_BROKEN_CLIENT:
            self.deliveries.errors.append(BrokenClientError(error))
            return False
        return self.deliveries.give_up(error, message)

    def _while_open(self, tell: Report | None) -> Report | None:
        if tell is None:
            return None
        return lambda error, message: None if self._closed else tell(error, message)

    def _on_error(self, error: Any) -> None:
        if error.fatal():
            self.deliveries.errors.append(self._broken_by(error))
        else:
            self._brokers.hear(error)


def _each_of_part(each: Callable[[int], Report | None], places: Sequence[int], row: int) -> Report | None:
    """What `each` returns for a row of a part of a batch, whose rows are at these places."""
    return each(places[row])


def _messages(part: SourceBatch) -> list[dict[str, Any]]:
    """Columns in the client's form: a dict a row, with only the entries that have values."""
    messages: list[dict[str, Any]] = [{"value": value} for value in part.values.to_list()]
    if not (part.keys.constant and part.keys[0] is None):
        for message, key in zip(messages, part.keys, strict=True):
            if key is not None:
                message["key"] = key
    return messages


def _by_partition(
    partitions: Column[Any], messages: list[dict[str, Any]]
) -> Iterable[tuple[int, list[dict[str, Any]]]]:
    """Messages by their partition, -1 where the partitioner chooses.

    The client uses only the partition of a whole call, not that of a message.
    """
    if partitions.constant:
        return [(-1 if partitions[0] is None else partitions[0], messages)] if messages else []
    found: dict[int, list[dict[str, Any]]] = {}
    for partition, message in zip(partitions, messages, strict=True):
        found.setdefault(-1 if partition is None else partition, []).append(message)
    return found.items()


def _says_something(column: Column[Any]) -> bool:
    return not column.constant or bool(column[0])


def bytes_of(batch: SourceBatch) -> int:
    """The bytes of the keys and values of an encoded batch."""
    keys = batch.keys
    of_keys = len(keys[0] or b"") * len(batch) if keys.constant else _bytes(keys.to_list())
    return of_keys + _bytes(batch.values.to_list())


def bytes_of_headers(batch: SourceBatch) -> int:
    """The memory that the headers of an encoded batch take."""
    headers: Column[Any] = batch.headers  # pairs of key and bytes, or None
    return _of_headers(headers[0]) * len(batch) if headers.constant else sum(map(_of_headers, headers))


def _of_headers(pairs: Sequence[tuple[str, bytes | None]] | None) -> int:
    if not pairs:
        return 0
    return sum(_HEADER_BYTES + len(name) + len(value or b"") for name, value in pairs)


def _bytes(items: list[Any]) -> int:
    try:
        return sum(map(len, items))
    except TypeError:  # a null among them
        return sum(len(item) for item in items if item is not None)
