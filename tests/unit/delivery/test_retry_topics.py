"""When parked records come back, and what rests meanwhile."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connect.data.batch import SinkBatch
from connect.data.column import Plain
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.delivery import retry_topics, retrying_consumer
from connect.delivery.retry_topics import RetryTopics
from connect.delivery.retrying_consumer import RetryingConsumer
from connect.errors import ConnectError, DataError
from connect.pipeline import ErrorCounts, Failure, Stage
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord
from connect.pipeline.error_headers import ErrorContext, ParkedHeaders
from connect.pipeline.error_topics import DeadLetterQueue
from connect.pipeline.parked import RetrySettings, Tier
from connect.telemetry.redaction import redactor
from tests.unit.worker.fakes import Clock

R0 = TopicPartition("retry-5s", 0)
T0 = TopicPartition("t", 0)


class Consumer:
    """Notes what it is asked, and brings what it is given."""

    def __init__(self) -> None:
        self.brings: SinkBatch | None = None
        self.waited: list[float] = []
        self.paused: set[TopicPartition] = set()
        self.sought: dict[TopicPartition, int] = {}
        self.commits: list[Any] = []

    def poll(self, timeout: float) -> SinkBatch | None:
        self.waited.append(timeout)
        batch, self.brings = self.brings, None
        return batch

    def positions(self) -> dict[TopicPartition, int]:
        return {}

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.commits.append(offsets)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self.paused |= set(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self.paused -= set(partitions)

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.sought.update(offsets)

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {R0: 3} if R0 in partitions else {}

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {}


class Listener:
    """Knows what it is told to know of the partitions that it is given."""

    def __init__(self) -> None:
        self.known: dict[TopicPartition, int] = {}

    def assigned(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self.known


class Setting:
    """Retry topics of two tiers, what is written to them, and the consumer that reads them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, keep_order: bool = False) -> None:
        self.clock = Clock()
        for module in (retry_topics, retrying_consumer):
            monkeypatch.setattr(module, "time", self.clock)
        self.written: list[tuple[str, EncodedRecord, int | None]] = []
        self.consumer = Consumer()
        self.counts = ErrorCounts()
        settings = RetrySettings((Tier("retry-5s", 5000), Tier("retry-1m", 60_000)), None, -1, keep_order)
        self.purged: list[Any] = []
        writes: Any = self
        self.topics = RetryTopics(settings, "sink", 0, writes, lambda _: 2, self.counts)
        self.listener: Any = Listener()
        made: Any = self.consumer
        self.it = RetryingConsumer(lambda _: made, self.listener, self.topics, lambda begin: [], self.purged.append)

    def send(self, topic: str, letter: EncodedRecord, partition: int | None = None) -> None:
        self.written.append((topic, letter, partition))

    def admit(self, batch: SinkBatch) -> SinkBatch:
        self.consumer.brings = batch
        admitted = self.it.poll(0)
        assert admitted is not None
        return admitted

    def waits(self, seconds: float = 60.0) -> float:
        """How long the next poll waits, of so many seconds."""
        self.it.poll(seconds)
        return self.consumer.waited[-1]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


def parked(offset: int, due_s: float, value: bytes = b"v", attempt: int = 1) -> tuple[Any, ...]:
    place = ParkedHeaders(
        topic="t", partition=3, offset=offset, timestamp=7, attempt=attempt, parked=attempt, due=int(due_s * 1000)
    )
    return ("retry-5s", 0, b"k", value, place.after([("h", b"1")], ErrorContext(stage="TRANSFORMATION")))


def batch(*rows: tuple[Any, ...]) -> SinkBatch:
    topics, partitions, keys, values, headers = zip(*rows, strict=True)
    return SinkBatch(
        list(topics),
        Values.raw(list(values)),
        keys=Values.raw(list(keys)),
        partitions=list(partitions),
        offsets=list(range(len(rows))),
        headers=Plain([item or None for item in headers]),
    )


PLAIN = ("t", 0, b"k", b"plain", [])


def test_what_is_due_comes_as_it_was_and_the_rest_waits(at: Setting) -> None:
    out = at.admit(batch(PLAIN, parked(5, 999.0), parked(6, 1003.0), parked(7, 999.0), PLAIN))
    assert list(out.topics) == ["t"] * 3
    assert list(out.partitions) == [0, 3, 0]
    assert list(out.timestamps) == [None, 7, None]
    assert list(out.headers) == [None, [("h", b"1")], None]
    assert list(out.original_topics) == ["t", "retry-5s", "t"]
    assert list(out.offsets) == [0, 1, 4]
    assert at.it.positions() == {R0: 2}
    assert at.consumer.paused == {R0}
    assert at.waits() == 3.0


