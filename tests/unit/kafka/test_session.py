import math

import pytest

from connect.kafka.group.session import Session


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_nothing_is_certain_before_a_join(clock: Clock) -> None:
    session = Session(clock, 10, 60)
    assert not session.live()
    session.heard(100, rebalancing=False)
    assert session.until() == -math.inf


@pytest.mark.promise("P3")
def test_it_lasts_from_when_the_answered_request_was_sent(clock: Clock) -> None:
    session = Session(clock, 10, 60)
    session.joined(sent=95)
    assert session.until() == 105
    session.heard(98, rebalancing=False)
    assert session.until() == 108
    clock.now = 107.9
    assert session.live()
    clock.now = 108
    assert not session.live()


@pytest.mark.promise("P3")
def test_a_rebalance_ends_it_for_who_does_not_join_again_in_time(clock: Clock) -> None:
    session = Session(clock, 10, 15)
    session.joined(sent=100)
    for sent in (103, 106, 109):
        session.heard(sent, rebalancing=True)
    assert session.until() == 115, "the rebalance may have begun right after the join"
    assert session.undisturbed() == 100
    session.joined(sent=112)
    assert session.until() == 122


@pytest.mark.promise("P3")
def test_what_is_lost_stays_lost_whatever_is_heard_until_the_next_join(clock: Clock) -> None:
    session = Session(clock, 10, 60)
    session.joined(sent=100)
    assert session.lose()
    assert not session.lose()
    session.heard(101, rebalancing=False)
    assert not session.live()
    assert session.losses == 1
    session.joined(sent=102)
    assert session.live()
