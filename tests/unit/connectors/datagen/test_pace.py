"""As many records as are due, not more."""

import pytest

from connectors.datagen.pace import Pauses, Steady


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_rate_is_kept_however_often_one_asks() -> None:
    clock = Clock()
    pace, given = Steady(1000, clock), 0
    for step in (0.0, 0.0105, 0.5, 0.0001, 0.4894):
        clock.now += step
        given += pace.due(10_000)[0]
    assert given == pytest.approx(1000, abs=2)


def test_a_slow_rate_says_how_long_to_wait() -> None:
    clock = Clock()
    pace = Steady(0.25, clock)
    assert pace.due(10) == (1, 0.0)
    clock.now += 1
    assert pace.due(10) == (0, 3.0)
    clock.now += 3
    assert pace.due(10) == (1, 0.0)


def test_what_was_missed_long_ago_is_not_caught_up_on() -> None:
    clock = Clock()
    pace = Steady(100, clock)
    clock.now += 3600
    assert pace.due(10_000)[0] == pytest.approx(100, abs=2)


def test_pauses_are_half_the_longest_on_average() -> None:
    clock = Clock()
    pace, given = Pauses(0.01, clock), 0
    for _ in range(1000):
        clock.now += 0.01
        given += pace.due(1000)[0]
    assert given == pytest.approx(2000, rel=0.15)
