from __future__ import annotations

import time

import pytest

from connect import ConnectError, RetriableError
from connect.kit import RetryBudget, backoff


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def test_retries_are_counted_and_given_up() -> None:
    retries = RetryBudget(2, 0.1, waits_for="shop")
    errors = [retries.failed("It is away.") for _ in range(3)]
    assert [str(error) for error in errors] == [
        "It is away. (Retry 1 of 2.)",
        "It is away. (Retry 2 of 2.)",
        "It is away. Given up after 2 retries (max.retries).",
    ]
    assert [isinstance(error, RetriableError) for error in errors] == [True, True, False]
    assert isinstance(errors[0], RetriableError)
    assert errors[0].waits_for == "shop"


def test_what_works_begins_anew() -> None:
    retries = RetryBudget(1, 0.1)
    for _ in range(3):
        assert isinstance(retries.failed("It is away."), RetriableError)
        retries.worked()
        assert retries.pending, "another piece of work may have succeeded"


def test_without_retries_the_first_failure_gives_up() -> None:
    error = RetryBudget(0, 0.1, key="query.retry.attempts").failed("It is away.")
    assert not isinstance(error, RetriableError)
    assert "Given up after 0 retries (query.retry.attempts)." in str(error)


def test_without_a_limit_nothing_is_given_up() -> None:
    retries = RetryBudget(-1, 0.1)
    assert [str(retries.failed("Away.")) for _ in range(99)][-1] == "Away. (Retry 99.)"


def test_time_may_be_the_limit(clock: Clock) -> None:
    retries = RetryBudget(-1, 1.0, within=10.0, key="read.retry.timeout.ms")
    assert isinstance(retries.failed("Away."), RetriableError)
    clock.now += 10.0
    assert isinstance(retries.failed("Away."), RetriableError)
    clock.now += 0.1
    assert str(retries.failed("Away.")) == "Away. Given up after 10 s (read.retry.timeout.ms)."
    retries.worked()
    assert isinstance(retries.failed("Away."), RetriableError)


def test_the_runtime_is_told_how_long_to_wait(clock: Clock) -> None:
    told: list[int] = []
    retries = RetryBudget(9, 0.25, timeout=told.append)
    retries.failed("Away.")
    retries.failed("Away.")
    assert told == [250, 250]
    retries.failed("Away.", at_once=True)
    assert told[-1] == 1


def test_the_failure_is_told_again_until_its_retry_begins(clock: Clock) -> None:
    told: list[int] = []
    retries = RetryBudget(9, 4.0, timeout=told.append)
    retries.check()
    retries.failed("Away.")
    clock.now += 1.0
    with pytest.raises(RetriableError, match=r"^Away\. \(Retry 1 of 9\.\)$"):
        retries.check()
    assert told == [4000, 3000]
    assert retries.pending
    clock.now = retries.due
    retries.check()
    assert not retries.pending


def test_pauses_double_up_to_the_longest() -> None:
    for tries, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (10_000, 5.0)):
        assert all(longest / 2 <= backoff(1.0, 5.0, tries) <= longest for _ in range(50))


def test_pauses_have_chance_in_them(clock: Clock) -> None:
    retries = RetryBudget(-1, 1.0, longest=8.0)
    assert isinstance(retries.failed("Away."), ConnectError)
    dues = []
    for _ in range(20):
        retries.failed("Away.")
        dues.append(retries.due - clock.now)
    assert len(set(dues[5:])) > 1
    assert all(4.0 <= due <= 8.0 for due in dues[5:])
