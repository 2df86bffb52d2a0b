"""Waiting in tests."""

import itertools

import pytest

from tests.support import waiting
from tests.support.waiting import until


class Clock:
    """Stands still but for pauses, which it notes, and for what takes time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(waiting, "time", made)
    return made


def test_what_comes_to_hold_is_the_answer():
    steps = iter([0, None, "", 7])
    assert until(lambda: next(steps), 60) == 7


def test_what_does_not_is_an_error_that_tells_how_things_stand():
    with pytest.raises(AssertionError, match=r"not within 0\.01 s: 3 of 5"):
        until(lambda: False, 0.01, lambda: "3 of 5")


def test_while_it_goes_on_the_time_begins_anew():
    asked = itertools.count()
    assert until(lambda: next(asked) >= 20, 0.05, every=0.01, progress=lambda: next(asked))
    with pytest.raises(AssertionError, match="stands still"):
        until(lambda: False, 0.05, "stands still", progress=lambda: 1)


def test_what_is_slow_to_answer_is_asked_less_often_the_longer_it_is_waited_for(clock: Clock) -> None:
    def answer() -> bool:
        clock.now += 0.02
        return clock.now > 30

    until(answer, 60)
    assert clock.pauses[0] == 0.01
    assert clock.pauses[-1] == 0.25
    assert clock.pauses == sorted(clock.pauses)
    assert clock.now < 30.5


def test_what_answers_at_once_is_asked_as_often_as_ever(clock: Clock) -> None:
    until(lambda: clock.now > 30, 60, every=0.05)
    assert set(clock.pauses) == {0.05}
