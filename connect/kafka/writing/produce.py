"""Sends batches of encoded records and reports when each batch is acknowledged.

Java's partitions and order: murmur2 partitioner, idempotent, no delivery timeout (see `client_settings`). This class
limits the bytes of unacknowledged records: a slow broker makes `send` wait, and the source is not polled meanwhile
(P7).
"""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from connect.data.batch import SourceBatch
from connect.data.column import Column
from connect.errors import ConnectError, RetriableError
from connect.kafka.clients.errors import ClientErrors, is_away
from connect.kafka.clients.log import log as client_log
from connect.kafka.writing.leaders import Leaders

log = logging.getLogger("connect.kafka")

_ROWS_PER_CALL = 5000
_WAIT_S = 0.05
#: How long a broker may take to create a topic that we asked it for: usually less than one second.
_TOPIC_S = 10.0
#: The settings by which any client finds brokers and is let in.
_CONNECTION: Final = re.compile(r"bootstrap\.servers$|client\.id$|security\.|sasl\.|ssl\.|oauth|enable\.ssl\.")
#: How long a task that is to stop may wait for an answer about a topic.
_METADATA_S = 2.0


#: What the client calls with an error or None, and its message.
Report = Callable[[Any, Any], None]


class DeliveryError(ConnectError):
    """The broker, or the client, refuses a record for good.

    Attributes:
        topic: of the record.
        code: the Kafka error's name, such as MSG_SIZE_TOO_LARGE.
    """

    def __init__(self, topic: str, code: str, message: str) -> None:
        super().__init__(f'Topic "{topic}" refuses a record: {message} ({code}).{_advice(topic, code)}')
        self.topic = topic
        self.code = code


class WrongClockError(DeliveryError):
    """The broker refuses the timestamp of a record that has none of its own: the client set this machine's time.

    The record is not at fault, and it passes when the clocks agree again. No error policy applies.
    """

    def __init__(self, refusal: DeliveryError) -> None:
        ConnectError.__init__(
            self,
            f'Topic "{refusal.topic}" refuses the time of this machine ({refusal.code}): its clock or that of the'
            " broker is wrong, by more than message.timestamp.before.max.ms and message.timestamp.after.max.ms of the"
            " topic let pass. Nothing is lost: the task continues when the clock is right.",
        )
        self.topic = refusal.topic
        self.code = refusal.code


