"""An hour of points of each connector, from the totals of its tasks."""

from __future__ import annotations

import math

import pytest

from connect.herder.last_hour import (
    EVERY_S,
    POINTS,
    SPARKLINE_EVERY_S,
    SPARKLINE_POINTS,
    LastHour,
    Point,
    TaskTotals,
    until_next_look,
)

NAN = math.nan


class Tasks:
    """Totals as they are at a time that goes on by ten seconds."""

    def __init__(self) -> None:
        self.now: dict[tuple[str, int], TaskTotals] = {}
        self.moment = 0.0
        self.hour = LastHour(lambda: self.now, lambda: self.moment, lambda: 1_700_000_000 + self.moment)

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.moment += EVERY_S
            self.hour.look()


def totals(
    records: float, errors: float = 0.0, *, lag: float = NAN, put: float = NAN, age: float = NAN, process: int = 1
) -> TaskTotals:
    return TaskTotals(process, records, errors, lag, put, age)


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


def test_tasks_are_added_up_and_the_slowest_counts(tasks: Tasks) -> None:
    tasks.now = {
        ("a", 0): totals(100, lag=5, put=0.1, age=2),
        ("a", 1): totals(50, 10, lag=7, put=0.3, age=1),
        ("b", 0): totals(0),
    }
    tasks.look()
    (point,) = tasks.hour.of("a")
    assert point == Point(1_700_000_010_000, 15, 1, 12, 0.3, 2, 2)
    (idle,) = tasks.hour.of("b")
    assert (idle.at, idle.records, idle.errors) == (1_700_000_010_000, 0, 0)
    assert all(map(math.isnan, (idle.lag, idle.put_s, idle.age_s)))
    assert tasks.hour.of("c") == []


def test_rates_are_of_the_time_between_two_looks(tasks: Tasks) -> None:
    for records in (100, 100, 400):
        tasks.now = {("a", 0): totals(records)}
        tasks.look()
    assert [point.records for point in tasks.hour.of("a")] == [10, 0, 30]


def test_a_task_that_starts_again_counts_from_zero(tasks: Tasks) -> None:
    tasks.now = {("a", 0): totals(1000)}
    tasks.look()
    tasks.now = {("a", 0): totals(20, process=2)}
    tasks.look()
    tasks.now = {("a", 0): totals(10, process=2)}  # it cannot be, and no rate is below zero
    tasks.look()
    assert [point.records for point in tasks.hour.of("a")] == [100, 2, 0]


def test_there_is_an_hour_and_no_more(tasks: Tasks) -> None:
    for number in range(POINTS + 5):
        tasks.now = {("a", 0): totals(number * 10)}
        tasks.look()
    points = tasks.hour.of("a")
    assert len(points) == POINTS
    assert [point.at for point in points] == sorted(point.at for point in points)
    assert points[-1].at - points[0].at == (POINTS - 1) * EVERY_S * 1000


def test_a_connector_that_is_gone_is_forgotten_after_an_hour(tasks: Tasks) -> None:
    tasks.now = {("a", 0): totals(1)}
    tasks.look()
    tasks.now = {}
    tasks.look(POINTS)
    assert len(tasks.hour.of("a")) == 1
    tasks.look()
    assert tasks.hour.of("a") == []


def test_a_sparkline_has_the_mean_rate_and_the_highest_lag_of_each_interval(tasks: Tasks) -> None:
    looks = round(SPARKLINE_EVERY_S / EVERY_S)
    tasks.moment = -1_700_000_000 % SPARKLINE_EVERY_S  # at the beginning of an interval
    first = (1_700_000_000 + tasks.moment) / SPARKLINE_EVERY_S
    for number in range(2 * looks):
        # In the first interval 10 a second in each second look, in the next always; the lag has a peak in each.
        tasks.now = {("a", 0): totals(100 * (number // 2 if number < looks else number), lag=number % looks)}
        tasks.look()
    line = tasks.hour.sparklines()["a"]
    assert line.newest == first + 1
    assert len(line.records) == len(line.lag) == SPARKLINE_POINTS
    assert list(map(math.isnan, line.records)) == [True] * (SPARKLINE_POINTS - 2) + [False] * 2
    assert line.records[-2:] == pytest.approx((500 / SPARKLINE_EVERY_S, 1800 / SPARKLINE_EVERY_S))
    assert line.lag[-2:] == (looks - 1, looks - 1)


def test_a_sparkline_has_a_gap_where_there_was_no_task(tasks: Tasks) -> None:
    looks = round(SPARKLINE_EVERY_S / EVERY_S)
    tasks.now = {("a", 0): totals(0)}
    tasks.look()
    before = tasks.hour.sparklines()["a"].newest
    tasks.now = {}
    tasks.look(3 * looks - 1)
    tasks.now = {("a", 0): totals(0)}
    tasks.look()
    line = tasks.hour.sparklines()["a"]
    assert line.newest == before + 3
    assert [math.isnan(value) for value in line.records[-4:]] == [False, True, True, False]
    assert all(map(math.isnan, line.lag))
    assert tasks.hour.sparklines().keys() == {"a"}


@pytest.mark.parametrize(("wall", "seconds"), [(100.0, 10.0), (103.0, 7.0), (107.0, 13.0), (109.999, 10.001)])
def test_all_workers_look_at_the_same_moments(wall: float, seconds: float) -> None:
    assert until_next_look(wall) == pytest.approx(seconds)
