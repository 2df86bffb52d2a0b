"""Rates, averages and extremes over the last samples."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.telemetry.metrics import Buckets, Histogram
from connect.telemetry.windows import Growth, Span, Window


def test_nothing_measured_is_no_rate_and_no_number(clock) -> None:
    window = Window(Span(30, 2), clock)
    assert window.rate == window.total == 0
    assert all(math.isnan(one) for one in (window.average, window.smallest, window.largest))


def test_a_steady_rate_is_seen_as_it_is(clock) -> None:
    window = Window(Span(30, 2), clock)
    for _ in range(300):
        window.record(50)
        clock.now += 1
    assert window.rate == pytest.approx(50, rel=0.05)


def test_a_first_burst_is_over_the_time_of_the_missing_samples(clock) -> None:
    window = Window(Span(30, 2), clock)
    window.record(600)
    assert window.rate == 20  # as Kafka's: over one whole sample at least


def test_what_is_older_than_the_samples_is_forgotten(clock) -> None:
    window = Window(Span(30, 2), clock)
    window.record(5)
    clock.now += 59
    assert (window.largest, window.average) == (5, 5)
    clock.now += 2
    assert math.isnan(window.largest)
    assert window.rate == 0


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=40))
def test_a_distribution_told_in_parts_is_that_of_all(values: list[float]) -> None:
    histogram, growth = Histogram((1, 10)), Growth(Span(30, 2), lambda: 1000.0)
    for number, value in enumerate(values):
        histogram.observe(value)
        if number % 3 == 0:
            growth.take(histogram.take())
    growth.take(histogram.take())
    window = growth.window
    assert window.average == pytest.approx(sum(values) / len(values))
    assert (window.smallest, window.largest) == (min(values), max(values))


def test_a_total_that_starts_anew_counts_from_nothing(clock) -> None:
    growth = Growth(Span(30, 2), clock)
    growth.take(Buckets((1,), (4, 0), 2.0, 0.5, 0.5))
    growth.take(Buckets((1,), (1, 0), 0.25, 0.25, 0.25))
    assert growth.window.total == 2.25