class Delivery:
    """One unacknowledged batch.

    Attributes:
        mark: what `acknowledged` returns for the batch (its source offsets).
        rows: the number of records.
        size: their bytes, as far as they count against the limit.
        bytes: their bytes.
        began: when they were passed to the client, by `time.monotonic()`.
        timestamp: of the first record, in ms since the epoch, if it has one.
        waiting: the number of records that are neither acknowledged nor given up. A refused one that must not be given
            up waits forever, so that no offset behind it is stored (P1).
    """

    __slots__ = ("_refused", "began", "bytes", "mark", "rows", "size", "timestamp", "waiting")

    def __init__(self, mark: Any, rows: int, size: int, refused: Callable[[DeliveryError, Any], bool]) -> None:
        self.mark = mark
        self.rows = rows
        self.size = size
        self.bytes = size
        self.began = time.monotonic()
        self.timestamp: int | None = None
        self.waiting = rows
        self._refused = refused

    def report(self, error: Any, message: Any) -> None:
        """Called by the client for each record, from within `poll`."""
        self._settle(error, message)

    def _settle(self, error: Any, message: Any) -> bool:
        """Whether the record is acknowledged or given up."""
        through = error is None or self._refused(DeliveryError(message.topic(), error.name(), error.str()), message)
        self.waiting -= through
        return through

    def report_and_tell(self, tell: Report | None) -> Report:
        """As `report`, for one record, and then `tell`, if any; not for a record that fails the task."""
        if tell is None:
            return self.report

        def report(error: Any, message: Any) -> None:
            if self._settle(error, message):
                tell(error, message)

        return report


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
        self._window = int(settings["queue.buffering.max.kbytes"]) * 1024
        self._keep_going = keep_going
        self._refused_by_user = refused
        self._before_first = before_first
        self._settled = settled
        self._errors: list[BaseException] = []
        self._under_way: deque[Delivery] = deque()
        self._bytes = 0
        self._rows = 0
        self._known_topics: set[str] = set()
        self._connection = {key: value for key, value in settings.items() if _CONNECTION.match(key)}
        self._compacted: dict[str, bool] = {}
        self._dated_topics: set[str] = set()  # those for which records brought timestamps of their own
        self._sent = 0
        self._brokers = ClientErrors(settings, keys)
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

    @property
    def sent(self) -> int:
        """Records passed to the client so far."""
        return self._sent

    @property
    def outstanding(self) -> int:
        """Records that are neither acknowledged nor refused."""
        return sum(delivery.waiting for delivery in self._under_way)

    @property
    def rows_under_way(self) -> int:
        """Records of all unfinished batches."""
        return self._rows

    @property
    def bytes_under_way(self) -> int:
        """Bytes of records that were passed to the client and are not acknowledged, as far as that was checked."""
        return self._bytes

    def send(self, batch: SourceBatch, mark: Any, each: Callable[[int], Report | None] | None = None) -> None:
        """Pass a batch to the client; wait while too much is unacknowledged.

        Args:
            batch: keys and values are bytes, headers pairs of key and bytes or None.
            mark: returned by `acknowledged`.
            each: returns, for a row, a function to call when it is acknowledged, or with an error when it is given up,
                if any. Costs time; for tasks with `commit_record`.

        Raises:
            ConnectError: a topic does not exist and cannot be created.
            NotLetInError: the brokers refuse this client.
        """
        if not len(batch):
            self._under_way.append(Delivery(mark, 0, 0, self._given_back))
            return
        values = batch.values.to_list()
        keys = batch.keys
        size = _bytes(values) + (0 if keys.constant else _bytes(keys.to_list()))
        while self._bytes and self._bytes + size > self._window:
            self._wait()
        delivery = Delivery(mark, len(batch), size, self._given_back)
        delivery.timestamp = batch.timestamps[0]
        self._under_way.append(delivery)
        self._bytes += size
        self._rows += len(batch)
        for topic, part in batch.by_topic().items():
            self._know(topic)
            is_dated = not part.timestamps.constant or part.timestamps[0] is not None
            if is_dated and any(timestamp is not None for timestamp in part.timestamps):
                self._dated_topics.add(topic)
            if is_dated or _says_something(part.headers):
                self._send_singly(topic, part, delivery, each)
            else:
                self._send_columns(topic, part, delivery, each)
        self._sent += len(batch)
        self.poll()

    def poll(self, timeout: float = 0) -> None:
        """Serve delivery reports.

        Raises:
            what `refused` raised.
            NotLetInError: brokers refuse this client.
            RetriableError: it sends records to the wrong broker for good; another client would not.
        """
        self._producer.poll(timeout)
        if self._errors:
            raise self._errors[0]
        self._brokers.check(self._producer)
        if not self._under_way:
            self._leaders.rest()
        elif (wrong := self._leaders.wrong(self._producer)) is not None:
            raise RetriableError(
                f"{wrong}: the topic was deleted and recreated. A producer that starts now is not affected."
            )

    def acknowledged(self) -> list[Any]:
        """The marks of finished batches, oldest first, up to the first unfinished one. Each is returned once."""
        marks = []
        while self._under_way and not self._under_way[0].waiting:
            delivery = self._under_way.popleft()
            self._bytes -= delivery.size
            self._rows -= delivery.rows
            marks.append(delivery.mark)
            if delivery.rows:
                self._settled(delivery)
        return marks

    def drain(self, timeout: float) -> bool:
        """Wait until everything is acknowledged or refused, at most this many seconds. Returns whether it is."""
        deadline = time.monotonic() + timeout
        while self.outstanding:
            if time.monotonic() >= deadline:
                return False
            self._producer.flush(min(_WAIT_S, timeout))
            if self._errors:
                raise self._errors[0]
        return True

    def close(self) -> None:
        """Drop what is unacknowledged, and close the client."""
        self._closed = True  # what is thrown away now was neither acknowledged nor given up
        self._producer.purge(in_queue=True, in_flight=True)
        self._forget()
        self._errors.clear()
        self._producer.flush(1)
        self._brokers.close()

    def _forget(self) -> None:
        """Stop waiting for unacknowledged records."""
        self._sent -= self.outstanding
        self._under_way.clear()
        self._bytes = self._rows = 0

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
        from confluent_kafka import KafkaException

        headers: Any  # bytes by now: a list of pairs, or None
        columns = zip(part.values, part.keys, part.partitions, part.timestamps, part.headers, strict=True)
        for row, (value, key, partition, timestamp, headers) in enumerate(columns):
            tell = None if each is None else each(row)
            report = delivery.report if tell is None else delivery.report_and_tell(self._while_open(tell))
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    -1 if partition is None else partition,
                    report,
                    None,
                    0 if timestamp is None else timestamp or self._first_moment(),
                    headers or None,
                )
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
        """Ensure that a topic exists before records for it queue up; a broker that creates topics does so on this."""
        if topic in self._known_topics:
            return
        from confluent_kafka import KafkaError, KafkaException

        if self._before_first is not None:
            self._before_first(topic)
        deadline = time.monotonic() + _TOPIC_S
        while True:
            self._keep_going()
            try:
                found = self._producer.list_topics(topic, timeout=self._brokers.soon(_METADATA_S)).topics[topic]
            except KafkaException as error:
                if not is_away(error.args[0]):
                    raise DeliveryError(topic, error.args[0].name(), error.args[0].str()) from None
                self._producer.poll(0)  # what the client has to say of its connections
                self._brokers.check()
                if self._brokers.refusal is None:
                    self._brokers.unanswered(error.args[0])
                deadline = time.monotonic() + _TOPIC_S
                continue
            self._brokers.answered()
            if found.error is None and found.partitions:
                self._known_topics.add(topic)
                return
            if found.error is not None and found.error.code() in (
                KafkaError.TOPIC_AUTHORIZATION_FAILED,
                KafkaError.TOPIC_EXCEPTION,
                KafkaError.INVALID_REPLICATION_FACTOR,
            ):
                raise DeliveryError(topic, found.error.name(), found.error.str())
            if time.monotonic() >= deadline:
                code = found.error.name() if found.error is not None else "LEADER_NOT_AVAILABLE"
                raise DeliveryError(topic, code, "it does not exist and the broker does not create it")
            self._producer.poll(_WAIT_S)

    # Waiting and errors.

    def _wait(self) -> None:
        self.poll(_WAIT_S)
        self._release()
        self._keep_going()

    def _release(self) -> None:
        # Batches that are through free their bytes even before the sender asks for their marks.
        for delivery in self._under_way:
            if delivery.waiting:
                break
            self._bytes -= delivery.size
            delivery.size = 0

    def _given_back(self, error: DeliveryError, message: Any) -> bool:
        """As `_refused`, with the original cause."""
        if error.topic not in self._dated_topics and self._is_of_the_clock(error, message):
            error = WrongClockError(error)
        return self._refused(error, message)

    def _is_of_the_clock(self, error: DeliveryError, message: Any) -> bool:
        if error.code != "INVALID_RECORD":
            return error.code == "INVALID_TIMESTAMP"
        # What the client makes of the timestamps of several records in one request. Such an error has one other cause.
        return message.key() is not None or not self._is_compacted(error.topic)

    def _is_compacted(self, topic: str) -> bool:
        """Whether a topic accepts no record without a key. False if the brokers do not say: nothing is skipped then."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

        if topic not in self._compacted:
            asked = ConfigResource(ResourceType.TOPIC, topic)
            connection: dict[str, Any] = {**self._connection, "logger": client_log}
            admin = AdminClient(connection)
            try:
                found = admin.describe_configs([asked], request_timeout=_METADATA_S)[asked].result()
                self._compacted[topic] = "compact" in found["cleanup.policy"].value
            except KafkaException as error:
                log.debug("the settings of topic %s cannot be read: %s", topic, error)
                return False
        return self._compacted[topic]

    def _refused(self, error: DeliveryError, message: Any) -> bool:
        """Whether the record is given up."""
        if self._closed:
            return False
        if isinstance(error, WrongClockError):
            self._errors.append(error)
            return False
        # The client swallows what a callback raises: it is kept for `poll`.
        try:
            self._refused_by_user(error, message)
        except BaseException as raised:
            self._errors.append(raised)
            return False
        return True

    def _while_open(self, tell: Report | None) -> Report | None:
        if tell is None:
            return None
        return lambda error, message: None if self._closed else tell(error, message)

    def _on_error(self, error: Any) -> None:
        if error.fatal():
            self._errors.append(ConnectError(f"The producer cannot go on: {error.str()}"))
        else:
            self._brokers.hear(error)


class Unsent(NamedTuple):
    """Replaces the client's message where the client did not even accept the record."""

    name: str

    def topic(self) -> str:
        return self.name


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


def _bytes(items: list[Any]) -> int:
    try:
        return sum(map(len, items))
    except TypeError:  # a null among them
        return sum(len(item) for item in items if item is not None)


def _advice(topic: str, code: str) -> str:
    match code.removeprefix("_"):
        case "MSG_SIZE_TOO_LARGE":
            return (
                " Raise max.message.bytes of the topic and producer.override.max.request.size of the connector, or skip"
                ' such records with "errors.tolerance": "all".'
            )
        case "TOPIC_AUTHORIZATION_FAILED":
            return f" Grant WRITE (and CREATE, if it does not exist) on topic {topic} to the user of this producer."
        case "UNKNOWN_TOPIC_OR_PART" | "UNKNOWN_TOPIC" | "LEADER_NOT_AVAILABLE":
            return f" Create it with `kafka-topics --create --topic {topic}`."
    return ""
