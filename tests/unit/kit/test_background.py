from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connect.kit import BackgroundWriter
from tests.support.waiting import PATIENCE_S, until

Make = Callable[..., BackgroundWriter[str]]


class Target:
    """What is written to: it notes writes, holds them while `open` is not set, and fails for jobs in `bad`."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.bad: set[str] = set()
        self.begun: list[list[str]] = []
        self.written: list[str] = []

    def write(self, jobs: list[str]) -> None:
        self.begun.append(jobs)
        assert self.open.wait(PATIENCE_S)
        if wrong := self.bad.intersection(jobs):
            raise ValueError(f"no {', '.join(sorted(wrong))}")
        self.written += jobs


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def make(target: Target) -> Iterator[Make]:
    writers = []

    def start(**options: Any) -> BackgroundWriter[str]:
        writers.append(BackgroundWriter("w", target.write, **options))
        return writers[-1]

    yield start
    target.open.set()
    for writer in writers:
        writer.end(PATIENCE_S)
        assert not any(thread.is_alive() for thread in writer._threads)


def hold(target: Target, writer: BackgroundWriter[str], job: str, **options: Any) -> None:
    """Have a job written that is not through before `target.open`."""
    target.open.clear()
    writer.add(job, **options)
    until(lambda: [job] in target.begun)


def test_jobs_are_written_in_order(target: Target, make: Make) -> None:
    writer = make(threads=3)
    for number in range(50):
        writer.add(str(number))
    assert writer.settle(PATIENCE_S)
    assert target.written == [str(number) for number in range(50)]
    assert writer.withdraw() == []


def test_nothing_is_begun_before_there_is_work(make: Make) -> None:
    writer = make(threads=3)
    assert writer.settle(0)
    assert writer._threads == []


def test_what_waits_is_written_together(target: Target, make: Make) -> None:
    writer = make(together=3)
    hold(target, writer, "a")
    for job in "bcde":
        writer.add(job)
    target.open.set()
    assert writer.settle(PATIENCE_S)
    assert target.begun == [["a"], ["b", "c", "d"], ["e"]]


def test_lanes_are_written_beside_each_other_each_in_order(target: Target, make: Make) -> None:
    writer = make(threads=2)
    hold(target, writer, "a1", lane="a")
    writer.add("a2", lane="a")
    writer.add("b1", lane="b")
    until(lambda: ["b1"] in target.begun)
    assert ["a2"] not in target.begun
    target.open.set()
    assert writer.settle(PATIENCE_S)
    assert target.written.index("a1") < target.written.index("a2")


def test_a_lane_whose_write_fails_stands_still_until_it_is_tried_again(target: Target, make: Make) -> None:
    failed: list[Any] = []
    writer = make(threads=2, failed=lambda *told: failed.append(told))
    target.bad = {"a1"}
    for lane in "ab":
        for number in "123":
            writer.add(lane + number, lane=lane)
    assert writer.settle(PATIENCE_S)
    assert target.written == ["b1", "b2", "b3"]
    assert str(writer.error) == "no a1"
    until(lambda: failed == [("a", ["a1"], writer.error)])
    target.bad = set()
    writer.retry()
    assert writer.settle(PATIENCE_S)
    assert target.written[3:] == ["a1", "a2", "a3"]
    assert writer.error is None


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(1)])
def test_a_write_that_is_cancelled_has_failed(make: Make, target: Target, error: BaseException) -> None:
    errors = [error]

    def write(jobs: list[str]) -> None:
        if errors:
            raise errors.pop()
        target.written += jobs

    writer = make()
    writer._write = write
    writer.add("a")
    assert writer.settle(PATIENCE_S)
    assert type(error).__name__ in str(writer.error)
    writer.retry()
    assert writer.settle(PATIENCE_S)
    assert target.written == ["a"]


def test_what_is_called_after_a_failed_write_may_fail_too(make: Make, target: Target) -> None:
    def fail(*_: object) -> None:
        raise ValueError("nobody listens")

    writer = make(failed=fail)
    target.bad = {"a"}
    writer.add("a")
    assert writer.settle(PATIENCE_S)
    target.bad = set()
    writer.retry()
    assert writer.settle(PATIENCE_S)
    assert target.written == ["a"]


def test_what_failed_and_what_waits_behind_it_can_be_taken_back(target: Target, make: Make) -> None:
    writer = make(together=2)
    target.bad = {"b"}
    hold(target, writer, "a")
    for job in "bcd":
        writer.add(job)
    target.open.set()
    assert writer.settle(PATIENCE_S)
    assert str(writer.error) == "no b"
    assert writer.withdraw() == ["b", "c", "d"]
    assert writer.error is None
    writer.add("e")
    assert writer.settle(PATIENCE_S)
    assert target.written == ["a", "e"]


def test_what_is_being_written_is_not_taken_back_unless_it_fails(target: Target, make: Make) -> None:
    writer = make()
    target.bad = {"a"}
    hold(target, writer, "a")
    writer.add("b")
    assert writer.withdraw() == ["b"]
    target.open.set()
    assert writer.settle(PATIENCE_S)
    assert writer.withdraw() == ["a"]


def test_some_can_be_taken_back_and_the_rest_goes_on(target: Target, make: Make) -> None:
    writer = make()
    target.bad = {"a1"}
    for job in ("a1", "b1", "a2", "b2"):
        writer.add(job)
    assert writer.settle(PATIENCE_S)
    assert writer.withdraw(lambda job: job.startswith("a")) == ["a1", "a2"]
    assert writer.settle(PATIENCE_S)
    assert target.written == ["b1", "b2"]


def test_what_is_dropped_while_it_is_written_is_not_kept_when_it_fails(target: Target, make: Make) -> None:
    failed: list[Any] = []
    writer = make(failed=lambda *told: failed.append(told))
    target.bad = {"a1"}
    hold(target, writer, "a1")
    for job in ("a2", "b1"):
        writer.add(job)
    assert writer.drop(lambda job: job.startswith("a")) == ["a2"]
    target.open.set()
    assert writer.settle(PATIENCE_S)
    assert (target.written, writer.error, failed) == (["b1"], None, [])


def test_there_is_room_while_less_than_the_limit_waits(target: Target, make: Make) -> None:
    writer = make(limit=10)
    hold(target, writer, "a", size=100)
    assert writer.room(0), "what is being written does not count"
    writer.add("b", 9)
    assert writer.room(0)
    writer.add("c", 1)
    assert not writer.room(0)
    waits = threading.Timer(0.05, target.open.set)
    waits.start()
    assert writer.room(PATIENCE_S)
    assert writer.settle(PATIENCE_S)
    waits.join()


def test_there_is_no_room_when_something_stands_still(target: Target, make: Make) -> None:
    writer = make(limit=1)
    target.bad = {"a"}
    hold(target, writer, "a")
    writer.add("b")
    waits = threading.Timer(0.05, target.open.set)
    waits.start()
    assert not writer.room()
    writer.withdraw()
    assert writer.room(0)
    waits.join()


def test_with_many_lanes_not_all_are_looked_at(target: Target, make: Make) -> None:
    """A lane for each job is what has no order: tens of thousands may wait."""

    class Lanes(dict[Any, Any]):
        def values(self) -> Any:
            raise AssertionError("all lanes are looked at")

    writer = make(limit=100)
    writer._lanes = Lanes()
    target.bad = {"50"}
    target.open.clear()
    for number in range(100):
        assert writer.room(0)
        writer.add(str(number), lane=number)
    target.open.set()
    assert writer.settle(PATIENCE_S)
    assert isinstance(writer.error, ValueError)
    target.bad = set()
    writer.retry()
    assert writer.settle(PATIENCE_S)
    assert (writer.error, sorted(target.written, key=int)) == (None, [*map(str, range(100))])


def test_settling_says_when_it_takes_too_long(target: Target, make: Make) -> None:
    writer = make()
    hold(target, writer, "a")
    assert not writer.settle(0.01)


def test_the_end_waits_for_what_is_being_written_and_leaves_the_rest(target: Target, make: Make) -> None:
    writer = make()
    hold(target, writer, "a")
    writer.add("b")
    writer.end(0)
    target.open.set()
    writer.end(PATIENCE_S)
    assert target.written == ["a"]
    assert writer.withdraw() == ["b"]


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_each_job_is_written_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    written: dict[int, list[int]] = {lane: [] for lane in range(5)}

    def write(jobs: list[tuple[int, int]]) -> None:
        if chance.random() < 0.3:
            raise OSError("not now")
        for lane, number in jobs:
            written[lane].append(number)

    writer: BackgroundWriter[tuple[int, int]] = BackgroundWriter("w", write, threads=3, together=4, limit=20)
    counts = dict.fromkeys(written, 0)
    for _ in range(500):
        lane = chance.randrange(5)
        while not writer.room(PATIENCE_S):
            writer.retry()
        writer.add((lane, counts[lane]), lane=lane)
        counts[lane] += 1
        if chance.random() < 0.05:
            taken = writer.withdraw(lambda job, lane=lane: job[0] == lane)  # type: ignore[misc]
            for job in taken:
                writer.add(job, lane=lane)
    while writer.settle(PATIENCE_S) and writer.error is not None:
        writer.retry()
    writer.end(PATIENCE_S)
    assert written == {lane: list(range(count)) for lane, count in counts.items()}
