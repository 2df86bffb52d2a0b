"""What is measured of rebalances."""

from connect.herder.membership import Role
from connect.herder.rebalances import Rebalances

ROLE = Role(leader=False, leader_url="http://other:8083/", protocol="sessioned", generation=7)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_rebalance_is_counted_under_what_began_it_and_how_long_it_took() -> None:
    clock = Clock()
    rebalances = Rebalances(lambda: ROLE, clock=clock)
    rebalances.began("start")
    clock.now += 3
    rebalances.asked("given_back")  # comes with the assignment, and is for the next one
    rebalances.ended()
    clock.now += 10
    rebalances.asked("configuration")  # the first one counts
    rebalances.began()
    rebalances.began()
    clock.now += 1
    assert rebalances.figures()["connect-worker-rebalance-metrics"]["rebalancing"] == 1
    rebalances.ended()
    rebalances.began()
    rebalances.ended()
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
