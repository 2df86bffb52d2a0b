"""What the records of the config topic say, one by one."""

import json
import logging
from typing import Any

import pytest

from connect.storage import config_state as written
from connect.storage.config_state import (
    ConfigReader,
    ConnectorChanged,
    ConnectorRemoved,
    Event,
    LoggerChanged,
    Record,
    RestartAsked,
    RestartRequest,
    SessionKey,
    SessionKeyChanged,
    TargetChanged,
    TasksCommitted,
)

ORDERS = {"name": "orders", "connector.class": "FileStreamSource"}
# Names that could be taken for something else in a key.
NAMES = ["orders", "orders-1", "orders-1-0", "1", "-", "task-", "state-x", "fencing-x", "ä b:connector-c", "connector-"]


def read(*records: Record, reader: ConfigReader | None = None) -> tuple[ConfigReader, list[Event | None]]:
    reader = reader or ConfigReader()
    first = reader.state.offset
    return reader, [reader.take(key, value, first + number) for number, (key, value) in enumerate(records)]


def record(key: str, value: Any) -> Record:
    return key.encode(), None if value is None else json.dumps(value).encode()


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_read_back_from_every_key(name: str) -> None:
    config = {"name": name, "file": "ä\n😀"}
    reader, events = read(
        written.connector_record(name, config),
        *written.task_records(name, [{"task": "0"}, {"task": "1"}]),
        written.target_record(name, "STOPPED"),
        written.fencing_record(name, 2),
        written.restart_record(RestartRequest(name, include_tasks=True, only_failed=False)),
        written.logger_record(name, "DEBUG"),
    )
    assert events == [
        ConnectorChanged(name),
        None,
        None,
        TasksCommitted(name),
        TargetChanged(name),
        None,
        RestartAsked(RestartRequest(name, include_tasks=True, only_failed=False)),
        LoggerChanged(name, "DEBUG"),
    ]
    state = reader.state
    assert state.offset == len(events)
    assert state.connectors == {name: config}
    assert state.task_configs(name) == [{"task": "0"}, {"task": "1"}]
    assert state.target(name) == "STOPPED"
    assert (state.fencing, state.pending_fencing, state.inconsistent) == ({name: 2}, frozenset(), frozenset())


