"""What loops tell a watchdog: the work that waits, whether something moved, and what cannot be stored."""

from collections.abc import Callable
from typing import Any

import pytest

from connect.data.batch import SinkBatch
from connect.errors import RetriableError

from .fakes import T0, rows
from .source_setting import Setting as Source
from .test_sink_loop import Setting as Sink


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Sink:
    return Sink(monkeypatch)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    return Source(monkeypatch)


def quiet(sink: Sink, waiting: int, seen: list[str]) -> Callable[[], SinkBatch | None]:
    """A poll that brings nothing; so many records wait by then, and a second later the loop says what it does."""

    def poll() -> None:
        sink.consumer.waiting = waiting
        sink.report.tell()
        seen.append(sink.loop.waiting())

    return poll


def test_only_records_that_came_since_wait_for_a_sink(sink: Sink) -> None:
    """The last offsets of a partition may be marks of transactions: whoever has read all is behind by those."""
    seen: list[str] = []

    def gives() -> SinkBatch:
        sink.consumer.assign(T0)
        return sink.consumer.gives(rows(0, 3))

    moved: list[object] = []
    sink.run(
        gives,
        lambda: moved.append(sink.loop.moved()),
        quiet(sink, 1, seen),
        quiet(sink, 1, seen),
        quiet(sink, 5, seen),
    )
    assert seen == ["", "", "5 records wait"]
    assert moved == [3]


def test_records_that_put_does_not_take_wait(sink: Sink) -> None:
    seen: list[str] = []

    def refuse(batch: SinkBatch) -> None:
        if len(batch) and not seen:
            raise RetriableError("the target is away")

    def gives() -> SinkBatch:
        sink.consumer.assign(T0)
        return sink.consumer.gives(rows(0, 3))

    sink.task.on_put = refuse
    sink.run(gives, quiet(sink, 0, seen))
    assert seen == ["put refuses the 3 records that it got: the target is away"]


def test_a_sink_that_paused_its_partitions_has_work(sink: Sink) -> None:
    seen: list[str] = []

    def pauses() -> None:
        sink.consumer.assign(T0)
        sink.loop.partitions.pause([T0])

    sink.run(pauses, quiet(sink, 4, seen))
    assert seen == ["4 records wait and the task has paused their partitions"]


@pytest.mark.parametrize("refused", [1, 3])
def test_commits_that_fail_are_told_from_the_first_on(sink: Sink, refused: int) -> None:
    failing: list[Any] = []

    def gives(first: int) -> Callable[[], SinkBatch]:
        def poll() -> SinkBatch:
            if not first:
                sink.consumer.assign(T0)
            sink.clock.now += 61
            failing.append(sink.loop.failing())
            return sink.consumer.gives(rows(first, 1))

        return poll

    sink.consumer.refuse_commits = refused
    began = sink.clock.now
    sink.run(*(gives(number) for number in range(5)))
    told = [one for one in failing if one is not None]
    assert len(told) == refused
    assert {moment for moment, _ in told} == {began + 61}
    assert all("the coordinator moved" in why for _, why in told)
    assert failing[-1] is None


def test_a_source_that_cannot_be_read_has_work_until_it_can(source: Source) -> None:
    seen: list[str] = []

    def refuses() -> None:
        seen.append(source.loop.waiting())
        raise RetriableError("the database is away")

    def brings_nothing() -> None:
        seen.append(source.loop.waiting())

    source.run(refuses, refuses, brings_nothing, brings_nothing)
    assert seen == ["", *["the source cannot be read: the database is away"] * 2, ""]


def test_records_wait_until_the_broker_has_them_all(source: Source) -> None:
    seen: list[tuple[str, object]] = []

    def look() -> None:
        seen.append((source.loop.waiting(), source.loop.moved()))

    def under_way(count: int) -> Callable[[], None]:
        def poll() -> None:
            source.producer.deliveries.rows = count
            source.producer.sent_rows[:] = [None] * 5
            look()

        return poll

    source.task.script.extend([under_way(5), under_way(2), under_way(0)])
    source.loop.run(lambda _: None)
    assert [waiting for waiting, _ in seen] == [
        "5 records are not acknowledged, as far as the task has looked",
        "2 records are not acknowledged, as far as the task has looked",
        "",
    ]
    assert [moved for _, moved in seen] == [0, 3, 5]


def test_a_consumer_that_waits_is_told_from_a_task_that_opens_partitions(sink: Sink) -> None:
    seen: list[str] = []

    def look() -> None:
        seen.append(sink.control.activity[0])
        sink.consumer.assign(T0)

    sink.task.known = None
    opened = sink.task.open
    sink.task.open = lambda partitions: (seen.append(sink.control.activity[0]), opened(partitions))[1]  # type: ignore[method-assign,func-returns-value]
    sink.run(look)
    assert seen == ["poll", ""]
