"""When something that FAILED is restarted by itself: the policy alone, with a clock of its own."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from connect.errors import ConfigError
from connect.herder.restart_policy import HOPES, History, Hope, RestartPolicy, decide
from connect.pipeline.error_kinds import ErrorKind

HOPELESS = [kind for kind in ErrorKind if HOPES[kind] is Hope.NONE]
PASSING = [kind for kind in ErrorKind if HOPES[kind] is Hope.SOON]

policies = some.builds(
    RestartPolicy,
    on=some.just(True),
    initial_delay=some.floats(0, 100),
    max_delay=some.floats(0.001, 1000),
    multiplier=some.floats(1, 100),
    jitter=some.floats(0, 1),
    max_restarts=some.integers(-1, 20),
    window=some.floats(1, 10_000),
)
histories = some.builds(
    History, some.lists(some.floats(0, 1000)).map(lambda moments: tuple(sorted(moments))), some.integers(0, 10_000)
)
chances = some.floats(0, 1)


def test_every_kind_of_error_has_an_answer() -> None:
    assert HOPES.keys() == set(ErrorKind)


@given(policies, some.sampled_from(HOPELESS), histories, chances)
def test_what_no_restart_can_mend_is_never_restarted(
    policy: RestartPolicy, kind: ErrorKind, history: History, chance: float
) -> None:
    assert decide(policy, kind, history, 1000.0, chance).delay is None


@given(some.sampled_from(list(ErrorKind)), histories, chances)
def test_nothing_is_restarted_where_it_is_off(kind: ErrorKind, history: History, chance: float) -> None:
    assert decide(RestartPolicy(on=False), kind, history, 1000.0, chance).delay is None


@given(policies, some.sampled_from(list(ErrorKind)), histories, chances)
def test_pauses_are_within_their_bounds(
    policy: RestartPolicy, kind: ErrorKind, history: History, chance: float
) -> None:
    delay = decide(policy, kind, history, 1000.0, chance).delay
    if delay is not None:
        low = min(policy.initial_delay, policy.max_delay) * (1 - policy.jitter)
        high = policy.max_delay * (1 + policy.jitter)
        assert low * 0.999 <= delay <= high * 1.001


@given(policies, chances, some.integers(0, 5000))
def test_pauses_grow_up_to_the_longest(policy: RestartPolicy, chance: float, in_a_row: int) -> None:
    calm = RestartPolicy(True, policy.initial_delay, policy.max_delay, policy.multiplier, 0.0, -1, policy.window)

    def pause(failures: int) -> float:
        delay = decide(calm, ErrorKind.CRASH, History((1000.0,), failures), 1000.0, chance).delay
        assert delay is not None
        return delay

    assert pause(in_a_row) <= pause(in_a_row + 1) * (1 + 1e-9) <= calm.max_delay * (1 + 1e-9)


@given(policies, some.lists(some.tuples(some.floats(0, 2000), chances), min_size=1, max_size=60))
def test_no_window_has_more_restarts_than_the_budget(policy: RestartPolicy, runs: list[tuple[float, float]]) -> None:
    """Whatever runs between failures last: restarts in any window of that length are within the budget."""
    now, history, restarts = 0.0, History(), []
    for ran, chance in runs:
        now += ran
        decision = decide(policy, ErrorKind.CRASH, history, now, chance)
        if decision.delay is None:
            history = decision.history  # it stays FAILED; a later failure is what tries the budget again
            continue
        now += decision.delay
        history = decision.history.with_restart(now)
        restarts.append(now)
        if policy.max_restarts >= 0:
            # Counted when the failure was, before the pause: from there the window reaches back.
            failed_at = now - decision.delay
            before = [moment for moment in restarts[:-1] if failed_at - moment < policy.window]
            assert len(before) < policy.max_restarts


@given(policies, some.integers(1, 1000), chances)
def test_a_long_run_ends_the_row(policy: RestartPolicy, in_a_row: int, chance: float) -> None:
    history = History((1000.0,), in_a_row)
    after_long = decide(policy, ErrorKind.CRASH, history, 1000.0 + policy.max_delay * 1.01, chance)
    assert after_long.history.in_a_row == 0
    after_short = decide(policy, ErrorKind.CRASH, history, 1000.0 + policy.max_delay * 0.9, chance)
    assert after_short.history.in_a_row == in_a_row


def test_by_default_pauses_double_from_a_second_to_five_minutes() -> None:
    policy, history, now, pauses = RestartPolicy(jitter=0.0), History(), 0.0, []
    for _ in range(11):
        decision = decide(policy, ErrorKind.PASSING, history, now, 0.5)
        assert decision.delay is not None
        pauses.append(decision.delay)
        now += decision.delay
        history = decision.history.with_restart(now)
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])


def test_by_default_an_outage_of_a_night_is_survived_and_one_without_end_is_not() -> None:
    policy, history, now = RestartPolicy(), History(), 0.0
    while (decision := decide(policy, ErrorKind.PASSING, history, now, 0.5)).delay is not None:
        now += decision.delay
        history = decision.history.with_restart(now)
    assert 7 * 3600 < now < 9 * 3600
    assert decision.why == "100 restarts within 1 day are all that restart.policy.max.restarts allows"


def test_what_was_refused_access_is_tried_slowly_from_the_start() -> None:
    assert decide(RestartPolicy(), ErrorKind.ACCESS, History(), 0.0, 0.5).delay == 300.0


@pytest.mark.parametrize("kind", PASSING)
def test_the_others_are_tried_soon(kind: ErrorKind) -> None:
    delay = decide(RestartPolicy(), kind, History(), 0.0, 0.5).delay
    assert delay is not None
    assert math.isclose(delay, 1.0)


def test_a_connector_overrides_its_worker() -> None:
    worker = {"restart.policy": "off", "restart.policy.initial.delay.ms": "500"}
    assert RestartPolicy.of(worker, {}) == RestartPolicy(on=False, initial_delay=0.5)
    assert RestartPolicy.of(worker, {"restart.policy": "on"}) == RestartPolicy(on=True, initial_delay=0.5)
    assert RestartPolicy.of({}, {"restart.policy.max.restarts": "3"}) == RestartPolicy(max_restarts=3)
    with pytest.raises(ConfigError, match=r"restart\.policy\.jitter"):
        RestartPolicy.of({}, {"restart.policy.jitter": "2"})
