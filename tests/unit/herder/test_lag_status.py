"""Burrow's rules: when a consumer keeps up, falls behind, stands still."""

from hypothesis import given
from hypothesis import strategies as st

from connect.herder.lag_status import LagStatus, Look, judge

PATIENCE = 20.0
STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=9)


def looks(steps: list[tuple[int, int]], position: int = 100, end: int = 110, every: float = 10) -> list[Look]:
    """A first look, and one after each step: so much is committed, so much comes."""
    found = [Look(0, position, end)]
    for committed, came in steps:
        last = found[-1]
        end = last.end + came
        found.append(Look(last.at + every, min(last.position + committed, end), end))
    return found


@given(STEPS, st.integers(0, 9))
def test_a_lag_of_zero_at_any_look_is_ok(steps: list[tuple[int, int]], which: int) -> None:
    found = looks(steps)
    one = found[which % len(found)]
    found[which % len(found)] = one._replace(end=one.position)
    assert judge(found, PATIENCE) is LagStatus.OK


@given(st.lists(st.integers(0, 5), min_size=2, max_size=9))
def test_nothing_committed_while_records_wait_is_stalled(came: list[int]) -> None:
    assert judge(looks([(0, one) for one in came]), PATIENCE) is LagStatus.STALLED


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=9).filter(
        lambda s: any(a for a, _ in s)
    )
)
def test_a_lag_that_grows_at_each_look_though_something_is_committed_is_warn(steps: list[tuple[int, int]]) -> None:
    growing = [(committed, committed + more) for committed, more in steps]
    assert judge(looks(growing), PATIENCE) is LagStatus.WARN


@given(STEPS)
def test_once_it_shrank_it_is_ok(steps: list[tuple[int, int]]) -> None:
    assert judge(looks([*steps, (3, 0)], end=1000), PATIENCE) is LagStatus.OK


@given(STEPS)
def test_moving_commits_are_never_stalled(steps: list[tuple[int, int]]) -> None:
    assert judge(looks([*steps, (1, 5)]), PATIENCE) is not LagStatus.STALLED


def test_too_few_looks_or_too_short_a_time_say_nothing() -> None:
    assert judge(looks([(0, 1)]), PATIENCE) is LagStatus.OK
    assert judge(looks([(0, 1)] * 5, every=1), PATIENCE) is LagStatus.OK
    assert judge([], PATIENCE) is LagStatus.OK
