"""Waiting in tests."""

import itertools

import pytest

from tests.support.waiting import until


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
