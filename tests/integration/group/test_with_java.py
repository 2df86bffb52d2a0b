"""One group of a Java worker and our members, in both orders of start, each leading."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect.group.wire import EAGER
from connect.group.work import Work

from .java_worker import JavaWorker, end_of, java_worker
from .members import Group, Worker

NAMES = ("a", "b", "c", "d")
SPOKEN = {"sessioned": "sessioned", "compatible": "compatible", "eager": EAGER}
ALL = Work.of(NAMES, [(name, 0) for name in NAMES])


@pytest.fixture(params=SPOKEN)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def create_all(java: JavaWorker, folder: Path) -> None:
    for name in NAMES:
        (folder / name).touch()
        java.create(name, file=str(folder / name))
    java.until(lambda: all(java.running(name) == (True, True) for name in NAMES))


def shared(java: JavaWorker, ours: Worker) -> bool:
    """Whether the Java worker runs exactly what ours does not have, and both have half."""
    if not ours.history or not 0 < len(ours.owned) < len(ALL):
        return False
    for name in NAMES:
        connector, task = java.running(name)
        if connector != (name not in ours.owned.connectors):
            return False
        mine = (name, 0) not in ours.owned.tasks
        # A Java worker that gave a task away in an eager rebalance leaves it RUNNING in the topic of states.
        if task != mine and (mine or ours.last.protocol != EAGER):
            return False
    return len(ours.owned.connectors) == len(ours.owned.tasks) == len(NAMES) // 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_java_worker_and_ours_lead_each_other(group: Group, protocol: str, tmp_path: Path) -> None:
    config = f"{group.name}-config"
    group.cluster.configure(**dict.fromkeys(NAMES, 1))
    group.cluster.read = lambda: end_of(group.bootstrap_servers, config)
    with java_worker(group.bootstrap_servers, group.name, protocol, tmp_path) as first:
        create_all(first, tmp_path)
        ours = group.join(protocol)
        first.until(lambda: shared(first, ours))
        assert not ours.last.leads
        assert ours.last.assignment.leader_url == first.url + "/"
        assert ours.last.protocol == SPOKEN[protocol]
    # The Java worker is gone: ours takes over what it had, and leads the next one.
    ours.wait(lambda worker: worker.owned == ALL)
    assert ours.last.leads
    with java_worker(group.bootstrap_servers, group.name, protocol, tmp_path) as second:
        second.until(lambda: shared(second, ours))
        assert ours.last.leads
        assert ours.last.protocol == SPOKEN[protocol]
        ours.membership.leave()
        second.until(lambda: all(second.running(name) == (True, True) for name in NAMES))
