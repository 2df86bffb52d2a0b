"""What stands around a loop in its tests: a consumer, a producer, a worker's wishes and a clock that do as scripted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from connect.data.batch import SinkBatch, SourceBatch
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.errors import ConnectError
from connect.kafka.writing.deliveries import Deliveries, Delivery
from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline import Stage
from connect.worker.control import Stopping
from connect.worker.messages import Message, Progress

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Clock:
    """Stands in for the module `time`: goes on only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


class FakeControl:
    """Stands in for `Control`. Stops the task when the script of its consumer or its task is over.

    Attributes:
        lease: whether the task holds it.
        said: what the task told its worker.
        on_await_lease: called at each `await_lease`.
    """

    def __init__(self, clock: Clock, calls: list[Any]) -> None:
        self.paused = False
        self.stopping = False
        self.lease = True
        self.said: list[Message] = []
        self.waits: deque[Callable[[], None]] = deque()
        self.on_await_lease: Callable[[], None] = lambda: None
        self._clock = clock
        self._calls = calls

    def progress(self) -> list[Progress]:
        return [message for message in self.said if isinstance(message, Progress)]

    def check(self) -> None:
        if self.stopping:
            raise Stopping

    def await_lease(self) -> None:
        self.check()
        self.on_await_lease()
        self.check()
        if not self.lease:
            raise Stopping  # the real one waits for a renewal or the end

    def holds_lease(self) -> bool:
        return self.lease

    def wake_by(self, wake: Callable[[], None]) -> None:
        pass

    def set_activity(self, what: str) -> None:
        self.activity = (what, self._clock.monotonic())

    def wait(self, seconds: float) -> None:
        self._clock.now += seconds
        if self.waits:
            self.waits.popleft()()
        self.check()

    sleep = wait

    def send(self, message: Message) -> None:
        self.said.append(message)


class FakeConsumer:
    """Stands in for `BatchConsumer`. Each poll does the next thing of the script; after the last the task is to stop.

    Attributes:
        script: what the polls do; each returns a batch or None.
        committed: every commit.
        began: where the task wanted to begin, at each assignment.
        sought: every seek.
        refuse_commits: how many of the next commits fail.
    """

    group = "connect-test"
    member_id: str | None = "member-1"
    instance_id: str = ""
    can_be_woken = False

    def __init__(self, control: FakeControl, clock: Clock, calls: list[Any]) -> None:
        self.script: deque[Callable[[], SinkBatch | None]] = deque()
        self.committed: list[dict[TopicPartition, int]] = []
        self.began: list[dict[TopicPartition, int]] = []
        self.sought: list[dict[TopicPartition, int]] = []
        self.refuse_commits = 0
        self.paused: set[TopicPartition] = set()
        self.place: dict[TopicPartition, int] = {}
        self.waiting = 0
        self.closed = False
        self.may_leave = True
        self.listener: Any
        self._assignment: frozenset[TopicPartition] = frozenset()
        self._control = control
        self._clock = clock
        self._calls = calls

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._assignment

    def assign(self, *partitions: TopicPartition) -> None:
        self._assignment |= set(partitions)
        self.began.append(dict(self.listener.assigned(list(partitions)) or {}))
        for partition, offset in self.began[-1].items():
            self.place[partition] = offset

    def take_away(self, *partitions: TopicPartition, how: str = "revoked") -> None:
        try:
            getattr(self.listener, how)(list(partitions))
        finally:
            self._assignment -= set(partitions)
            self.paused -= set(partitions)
            for partition in partitions:
                self.place.pop(partition, None)

    def gives(self, batch: SinkBatch) -> SinkBatch:
        self.place.update(batch.next_offsets())
        return batch

    def poll(self, timeout: float) -> SinkBatch | None:
        self._calls.append("poll")
        if not self.script:
            self._control.stopping = True
            return None
        batch = self.script.popleft()()
        if batch is None:
            self._clock.now += timeout
        return batch

    def wake(self) -> None:
        """Nobody calls it while a poll waits: all is one thread here."""

    def positions(self) -> dict[TopicPartition, int]:
        return dict(self.place)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self.refuse_commits:
            self.refuse_commits -= 1
            raise ConnectError(f"Offsets were not committed: the coordinator moved{'!' * self.refuse_commits}")
        self._calls.append("commit")
        self.committed.append(dict(offsets))

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.sought.append(dict(offsets))
        self.place.update({p: o for p, o in offsets.items() if p in self._assignment})

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self.paused |= set(partitions) & self._assignment

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self.paused -= set(partitions)

    def lag(self, without: Any = ()) -> int:
        return 0 if self.closed else self.waiting

    def close(self) -> bool:
        if self._assignment:
            self.take_away(*self._assignment)
        self.closed = True
        return self.may_leave


