"""Outages: one line when one begins, a count in growing intervals, one line when it is over."""

import logging
import threading
from collections.abc import Callable

import pytest

from connect.telemetry.outages import Outages, Waiter

Lines = Callable[[], list[str]]


class Clock:
    """Seconds since 1970, as the test says."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outages(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Outages:
    """Without the thread that looks at the clock by itself: tests say when."""
    monkeypatch.setattr(Outages, "_run", lambda self: None)
    return Outages(clock)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """What was logged of outages since the last call."""
    caplog.set_level(logging.INFO, logger="connect.outages")

    def take() -> list[str]:
        thread = threading.get_ident()  # what other tests left waiting has a thread that speaks of it
        ours = [record for record in caplog.records if (record.name, record.thread) == ("connect.outages", thread)]
        found = [f"{record.levelname} {record.getMessage()}" for record in ours]
        caplog.clear()
        return found

    return take


def pass_time(outages: Outages, clock: Clock, seconds: int) -> None:
    for _ in range(seconds):
        clock.now += 1
        outages.tell_due()


def test_many_that_wait_for_the_same_are_one_outage(outages: Outages, clock: Clock, lines: Lines) -> None:
    waiters = [Waiter(f"sink-{number}", f"sink-{number}", outages) for number in range(8)]
    for port, waiter in enumerate(waiters, 5430):
        waiter.waits(f"The database is away (connection from {port} refused).")
    why = "The database is away (connection from 5430 refused)."
    assert lines() == [f"WARNING {why} Trying again; nothing is lost."]
    pass_time(outages, clock, 29)
    assert lines() == []
    pass_time(outages, clock, 1)
    who = "8 wait: sink-0, sink-1, sink-2, sink-3, sink-4 and 3 more."
    assert lines() == [f"WARNING For 30 s now: {why} {who}"]
    for waiter in waiters:
        waiter.goes_on()
    pass_time(outages, clock, 6)
    assert lines() == [f"INFO Over after 30 s: {why}"]
    assert not outages.tell_due()


def test_the_longer_it_lasts_the_less_is_said(outages: Outages, clock: Clock, lines: Lines) -> None:
    waiter = Waiter("a-0", "a-0", outages)
    told = []
    for second in range(24 * 3600):
        clock.now += 1
        waiter.waits("No broker answers.")
        outages.tell_due()
        told += [second] * len(lines())
    assert told[:4] == [0, 30, 90, 210]
    assert len(told) < 35


def test_what_comes_back_at_once_was_never_over(outages: Outages, clock: Clock, lines: Lines) -> None:
    waiter = Waiter("a-0", "a-0", outages)
    for _ in range(20):
        waiter.waits("Too many requests.")
        pass_time(outages, clock, 1)
        waiter.goes_on()
        pass_time(outages, clock, 2)
    said = lines()
    assert len(said) == 2, said
    pass_time(outages, clock, 5)
    assert lines() == ["INFO Over after 58 s: Too many requests."]


def test_different_things_are_different_outages(outages: Outages, clock: Clock, lines: Lines) -> None:
    one, other = Waiter("a-0", "a-0", outages), Waiter("b-0", "b-0", outages)
    one.waits("The database is away.")
    clock.now += 3
    other.waits("The store is away.")
    assert len(lines()) == 2
    first = outages.longest()
    assert first is not None
    assert first.why == "The database is away."
    one.goes_on()
    assert outages.longest() == other.wait
    pass_time(outages, clock, 6)
    assert lines() == ["INFO Over after 3 s: The database is away."]


def test_another_trouble_on_the_way_is_told_and_the_first_is_not_over(
    outages: Outages, clock: Clock, lines: Lines
) -> None:
    waiter = Waiter("a-0", "a-0", outages)
    began = clock.now
    waiter.waits("The database is away.")
    pass_time(outages, clock, 10)
    waiter.waits("The database starts.")
    assert waiter.wait is not None
    assert waiter.wait.since == began
    waiter.goes_on()
    pass_time(outages, clock, 6)
    assert [line.partition(" ")[0] for line in lines()] == ["WARNING", "WARNING", "INFO"]


def test_the_end_of_who_waits_is_no_end_of_the_outage(outages: Outages, clock: Clock, lines: Lines) -> None:
    one, other = Waiter("a-0", "a-0", outages), Waiter("b-0", "b-0", outages)
    one.waits("The database is away.")
    other.waits("The database is away.")
    one.leaves()
    pass_time(outages, clock, 6)
    other.leaves()
    pass_time(outages, clock, 60)
    assert lines() == ["WARNING The database is away. Trying again; nothing is lost."]


def test_a_process_whose_worker_tells_says_nothing(outages: Outages, clock: Clock, lines: Lines) -> None:
    outages.leave_telling()
    waiter = Waiter("poll", None, outages)
    waiter.waits("The database is away.")
    pass_time(outages, clock, 100)
    assert outages.longest() == waiter.wait
    waiter.goes_on()
    assert outages.longest() is None
    assert lines() == []


def test_lines_are_about_the_task_while_it_is_the_only_one(
    outages: Outages, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = Waiter("a-0", "a-0", outages), Waiter("b-0", "b-0", outages)
    one.waits("The database is away.")
    other.waits("The database is away.")
    pass_time(outages, clock, 30)
    assert [getattr(record, "about", "worker") for record in caplog.records] == ["a-0", "worker"]


@pytest.mark.parametrize("why", ["It is away. (Retry 1 of 5.)", 'It says "Not now."', "It is away"])
def test_a_sentence_has_one_full_stop(outages: Outages, lines: Lines, why: str) -> None:
    Waiter("a-0", "a-0", outages).waits(why)
    assert lines() == [f"WARNING {why}{'' if '.' in why else '.'} Trying again; nothing is lost."]