def test_the_bytes_are_those_of_a_java_worker() -> None:
    assert written.connector_record("a", {"name": "b", "x": "ä😀/"}) == (
        b"connector-a",
        '{"properties":{"name":"a","x":"ä\\uD83D\\uDE00/"}}'.encode(),
    )
    assert written.removal_records("a") == [(b"connector-a", None), (b"target-state-a", None)]
    assert written.task_records("a", [{"k": "v"}]) == [
        (b"task-a-0", b'{"properties":{"k":"v"}}'),
        (b"commit-a", b'{"tasks":1}'),
    ]
    assert written.target_record("a", "PAUSED") == (b"target-state-a", b'{"state":"PAUSED","state.v2":"PAUSED"}')
    assert written.target_record("a", "STOPPED") == (b"target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}')
    assert written.restart_record(RestartRequest("a", include_tasks=False, only_failed=True)) == (
        b"restart-connector-a",
        b'{"include-tasks":false,"only-failed":true}',
    )
    assert written.session_key_record(SessionKey(b"\xff\x00", "HmacSHA256", 12)) == (
        b"session-key",
        b'{"key":"/wA=","algorithm":"HmacSHA256","creation-timestamp":12}',
    )
    assert written.logger_record("a.b", "WARN") == (b"logger-cluster-a.b", b'{"level":"WARN"}')
    assert written.fencing_record("a", 3) == (b"tasks-fencing-a", b'{"task-count":3}')


@pytest.mark.promise("P4")
def test_tasks_count_only_from_their_commit_record_on() -> None:
    reader, _ = read(written.connector_record("orders", ORDERS), *written.task_records("orders", [{"v": "1"}]))
    *tasks, commit = written.task_records("orders", [{"v": "2"}, {"v": "3"}])
    read(*tasks, reader=reader)
    assert reader.state.task_configs("orders") == [{"v": "1"}]
    read(commit, reader=reader)
    assert reader.state.task_configs("orders") == [{"v": "2"}, {"v": "3"}]


@pytest.mark.promise("P4")
def test_a_commit_never_mixes_two_sets_of_tasks() -> None:
    reader, _ = read(
        written.connector_record("orders", ORDERS),
        *written.task_records("orders", [{"v": "1"}, {"v": "2"}]),
        record("task-orders-0", {"properties": {"v": "3"}}),
        record("commit-orders", {"tasks": 2}),
    )
    assert reader.state.inconsistent == {"orders"}
    assert reader.state.task_ids("orders") == []
    assert reader.state.task_configs("orders") == []
    read(*written.task_records("orders", [{"v": "4"}]), reader=reader)
    assert (reader.state.inconsistent, reader.state.task_configs("orders")) == (frozenset(), [{"v": "4"}])


def test_fewer_tasks_take_the_place_of_more() -> None:
    reader, _ = read(
        written.connector_record("orders", ORDERS),
        *written.task_records("orders", [{"v": "1"}, {"v": "2"}]),
        *written.task_records("orders", [{"v": "3"}]),
    )
    assert reader.state.task_configs("orders") == [{"v": "3"}]
    read(*written.task_records("orders", []), reader=reader)
    assert (reader.state.task_counts, reader.state.tasks) == ({"orders": 0}, {})
    assert reader.state.inconsistent == frozenset()


def test_a_leader_that_died_while_writing_leaves_no_trace_in_the_next_set() -> None:
    reader, _ = read(
        written.connector_record("orders", ORDERS),
        record("task-orders-0", {"properties": {"v": "dead"}}),
        record("task-orders-1", {"properties": {"v": "dead"}}),
        *written.task_records("orders", [{"v": "1"}]),
        record("task-orders-0", {"properties": {"v": "2"}}),
        record("commit-orders", {"tasks": 2}),
    )
    assert reader.state.inconsistent == {"orders"}


def test_a_deleted_connector_is_gone_but_for_the_producers_that_may_live() -> None:
    reader, _ = read(
        written.connector_record("orders", ORDERS),
        *written.task_records("orders", [{"v": "1"}]),
        written.fencing_record("orders", 1),
        *written.task_records("orders", [{"v": "2"}]),
        record("task-orders-0", {"properties": {"v": "3"}}),
    )
    _, events = read(*written.removal_records("orders"), reader=reader)
    state = reader.state
    assert events == [ConnectorRemoved("orders"), None]
    assert (state.connectors, state.targets, state.task_counts, state.tasks) == ({}, {}, {}, {})
    assert (state.fencing, state.pending_fencing) == ({"orders": 1}, frozenset())
    assert read(*written.removal_records("orders"), reader=reader)[1] == [None, None]
    # What was written and not committed before does not count for its successor.
    read(written.connector_record("orders", ORDERS), record("commit-orders", {"tasks": 1}), reader=reader)
    assert reader.state.inconsistent == {"orders"}


def test_tasks_left_by_a_deleted_connector_are_not_those_of_its_successor() -> None:
    left = written.task_records("orders", [{"of": "the old one"}])
    reader, events = read(*left, written.connector_record("orders", ORDERS))
    assert events == [None, None, ConnectorChanged("orders")]
    assert (reader.state.task_configs("orders"), reader.state.inconsistent) == ([], {"orders"})
    # One that was stopped when its configuration was replaced has nothing that could be lost.
    stopped, _ = read(*left, *written.task_records("orders", []), written.connector_record("orders", ORDERS))
    assert (stopped.state.task_configs("orders"), stopped.state.inconsistent) == ([], frozenset())
    # And where its tombstone is still there, all is known.
    deleted, _ = read(*left, *written.removal_records("orders"), written.connector_record("orders", ORDERS))
    assert (deleted.state.task_configs("orders"), deleted.state.inconsistent) == ([], frozenset())


def test_target_states_of_all_ages_are_read() -> None:
    reader, events = read(
        written.target_record("orders", "PAUSED"),  # it is to be created paused
        written.connector_record("orders", ORDERS),
        written.target_record("orders", "PAUSED"),
        record("target-state-orders", {"state": "STARTED"}),  # before KIP-875
        record("target-state-orders", {"state": "PAUSED", "state.v2": "STOPPED"}),
        record("target-state-orders", {"state": "PAUSED", "state.v2": None}),
    )
    assert events == [None, ConnectorChanged("orders"), None, *[TargetChanged("orders")] * 3]
    assert reader.state.target("orders") == "PAUSED"
    read(record("target-state-orders", None), reader=reader)
    assert reader.state.target("orders") == "STARTED"
    assert reader.state.target("another") == "STARTED"


def test_producers_are_to_be_fenced_after_each_commit_and_not_after_a_fencing() -> None:
    reader, _ = read(written.connector_record("orders", ORDERS))
    assert reader.state.pending_fencing == frozenset()
    read(*written.task_records("orders", [{}, {}]), reader=reader)
    assert reader.state.pending_fencing == {"orders"}
    read(written.fencing_record("orders", 2), reader=reader)
    assert (reader.state.pending_fencing, reader.state.fencing) == (frozenset(), {"orders": 2})
    read(*written.task_records("orders", [{}]), reader=reader)
    assert (reader.state.pending_fencing, reader.state.fencing) == ({"orders"}, {"orders": 2})


def test_a_session_key_is_read_and_never_shown() -> None:
    key = SessionKey(b"\xde\xad\xbe\xef" * 8, "HmacSHA256", 1700000000000)
    reader, events = read(written.session_key_record(key))
    assert (events, reader.state.session_key) == ([SessionKeyChanged()], key)
    assert "\\xde" not in repr(reader.state)


def test_restarts_say_no_where_they_say_nothing() -> None:
    _, events = read(
        record("restart-connector-orders", {}),
        record("restart-connector-orders", {"include-tasks": "false", "only-failed": True}),
        record("restart-connector-orders", None),
    )
    plain = RestartRequest("orders", include_tasks=False, only_failed=False)
    failed = RestartRequest("orders", include_tasks=False, only_failed=True)
    assert events == [RestartAsked(plain), RestartAsked(failed), None]


MALFORMED: list[Record] = [
    (None, b"{}"),  # type: ignore[list-item]
    (b"", b"{}"),
    (b"\xff\xfe", b"{}"),
    record("nobody-knows", {}),
    *(
        (key, value)
        for key in (
            *(b"connector-orders", b"task-orders-0", b"commit-orders", b"target-state-orders", b"tasks-fencing-orders"),
            *(b"session-key", b"restart-connector-orders", b"logger-cluster-a"),
        )
        for value in (b"", b"\xff", b"{", b"[]", b"1", b"null", b'"x"', b"[" * 100_000)
    ),
    *(record("connector-orders", value) for value in ({}, {"properties": None}, {"properties": ["a"]})),
    *(record("task-orders-0", value) for value in ({}, {"properties": "x"})),
    *(record(f"task-{name}", {"properties": {}}) for name in ("orders", "orders-", "orders-x", "orders-1_0", "-0")),
    *(record("commit-orders", {"tasks": value}) for value in (None, "1", -1, 1.0, True)),
    record("commit-orders", {}),
    *(record("target-state-orders", value) for value in ({}, {"state": "GONE"}, {"state": 1}, {"state.v2": []})),
    *(record("tasks-fencing-orders", {"task-count": value}) for value in (None, "1", -1)),
    *(record("session-key", {"key": "AA==", "algorithm": "x", "creation-timestamp": value}) for value in ("1", None)),
    record("session-key", {"key": "A", "algorithm": "x", "creation-timestamp": 1}),
    record("session-key", {"key": "A!A=", "algorithm": "x", "creation-timestamp": 1}),
    record("session-key", {"key": 1, "algorithm": "x", "creation-timestamp": 1}),
    *(record("logger-cluster-a", value) for value in ({}, {"level": 1})),
]


def test_what_cannot_be_read_is_passed_over_and_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    reader, _ = read(
        written.connector_record("orders", ORDERS),
        *written.task_records("orders", [{"v": "1"}]),
        written.session_key_record(SessionKey(b"k", "x", 1)),
    )
    before = reader.state
    for number, (key, value) in enumerate(MALFORMED):
        caplog.clear()
        read((key, value), reader=reader)
        if value not in (b"null", None) or not key or key.startswith(b"nobody"):
            assert len(caplog.records) == 1, (number, key, value)
    assert reader.state.offset == before.offset + len(MALFORMED)
    assert (reader.state.connectors, reader.state.tasks, reader.state.session_key) == (
        before.connectors,
        before.tasks,
        before.session_key,
    )
    assert reader.state.targets == before.targets


def test_a_warning_never_shows_the_value(caplog: pytest.LogCaptureFixture) -> None:
    read((b"connector-orders", b'{"properties": {"password": "hunter2"'), (b"session-key", b'{"key":"hunter2!"}'))
    assert len(caplog.records) == 2
    assert "hunter2" not in caplog.text


def test_tombstones_of_single_records_say_nothing_of_what_is_committed() -> None:
    reader, _ = read(
        written.connector_record("orders", ORDERS),
        *written.task_records("orders", [{"v": "1"}]),
        written.fencing_record("orders", 1),
        written.session_key_record(SessionKey(b"k", "x", 1)),
    )
    before = reader.state
    keys = ("task-orders-0", "commit-orders", "tasks-fencing-orders", "session-key", "logger-cluster-a")
    _, events = read(*(record(key, None) for key in keys), reader=reader)
    assert events == [None] * len(keys)
    assert (reader.state.tasks, reader.state.fencing, reader.state.session_key) == (
        before.tasks,
        before.fencing,
        before.session_key,
    )


def test_tasks_run_with_the_configuration_that_they_were_cut_for() -> None:
    changed = ORDERS | {"value.converter": "other"}
    reader, _ = read(written.connector_record("orders", ORDERS), *written.task_records("orders", [{"task": "0"}]))
    assert not reader.state.to_cut("orders")
    read(written.connector_record("orders", changed), reader=reader)
    assert (reader.state.connectors["orders"], reader.state.applied["orders"]) == (changed, ORDERS)
    assert reader.state.to_cut("orders")
    # The same tasks, committed for the new one.
    read(*written.task_records("orders", [{"task": "0"}]), reader=reader)
    assert reader.state.applied["orders"] == changed
    assert not reader.state.to_cut("orders")
    # One that says the same is a newer one too: compaction leaves it behind the tasks.
    read(written.connector_record("orders", changed), reader=reader)
    assert reader.state.to_cut("orders")
    read(*written.removal_records("orders"), reader=reader)
    assert (reader.state.applied, reader.state.written, reader.state.commits) == ({}, {}, {})