class FakeProducer:
    """Stands in for `BatchProducer`. Acknowledges when the test says so.

    Attributes:
        sent_rows: the values that were sent.
        at_once: whether everything is acknowledged when it is sent.
        pending: for each record under way its value and the report of the client.
    """

    def __init__(self, refused: Callable[[DeliveryError, Any], None], calls: list[Any]) -> None:
        self.sent_rows: list[Any] = []
        self.at_once = True
        self.pending: deque[tuple[Any, Callable[[Any, Any], Any]]] = deque()
        self.closed = False
        self.deliveries = Deliveries(refused)
        self._calls = calls

    @property
    def sent(self) -> int:
        return len(self.sent_rows)

    def send(self, batch: SourceBatch, mark: Any, each: Any = None) -> None:
        self._calls.append("send")
        delivery = Delivery(mark, len(batch), 0, self.deliveries.give_up)
        self.deliveries.add(delivery)
        for row, value in enumerate(batch.values):
            self.sent_rows.append(value)
            report = delivery.report if each is None else delivery.report_and_tell(each(row))
            self.pending.append((value, report))
        if self.at_once:
            self.acknowledge(len(self.pending))

    def acknowledge(self, count: int = 1) -> None:
        for _ in range(count):
            value, report = self.pending.popleft()
            report(None, FakeMessage("t", 0, value))

    def refuse(self, row: int = 0) -> None:
        _, report = self.pending[row]
        del self.pending[row]
        report(FakeError("MSG_SIZE_TOO_LARGE", "too large"), FakeMessage("t", 0, None))

    def poll(self, timeout: float = 0) -> None:
        self.deliveries.check()

    def drain(self, timeout: float) -> bool:
        self._calls.append("drain")
        self.poll()
        return not self.deliveries.outstanding

    def close(self) -> None:
        self.closed = True


class NotesCalls:
    """What the tasks of these tests have in common: they note their calls, and raise what the test says.

    Attributes:
        calls: so far.
        errors: to be raised, by the name of the call.
    """

    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls
        self.errors: dict[str, Exception] = {}

    def stop(self) -> None:
        self.calls.append("stop")
        self.fail("stop")

    def fail(self, where: str) -> None:
        if where in self.errors:
            raise self.errors[where]


class OneStep:
    """A step of the chain made of a function on batches."""

    stage = Stage.TRANSFORMATION
    operation = "OneStep"
    apply_one = None

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run

    def close(self) -> None:
        pass


class FakeError:
    """A KafkaError."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return self._text


class FakeMessage:
    """What a delivery report is about."""

    def __init__(self, topic: str, partition: int, value: Any) -> None:
        self._place = topic, partition, value

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return int(self._place[2])


def rows(first: int, count: int, partition: TopicPartition = T0) -> SinkBatch:
    """Consumed records whose values are their offsets."""
    offsets = list(range(first, first + count))
    return SinkBatch(partition.topic, Values(offsets), offsets=offsets, partitions=partition.partition)


def mixed(places: Sequence[tuple[TopicPartition, int]]) -> SinkBatch:
    """Consumed records of several partitions, in this order; the values are their offsets."""
    return SinkBatch(
        [p.topic for p, _ in places],
        Values([offset for _, offset in places]),
        offsets=[offset for _, offset in places],
        partitions=[p.partition for p, _ in places],
    )
