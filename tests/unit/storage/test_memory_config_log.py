"""A worker that is alone has its configurations in memory, and follows them as it would follow a topic."""

from connect.storage.config_log import MemoryConfigLog
from connect.storage.config_state import (
    ConnectorChanged,
    ConnectorRemoved,
    Event,
    LoggerChanged,
    RestartAsked,
    RestartRequest,
    TargetChanged,
    TasksCommitted,
)


def test_what_is_written_is_there_at_once_and_told_in_order() -> None:
    log, events = MemoryConfigLog(), list[Event]()
    log.start(events.append)
    log.put_connector("a", {"key": "value"}, "PAUSED")
    log.put_tasks("a", [{"task": "0"}, {"task": "1"}])
    log.put_target("a", "STARTED")
    log.put_restart(RestartRequest("a", include_tasks=True, only_failed=False))
    log.put_logger_level("root", "DEBUG")
    assert events == [
        ConnectorChanged("a"),
        TasksCommitted("a"),
        TargetChanged("a"),
        RestartAsked(RestartRequest("a", include_tasks=True, only_failed=False)),
        LoggerChanged("root", "DEBUG"),
    ]
    assert log.read_to_end(0) is log.state
    assert log.state.connectors == {"a": {"key": "value", "name": "a"}}
    assert log.state.task_configs("a") == [{"task": "0"}, {"task": "1"}]
    assert not log.state.to_cut("a")


def test_a_connector_that_was_deleted_starts_anew() -> None:
    log, events = MemoryConfigLog(), list[Event]()
    log.put_connector("a", {}, "STOPPED")
    log.put_tasks("a", [{}])
    log.start(events.append)
    log.remove_connector("a")
    log.put_connector("a", {})
    assert events == [ConnectorRemoved("a"), ConnectorChanged("a")]
    assert log.state.target("a") == "STARTED"
    assert log.state.task_ids("a") == []


def test_the_state_holds_what_a_listener_is_told_of() -> None:
    log, seen = MemoryConfigLog(), []
    log.start(lambda _: seen.append((list(log.state.connectors), log.state.task_ids("a"))))
    log.put_connector("a", {})
    log.put_tasks("a", [{}, {}])
    assert seen == [(["a"], []), (["a"], [0, 1])]


def test_a_stop_sets_the_target_and_takes_the_tasks() -> None:
    log, events = MemoryConfigLog(), list[Event]()
    log.put_connector("a", {})
    log.put_tasks("a", [{}])
    log.start(events.append)
    log.put_stop("a")
    assert events == [TargetChanged("a"), TasksCommitted("a")]
    assert (log.state.target("a"), log.state.task_ids("a")) == ("STOPPED", [])
