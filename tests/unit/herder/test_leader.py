"""Which task configurations a leader writes."""

from types import SimpleNamespace
from typing import Any

from connect.herder.current_operations import CurrentOperations
from connect.herder.leader import Leader
from connect.herder.membership import Alone
from connect.storage.config_log import MemoryConfigLog


def _leader(log: MemoryConfigLog) -> Leader:
    pool: Any = SimpleNamespace(worker=SimpleNamespace(config={}), log=log, member=None, operations=None)
    return Leader(pool)


def test_tasks_of_another_configuration_are_dropped() -> None:
    log = MemoryConfigLog()
    log.put_connector("a", {})
    log.put_connector("a", {"key": "value"})
    _leader(log).put_tasks("a", [{}], cut_for=0)
    assert log.state.task_ids("a") == []
    _leader(log).put_tasks("a", [{}], cut_for=1)
    assert log.state.task_ids("a") == [0]


def test_tasks_that_arrive_after_the_connector_was_stopped_are_dropped() -> None:
    log = MemoryConfigLog()
    log.put_connector("a", {})
    log.put_stop("a")
    _leader(log).put_tasks("a", [{}], cut_for=0)
    _leader(log).put_tasks("a", [{}], cut_for=None)
    assert log.state.task_ids("a") == []


def test_a_stopped_connector_may_be_written_to_have_no_tasks() -> None:
    log = MemoryConfigLog()
    log.put_connector("a", {})
    log.put_tasks("a", [{}])
    log.put_target("a", "STOPPED")  # by a leader that crashed within the stop
    _leader(log).put_tasks("a", [], cut_for=0)
    assert log.state.task_ids("a") == []


def test_tasks_that_a_lost_leader_wrote_after_the_stop_are_taken_back() -> None:
    log = MemoryConfigLog()
    for name in ("stopped", "running"):
        log.put_connector(name, {})
    log.put_stop("stopped")
    for name in ("stopped", "running"):
        log.put_tasks(name, [{}, {}])
    member = Alone(log)
    pool: Any = SimpleNamespace(
        worker=SimpleNamespace(config={}), log=log, member=member, operations=CurrentOperations()
    )
    leader = Leader(pool)
    leader.begin(lambda: None)
    leader.submit("stopped", "waiting", lambda: None).result(10)
    assert log.state.task_ids("stopped") == []
    assert log.state.task_ids("running") == [0, 1]
    leader.close()
