"""How much CPU a task takes."""

import pytest

from connect.herder.measures import CpuShare


def share(*told: tuple[float, float]) -> float | None:
    made = CpuShare()
    for moment, cpu in told:
        made.take(moment, cpu)
    return made.cores


def test_one_figure_is_no_measurement_and_neither_are_the_first_seconds() -> None:
    assert share() is None
    assert share((1000, 3)) is None
    assert share((1000, 3), (1020, 23)) is None


def test_what_was_used_before_the_first_figure_does_not_count() -> None:
    assert share((1000, 50), (1060, 80)) == pytest.approx(0.5)


def test_it_is_the_same_however_often_it_is_told() -> None:
    seldom = share((0, 0), (60, 30), (360, 330))
    often = share((0, 0), (60, 30), *((60 + n, 30 + n) for n in range(1, 301)))
    assert seldom == pytest.approx(often)


def test_a_burst_fades_within_minutes() -> None:
    made = CpuShare()
    made.take(0, 0)
    made.take(60, 60)
    assert made.cores == pytest.approx(1.0)
    made.take(120, 60)
    assert made.cores == pytest.approx(0.82, abs=0.01)
    made.take(960, 60)
    assert made.cores == pytest.approx(0.05, abs=0.01)


def test_figures_that_go_back_are_passed_over() -> None:
    assert share((0, 10), (60, 40), (60, 40), (120, 5), (50, 41)) == pytest.approx(0.5)