def test_a_partition_is_read_again_when_it_is_due_unless_somebody_else_wants_it_paused(at: Setting) -> None:
    at.admit(batch(parked(5, 1003.0)))
    at.clock.now = 1002.9
    at.it.poll(0)
    assert at.it.positions()
    at.it.resume([R0])
    assert at.consumer.paused
    at.clock.now = 1003.0
    at.it.pause([R0])
    assert at.waits() == 60.0
    assert at.consumer.paused
    at.it.resume([R0])
    at.it.poll(0)
    assert not at.it.positions()
    assert not at.consumer.paused
    assert at.consumer.sought == {R0: 0}


@pytest.mark.parametrize(("attempt", "topic"), [(0, "retry-5s"), (1, "retry-1m"), (2, None)])
def test_a_record_goes_from_tier_to_tier_and_is_then_given_up(at: Setting, attempt: int, topic: str | None) -> None:
    consumed = batch(parked(5, 999.0, attempt=attempt) if attempt else ("t", 3, b"k", b"v", [("h", b"1")]))
    one = at.admit(consumed).with_columns(values=Values(["changed"]))
    failure = Failure(Stage.TRANSFORMATION, "Op", DataError("bad"), one[0], one, "Op")
    assert at.topics.park(failure) is (topic is not None)
    if topic is not None:
        ((to, letter, partition),) = at.written
        own, place = ParkedHeaders.split(letter.headers)
        assert (to, partition, letter.key, letter.value, own) == (topic, 1, b"k", b"v", [("h", b"1")])
        assert (place.topic, place.partition, place.attempt) == ("t", 3, attempt + 1)
        assert place.due == (1000 + (5 if topic == "retry-5s" else 60)) * 1000


@pytest.mark.promise("P8")
def test_secrets_that_an_error_quotes_are_not_written(at: Setting) -> None:
    redactor.remember(["hunter-of-tests"])
    one = at.admit(batch(PLAIN))
    try:
        raise DataError("no answer of https://me:hunter-of-tests@host/")
    except DataError as error:
        failure = Failure(Stage.TRANSFORMATION, "Op", error, one[0], one, "Op")
    at.topics.park(failure)
    writes: Any = at
    DeadLetterQueue(
        DeadLetterSettings("dead", 1, 1, context=True),
        "sink",
        0,
        writes,
        at.counts,
        lambda _: pytest.fail("it has bytes"),
    ).write(failure)
    said = [str(value) for _, letter, _ in at.written for _, value in letter.headers]
    assert sum("no answer of https://me:" in each for each in said) == 3
    assert not any("hunter-of-tests" in each for each in said)


def test_what_nobody_parked_is_named(at: Setting) -> None:
    with pytest.raises(ConnectError, match="retry-5s-0@0"):
        at.admit(batch(("retry-5s", 0, b"k", b"v", [])))


def test_reading_begins_where_it_was_committed_and_nothing_parked_is_left_out(at: Setting) -> None:
    other = TopicPartition("retry-1m", 0)
    at.listener.known = {T0: 9}
    assert at.it.assigned([T0, R0, other]) == {T0: 9, R0: 3, other: -2}


def test_followers_in_the_batch_wait_and_commits_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Setting(monkeypatch, keep_order=True)
    out = at.admit(batch(PLAIN, ("t", 0, b"other", b"2", []), PLAIN))
    first = out.slice(0, 1)
    at.topics.park(Failure(Stage.TRANSFORMATION, "Op", DataError("bad"), first[0], first, "Op"))
    left = at.topics.hold_back(out.slice(1, 3))
    assert list(left.values) == [b"2"]
    assert [ParkedHeaders.split(letter.headers)[1].offset for _, letter, _ in at.written] == [0, 2]
    assert at.counts.parked == 1
    at.it.poll(0)
    assert at.topics.in_order({T0: 3, R0: 2}, {T0: 3, R0: 1}, {}) == {}
    assert at.topics.in_order({T0: 3, R0: 2}, {T0: 1, R0: 2}, {}) == {T0: 1, R0: 2}
    assert at.topics.in_order({T0: 3, R0: 2}, {T0: 1}, {R0: 2}) == {T0: 1}


def test_only_what_is_done_in_retry_topics_is_deleted(at: Setting) -> None:
    at.it.commit({T0: 5, R0: 2})
    assert at.consumer.commits == [{T0: 5, R0: 2}]
    assert at.purged == [{R0: 2}]


def test_a_record_that_was_let_through_is_done_with_when_the_next_batch_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Setting(monkeypatch, keep_order=True)
    failed = at.admit(batch(PLAIN))
    at.topics.park(Failure(Stage.TRANSFORMATION, "Op", DataError("bad"), failed[0], failed, "Op"))
    ((_, letter, _),) = at.written
    again = batch(("retry-5s", 0, letter.key, letter.value, letter.headers))
    at.clock.now += 5
    assert list(at.admit(again).values) == [b"plain"]
    assert len(at.admit(again)) == 0
