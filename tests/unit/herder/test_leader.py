"""Which task configurations a leader writes."""

from types import SimpleNamespace
from typing import Any

from connect.herder.leader import Leader
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
