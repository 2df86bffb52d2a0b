"""What `connect.kafka.compacted_log` finds in the place of its clients: a consumer, a producer, an admin client."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from connect.errors import ConnectError
from tests.simulation.broker import Broker
from tests.simulation.network import BROKERS, Reply
from tests.simulation.scheduler import Fiber, Machine, running

#: How long a consumer waits inside the client when nothing has to be served meanwhile.
_QUIET_S: Final = 20.0
_AGAIN_S: Final = 0.1
_REQUEST_S: Final = 5.0


class LostError(Exception):
    """There was no answer."""


class Clients:
    """Makes the clients of one worker.

    Attributes:
        producers: of it, by which is seen whether a report waits to be served.
    """

    def __init__(self, broker: Broker, machine: Machine) -> None:
        self.broker = broker
        self.machine = machine
        self.producers: list[Producer] = []

    def report_waits(self) -> bool:
        """Whether something was acknowledged, or will be, that nobody has heard of."""
        return any(producer.outstanding for producer in self.producers)

    def ask(self, handle: Callable[[Reply], None], timeout: float) -> Any:
        """Ask the brokers, and wait. Raises LostError."""
        scheduler = running.scheduler
        box: list[Any] = []
        me = scheduler.fiber
        assert me is not None

        def answered(value: Any) -> None:
            box.append(value)
            scheduler.wake(me)

        def failed(_: str) -> None:
            box.append(LostError())
            scheduler.wake(me)

        self.broker.network.request(self.machine, BROKERS, handle, answered, failed, timeout)
        while not box:
            scheduler.park()
        if isinstance(box[0], LostError):
            raise box[0]
        return box[0]


class Message:
    """A record, or the end of what there is."""

    __slots__ = ("_error", "_key", "_offset", "_timestamp", "_topic", "_value")

    def __init__(
        self, topic: str, offset: int, key: bytes | None, value: bytes | None, at: int, error: Any = None
    ) -> None:
        self._topic, self._offset, self._key, self._value, self._timestamp = topic, offset, key, value, at
        self._error = error

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timestamp

    def error(self) -> Any:
        return self._error


class _End:
    """What `enable.partition.eof` reports."""

    @staticmethod
    def code() -> int:
        return int(KafkaError._PARTITION_EOF)

    @staticmethod
    def fatal() -> bool:
        return False


class Consumer:
    """Reads committed records of one topic."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._network = clients.broker.network
        self._topic: Any = None
        self._position = 0
        self._seen = 0
        self._told_end = -1
        self._coming = False
        self._waiter: Fiber | None = None
        self._woken = False

    def assign(self, partitions: Sequence[Any]) -> None:
        self._topic = self._clients.broker.topic(partitions[0].topic)
        self._topic.followers.append(self._more)
        self._more()

    def _more(self) -> None:
        if not self._coming and not self._clients.machine.dead:
            self._coming = True
            self._network.one_way(BROKERS, self._clients.machine.host.name, self._arrives)

    def _arrives(self) -> None:
        self._coming = False
        self._seen = self._topic.stable_end
        if self._waiter is not None:
            running.scheduler.wake(self._waiter)

    def wake(self) -> None:
        """End a wait."""
        self._woken = True
        if self._waiter is not None:
            running.scheduler.wake(self._waiter)

    def poll(self, timeout: float) -> Message | None:
        found = self._next()
        if found is None and timeout > 0:
            if not self._woken:
                scheduler = running.scheduler
                self._waiter = scheduler.fiber
                scheduler.park(timeout if self._clients.report_waits() else _QUIET_S)
                self._waiter = None
            self._woken = False
            found = self._next()
        return found

    def _next(self) -> Message | None:
        topic = self._topic
        while self._position < self._seen:
            record = topic.counts(self._position)
            self._position += 1
            if record is not None:
                return Message(topic.name, record.offset, record.key, record.value, record.timestamp)
        if self._told_end != self._position:
            self._told_end = self._position
            if self._seen or not topic.end:
                return Message(topic.name, self._position, None, None, 0, _End)
        return None

    def close(self) -> None:
        if self._more in self._topic.followers:
            self._topic.followers.remove(self._more)


