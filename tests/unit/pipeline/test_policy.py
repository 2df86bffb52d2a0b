import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from connect.data.record import SinkRecord
from connect.errors import ConfigError, DataError, RetriableError
from connect.pipeline import ErrorPolicy, Failure, RecordError, Stage, policy

RECORD = SinkRecord("t", "the value", key="the key", partition=1, offset=5)


class Clock:
    """Time that passes only in pauses, and `spent` more with every look at it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    stand_in = SimpleNamespace(monotonic=lambda: clock.now, time=lambda: clock.now)
    monkeypatch.setattr(policy, "time", stand_in)
    return clock


def attempt(errors: ErrorPolicy, run: Callable[[], Any], failed: Exception | None = None) -> Any:
    def give_up(error: Exception) -> None:
        errors.reject(Failure(Stage.TRANSFORMATION, "Op", error, RECORD))

    return errors.attempt(run, failed or RetriableError("busy"), give_up)


def busy() -> Any:
    raise RetriableError("busy")


def test_without_a_retry_timeout_nothing_is_tried_again(clock: Clock) -> None:
    calls: list[int] = []
    errors = ErrorPolicy(tolerate=True, pause=clock.pause)
    assert attempt(errors, lambda: calls.append(1)) is None
    assert calls == []
    assert clock.waits == []
    assert (errors.counts.errors, errors.counts.retries, errors.counts.skipped) == (1, 0, 1)


def test_retries_pause_twice_as_long_each_time_and_end_with_the_timeout(clock: Clock) -> None:
    errors = ErrorPolicy(retry_timeout_ms=5000, tolerate=True, pause=clock.pause)
    assert attempt(errors, busy) is None
    assert clock.waits == pytest.approx([0.3, 0.6, 1.2, 2.4, 0.5])  # the last one up to the deadline
    assert clock.now == pytest.approx(1005)
    assert errors.counts.retries == 5
    assert errors.counts.failures == 6  # as Kafka's: each try
    assert (errors.counts.errors, errors.counts.skipped) == (1, 1)  # each record that is given up


def test_an_operation_that_takes_longer_than_the_timeout_is_not_tried_again(clock: Clock) -> None:
    def slow() -> None:
        clock.now += 10
        busy()

    attempt(ErrorPolicy(retry_timeout_ms=5000, tolerate=True, pause=clock.pause), slow)
    assert clock.waits == [0.3]


def test_no_pause_is_longer_than_the_cap_not_even_the_first(clock: Clock) -> None:
    attempt(
        ErrorPolicy(retry_timeout_ms=60_000, retry_delay_max_ms=100, tolerate=True, pause=clock.pause),
        busy,
    )
    assert max(clock.waits) <= 0.1
    assert min(clock.waits[:-1]) >= 0.05
    assert len(set(clock.waits)) > 1  # jitter


def test_without_end_means_until_it_works(clock: Clock) -> None:
    left = [1] * 100

    def run() -> str:
        if left:
            left.pop()
            busy()
        return "done"

    errors = ErrorPolicy(retry_timeout_ms=-1, pause=clock.pause)
    assert attempt(errors, run) == "done"
    assert len(clock.waits) == 101
    assert errors.counts.failures == 101
    assert errors.counts.errors == errors.counts.skipped == 0


def test_only_a_retriable_error_is_tried_again(clock: Clock) -> None:
    errors = ErrorPolicy(retry_timeout_ms=-1, tolerate=True, pause=clock.pause)

    def run() -> None:
        raise DataError("broken")

    assert attempt(errors, run) is None
    assert clock.waits == [0.3]
    assert attempt(errors, run, DataError("broken")) is None
    assert clock.waits == [0.3]


def test_without_tolerance_a_record_fails_the_task(clock: Clock) -> None:
    errors = ErrorPolicy(pause=clock.pause)
    with pytest.raises(RecordError, match="record t-1@5: transformation Op failed: DataError: broken") as raised:
        attempt(errors, busy, DataError("broken"))
    assert "the value" not in str(raised.value)
    assert (errors.counts.errors, errors.counts.skipped) == (1, 0)
    assert errors.counts.last_error_ms == 1_000_000


def test_no_record_is_skipped_for_what_is_wrong_with_the_configuration(clock: Clock) -> None:
    parked: list[Failure] = []
    letters: list[Failure] = []
    errors = ErrorPolicy(tolerate=True, pause=clock.pause)
    errors.park = lambda failure: bool(parked.append(failure)) or True
    errors.dead_letter = letters.append
    with pytest.raises(RecordError, match="refuses the login.*no record is skipped"):
        attempt(errors, busy, ConfigError("basic.auth.user.info", "the registry refuses the login."))
    assert (parked, letters, errors.counts.skipped, errors.counts.errors) == ([], [], 0, 1)


@pytest.mark.parametrize("messages", [False, True])
def test_the_log_shows_a_record_only_when_asked_to(
    clock: Clock, caplog: pytest.LogCaptureFixture, messages: bool
) -> None:
    errors = ErrorPolicy(tolerate=True, log_errors=True, log_messages=messages, pause=clock.pause)
    with caplog.at_level(logging.ERROR, "connect.pipeline"):
        attempt(errors, busy, DataError("broken"))
    (line,) = caplog.messages
    assert "record t-1@5" in line
    assert ("the value" in line, "the key" in line) == (messages, messages)
    assert errors.counts.logged == 1


def test_nothing_is_logged_unless_asked_for(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    attempt(ErrorPolicy(tolerate=True, pause=clock.pause), busy, DataError("broken"))
    assert caplog.messages == []


def test_the_keys_of_a_connector_make_the_policy() -> None:
    config = {
        "errors.retry.timeout": "-1",
        "errors.retry.delay.max.ms": "5",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
        "errors.log.include.messages": "true",
    }
    made = ErrorPolicy.from_config(config, pause=lambda seconds: None)
    assert (made.retry_timeout_ms, made.retry_delay_max_ms) == (-1, 5)
    assert made.tolerate
    assert made.log_errors
    assert made.log_messages
    assert not ErrorPolicy.from_config({}, pause=lambda seconds: None).tolerate
    with pytest.raises(ConfigError, match=r'key "errors.tolerance"'):
        ErrorPolicy.from_config({"errors.tolerance": "most"}, pause=lambda seconds: None)
