"""What is measured of rebalances, and what is remembered of each."""

import pytest

from connect.group import Work
from connect.herder.membership import Role
from connect.herder.rebalance_history import KEPT, NAMES, Moved
from connect.herder.rebalances import Rebalances

ROLE = Role(leader=False, leader_url="http://other:8083/", protocol="sessioned", generation=7)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Owner:
    work = Work()

    def __call__(self) -> Work:
        return self.work


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def owner() -> Owner:
    return Owner()


@pytest.fixture
def rebalances(clock: Clock, owner: Owner) -> Rebalances:
    return Rebalances(lambda: ROLE, owner, clock=clock, wall=clock)


def test_a_rebalance_is_counted_under_what_began_it_and_how_long_it_took(rebalances: Rebalances, clock: Clock) -> None:
    rebalances.began("start")
    clock.now += 3
    rebalances.asked("given_back")  # comes with the assignment, and is for the next one
    rebalances.ended("m")
    clock.now += 10
    rebalances.asked("configuration")  # the first one counts
    rebalances.began()
    rebalances.began()
    clock.now += 1
    assert rebalances.figures()["connect-worker-rebalance-metrics"]["rebalancing"] == 1
    rebalances.ended("m")
    rebalances.began()
    rebalances.ended("m")
    clock.now += 5
    assert rebalances.figures()["connect-worker-rebalance-metrics"] == {
        "connect-protocol": "sessioned",
        "leader-name": "http://other:8083/",
        "epoch": 7,
        "completed-rebalances-total": 3,
        "rebalancing": 0,
        "rebalance-max-time-ms": 3000,
        "rebalance-avg-time-ms": 4000 / 3,
        "time-since-last-rebalance-ms": 5000,
    }
    counted = {s.labels["cause"]: s.value for s in rebalances.samples() if s.name == "connect_rebalances_total"}
    assert counted == {"start": 1, "given_back": 1, "member": 1}


def test_what_the_group_has_given_to_the_worker_is_counted(rebalances: Rebalances, owner: Owner) -> None:
    owner.work = Work.of(["a", "b"], [("a", 0), ("a", 1), ("c", 0)])
    counted = rebalances.figures()["connect-coordinator-metrics"]
    assert counted == {"assigned-connectors": 2, "assigned-tasks": 3}


def test_each_is_remembered_with_its_time_its_reason_and_what_moved(
    rebalances: Rebalances, clock: Clock, owner: Owner
) -> None:
    rebalances.began("start")
    owner.work = Work.of(["a", "b"], [("a", 0), ("a", 1)])
    rebalances.ended("m")
    rebalances.asked("configuration", "there is a connector c")
    rebalances.began()
    owner.work = Work.of(["a"], [("a", 0)])  # given up within it
    clock.now += 2.5
    owner.work |= Work.of(["c"], [("c", 0), ("c", 1)])
    rebalances.ended("leader-1")
    one, _ = rebalances.recent()
    assert (one.began, one.ended) == (1_000_000, 1_002_500)
    assert (one.generation, one.leader, one.leader_member) == (7, "other:8083", "leader-1")
    assert (one.cause, one.reason) == ("configuration", "there is a connector c")
    assert one.assigned == Moved.of(Work.of(["c"], [("c", 0), ("c", 1)]))
    assert one.revoked == Moved.of(Work.of(["b"], [("a", 1)]))
    assert one.led is None


def test_what_stays_where_it_is_has_not_moved_though_all_was_stopped(rebalances: Rebalances, owner: Owner) -> None:
    rebalances.began("start")
    owner.work = Work.of(["a"], [("a", 0)])
    rebalances.ended("m")
    rebalances.began("lost", "no answer")
    owner.work = Work()
    rebalances.joining()
    owner.work = Work.of(["a"], [("a", 0)])
    rebalances.ended("m")
    one, _ = rebalances.recent()
    assert (one.cause, one.reason, bool(one.assigned), bool(one.revoked)) == ("lost", "no answer", False, False)


def test_what_was_requested_before_the_join_does_not_pass_for_the_cause_of_a_later_rebalance(
    rebalances: Rebalances,
) -> None:
    rebalances.began()  # another worker joins
    rebalances.asked("configuration", "there is a connector c")
    rebalances.joining()
    rebalances.ended("m")
    rebalances.began("start")
    rebalances.asked("configuration", "there is a connector d")
    rebalances.joining()
    rebalances.ended("m")
    rebalances.began()
    rebalances.asked("configuration", "there is a connector e")  # while the others join: too late for this one
    rebalances.joining()
    rebalances.asked("configuration", "there is a connector f")
    rebalances.ended("m")
    rebalances.began()
    rebalances.joining()
    rebalances.ended("m")
    rebalances.began()
    rebalances.joining()
    rebalances.ended("m")
    assert [(one.cause, one.reason) for one in rebalances.recent()] == [
        ("member", ""),
        ("configuration", "there is a connector f"),
        ("configuration", "there is a connector e"),
        ("start", ""),
        ("configuration", "there is a connector c"),
    ]


def test_only_so_many_are_remembered_and_so_many_names_of_each(rebalances: Rebalances, owner: Owner) -> None:
    for number in range(KEPT + 50):
        rebalances.began(reason=str(number))
        rebalances.ended("m")
    owner.work = Work.of([f"c{one:04}" for one in range(8)], [("c", one) for one in range(4000)])
    rebalances.ended("m")
    kept = rebalances.recent()
    assert len(kept) == KEPT
    assert [kept[1].reason, kept[-1].reason] == [str(KEPT + 49), "51"]
    assert (kept[0].assigned.connectors, kept[0].assigned.tasks) == (8, 4000)
    assert len(kept[0].assigned.first_connectors) == 8
    assert len(kept[0].assigned.first_tasks) == NAMES - 8