class Arrivals:
    """`connect.kafka.reading.arrivals.Arrivals`."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def poll(self, consumer: Consumer, seconds: float) -> Message | None:
        return consumer.poll(seconds)

    def wake(self) -> None:
        self._consumer.wake()

    def close(self) -> None:
        pass


_Sent = tuple[str, bytes | None, bytes | None, Callable[..., None] | None, float]


class Producer:
    """An idempotent producer, with a transactional id or without.

    Args:
        clients: of its worker.
        transactional_id: see there.
        patience: seconds until a record is given up; None for never.
    """

    _numbers = 0

    def __init__(self, clients: Clients, transactional_id: str | None = None, patience: float | None = 30.0) -> None:
        scheduler = running.scheduler
        self._clients = clients
        self._id = int(scheduler.chance() * (1 << 60))
        self._transactional_id = transactional_id
        self._by: tuple[str, int] | None = None
        self._patience = patience
        self._queue: deque[_Sent] = deque()
        self._under_way: list[_Sent] = []
        self._request = 0
        self._reports: deque[tuple[Callable[..., None], Any, Message]] = deque()
        self._waiter: Fiber | None = None
        clients.producers.append(self)

    @property
    def outstanding(self) -> int:
        """What is not acknowledged, or nobody has heard of."""
        return len(self._queue) + len(self._under_way) + len(self._reports)

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = -1,
        on_delivery: Callable[..., None] | None = None,
        *_: Any,
    ) -> None:
        until = float("inf") if self._patience is None else running.scheduler.now + self._patience
        self._queue.append((topic, key, value, on_delivery, until))
        self._send()

    def _send(self) -> None:
        if self._under_way or not self._queue:
            return
        self._under_way = [self._queue.popleft()]
        while self._queue and self._queue[0][0] == self._under_way[0][0]:
            self._under_way.append(self._queue.popleft())
        self._request += 1
        self._try(self._request)

    def _try(self, number: int) -> None:
        if number != self._request or not self._under_way or self._clients.machine.dead:
            return
        scheduler = running.scheduler
        if self._under_way[0][4] <= scheduler.now:
            self._done(number, "_MSG_TIMED_OUT")
            return
        topic, records, broker = self._under_way[0][0], [each[1:3] for each in self._under_way], self._clients.broker
        sent, by = (self._id, number), self._by

        def handle(reply: Reply) -> None:
            reply(broker.produce(sent, topic, records, by))

        broker.network.request(
            self._clients.machine,
            BROKERS,
            handle,
            lambda answer: self._done(number, answer),
            lambda _: scheduler.after(_AGAIN_S, self._try, number),
            _REQUEST_S,
        )

    def _done(self, number: int, answer: Any) -> None:
        if number != self._request:
            return
        sent, self._under_way = self._under_way, []
        for row, (topic, key, value, report, _) in enumerate(sent):
            if report is None:
                continue
            if isinstance(answer, str):
                error = KafkaError(getattr(KafkaError, answer), answer, fatal=answer == "_FENCED")
                self._reports.append((report, error, Message(topic, -1, key, value, 0)))
            else:
                self._reports.append((report, None, Message(topic, answer[row], key, value, 0)))
        if self._waiter is not None:
            running.scheduler.wake(self._waiter)
        self._send()

    def poll(self, timeout: float = 0) -> int:
        if not self._reports and timeout > 0:
            self._wait(timeout)
        served = 0
        while self._reports:
            report, error, message = self._reports.popleft()
            report(error, message)
            served += 1
        return served

    def _wait(self, seconds: float) -> None:
        self._waiter = running.scheduler.fiber
        running.scheduler.park(seconds)
        self._waiter = None

    def flush(self, timeout: float = 30.0) -> int:
        scheduler = running.scheduler
        until = scheduler.now + timeout
        self.poll(0)
        while self.outstanding and scheduler.now < until:
            self.poll(until - scheduler.now)
        return self.outstanding

    def purge(self, *, in_queue: bool = True, in_flight: bool = True) -> None:
        dropped = list(self._queue) if in_queue else []
        if in_queue:
            self._queue.clear()
        if in_flight:
            dropped += self._under_way
            self._under_way = []
            self._request += 1
        error = KafkaError(KafkaError._PURGE_QUEUE)
        for topic, key, value, report, _ in dropped:
            if report is not None:
                self._reports.append((report, error, Message(topic, -1, key, value, 0)))

    # Transactions.

    def init_transactions(self, timeout: float = 30.0) -> None:
        assert self._transactional_id is not None
        name, broker = self._transactional_id, self._clients.broker
        epoch = self._ask(lambda reply: reply(broker.init(name)), timeout)
        self._by = name, epoch

    def begin_transaction(self) -> None:
        pass

    def commit_transaction(self, timeout: float = 30.0) -> None:
        self._end(timeout, commit=True)

    def abort_transaction(self, timeout: float = 30.0) -> None:
        self._end(timeout, commit=False)

    def _end(self, timeout: float, *, commit: bool) -> None:
        by, broker = self._by, self._clients.broker
        assert by is not None
        if self.flush(timeout):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        refused = self._ask(lambda reply: reply(broker.end(by, commit=commit)), timeout)
        if refused:
            raise KafkaException(KafkaError(KafkaError._FENCED, "it is fenced", fatal=True))

    def _ask(self, handle: Callable[[Reply], None], timeout: float) -> Any:
        try:
            return self._clients.ask(handle, timeout)
        except LostError:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None


class Admin:
    """`connect.kafka.admin.client.Admin`, as far as `CompactedLog` uses it itself."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.closed = False

    def close(self) -> None:
        self.closed = True


def end_offsets(
    admin: Admin, topic: str, partitions: Sequence[int], timeout: float, *, open_too: bool = False
) -> Mapping[int, int]:
    """`connect.kafka.admin.topics.end_offsets`."""
    scheduler = running.scheduler
    until = scheduler.now + timeout
    there = admin.clients.broker.topic(topic)
    while True:
        if admin.closed:
            raise ConnectError(f"Topic {topic} is not read any more.")
        try:
            left = max(0.1, min(_REQUEST_S, until - scheduler.now))
            return {0: admin.clients.ask(lambda reply: reply(there.end if open_too else there.stable_end), left)}
        except LostError:
            if scheduler.now >= until:
                raise ConnectError(f"Topic {topic} cannot be read.") from None
        scheduler.park(_AGAIN_S)


def make_or_check(topic: str, admin: Admin, shape: object, timeout: float) -> list[int]:
    """`connect.kafka.admin.topics.make_or_check`: every topic has one partition."""
    end_offsets(admin, topic, [0], timeout)
    return [0]


class NoErrors:
    """`connect.kafka.clients.errors.ClientErrors`: what it says goes to the log, and to the page."""

    wait = None

    def hear(self, error: object) -> None:
        pass

    def look(self, client: object) -> None:
        pass

    def close(self) -> None:
        pass
