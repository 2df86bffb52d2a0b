"""A worker's topics, written by Java and read by ours, and the other way round.

Levels of loggers are only read by Java here: its set of jars has none of the log libraries whose levels it can change.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from connect.kafka.admin.topics import TopicShape
from connect.kafka.broker.embedded import Broker
from connect.kafka.compacted_log import CompactedLog, LogRecord
from connect.storage.config_log import TopicConfigLog
from connect.storage.config_state import (
    ConnectorChanged,
    ConnectorRemoved,
    Event,
    RestartAsked,
    RestartRequest,
    SessionKey,
    TargetChanged,
    TasksCommitted,
)
from connect.storage.status import ConnectorStatus, RestartNote, State, TaskStatus
from connect.storage.topic_offsets import TopicOffsetStore
from connect.storage.topic_status import TopicStatusStore

if TYPE_CHECKING:
    from .conftest import JavaWorker

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
CONFIG, OFFSETS, STATUS = TopicShape(1, 1, {}, 1), TopicShape(25, 1, {}), TopicShape(5, 1, {})
START = Callable[..., "JavaWorker"]


class Ours:
    """Our stores on the topics of a cluster."""

    def __init__(self, broker: Broker, cluster: str, transactional_id: str | None = None) -> None:
        self.clients = {"bootstrap.servers": broker.bootstrap_servers}
        self.cluster = cluster
        self.events: list[Event] = []
        self.config = TopicConfigLog(f"{cluster}-config", self.clients, CONFIG, transactional_id)
        self.offsets = TopicOffsetStore(f"{cluster}-offset", self.clients, OFFSETS)
        self.statuses = TopicStatusStore(f"{cluster}-status", self.clients, STATUS)
        self.config.start(self.events.append)
        self.offsets.start()
        self.statuses.start()

    def close(self) -> None:
        for store in (self.config, self.offsets, self.statuses):
            store.close()

    def records(self, kind: str) -> list[LogRecord]:
        """All records of one of the topics."""
        found: list[LogRecord] = []
        log = CompactedLog(f"{self.cluster}-{kind}", self.clients, TopicShape(1, 1, {}), found.append)
        log.start()
        log.close()
        return found


@pytest.fixture
def ours(broker: Broker) -> Iterator[Callable[..., Ours]]:
    """Opens our stores on a cluster's topics: `ours(cluster)`."""
    with ExitStack() as stack:

        def make(cluster: str, transactional_id: str | None = None) -> Ours:
            stores = Ours(broker, cluster, transactional_id)
            stack.callback(stores.close)
            return stores

        yield make


def source(name: str, file: Path, topic: str) -> dict[str, str]:
    return {"name": name, "connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": topic, "ä": "😀/\n"}


def write_lines(file: Path, count: int) -> int:
    file.write_text("".join(f"line {number}\n" for number in range(count)))
    return file.stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_what_a_java_worker_writes_is_read(
    start_java: START, ours: Callable[..., Ours], tmp_path: Path, exactly_once: str
) -> None:
    java = start_java(exactly_once_source_support=exactly_once)
    stores = ours(java.cluster)
    size = write_lines(tmp_path / "in.txt", 100)
    configs = {name: source(name, tmp_path / "in.txt", f"lines-{java.cluster}") for name in ("a", "a-1", "gone-0")}

    def agrees(name: str) -> bool:
        """Whether our stores have of a connector what Java's REST API shows of it."""
        state = stores.config.read_to_end(30)
        shown = java.must("GET", f"/connectors/{name}")
        tasks = [task["config"] for task in java.must("GET", f"/connectors/{name}/tasks")]
        status = java.must("GET", f"/connectors/{name}/status")
        connector = stores.statuses.connector(name)
        return (
            state.connectors[name] == shown["config"]
            and state.task_configs(name) == tasks
            and connector is not None
            and (connector.state.value, connector.worker_id, connector.version)
            == (status["connector"]["state"], status["connector"]["worker_id"], status["connector"]["version"])
            and [(task.task, task.state.value, task.worker_id) for task in stores.statuses.tasks(name)]
            == [(task["id"], task["state"], task["worker_id"]) for task in status["tasks"]]
            and stores.statuses.topics(name) == sorted(java.must("GET", f"/connectors/{name}/topics")[name]["topics"])
            and [{"partition": partition, "offset": offset} for partition, offset in stores.offsets.all(name)]
            == java.must("GET", f"/connectors/{name}/offsets")["offsets"]
        )

    for name, config in configs.items():
        java.must("POST", "/connectors", {"name": name, "config": config})
    for name in configs:
        java.until(lambda name=name: java.states(name) == ("RUNNING", ["RUNNING"]))
        java.until(
            lambda name=name: stores.offsets.all(name) == [({"filename": str(tmp_path / "in.txt")}, {"position": size})]
        )
        java.until(lambda name=name: agrees(name))
        assert stores.config.state.target(name) == "STARTED"
        assert stores.config.state.fencing.get(name) == (1 if exactly_once == "enabled" else None)
    assert stores.config.state.session_key is not None
    assert len(stores.config.state.session_key.key) == 32

    java.must("PUT", "/connectors/a/config", {**configs["a"], "batch.size": "7"})
    java.until(lambda: java.must("GET", "/connectors/a/tasks")[0]["config"].get("batch.size") == "7")
    java.must("PUT", "/connectors/a/pause")
    java.until(lambda: java.states("a") == ("PAUSED", ["PAUSED"]))
    java.must("PUT", "/connectors/a-1/stop")
    java.until(lambda: java.states("a-1") == ("STOPPED", []))
    java.must("DELETE", "/connectors/a-1/offsets")
    java.must("DELETE", "/connectors/gone-0")
    java.must("POST", "/connectors/a/restart?includeTasks=true&onlyFailed=true")
    for name in ("a", "a-1"):
        java.until(lambda name=name: agrees(name))
    java.until(lambda: stores.statuses.connectors() == ["a", "a-1"])
    state = stores.config.read_to_end(30)
    assert (state.target("a"), state.target("a-1"), state.task_counts) == ("PAUSED", "STOPPED", {"a": 1, "a-1": 0})
    assert state.connectors.keys() == {"a", "a-1"}
    assert stores.offsets.all("a-1") == []
    for event in (
        ConnectorChanged("a"),
        TasksCommitted("a"),
        TargetChanged("a"),
        TargetChanged("a-1"),
        ConnectorRemoved("gone-0"),
        RestartAsked(RestartRequest("a", include_tasks=True, only_failed=True)),
    ):
        java.until(lambda event=event: event in stores.events)
    # One that starts now has the same.
    late = ours(java.cluster)
    assert late.config.state == stores.config.state
    assert [late.statuses.tasks(name) for name in ("a", "a-1")] == [
        stores.statuses.tasks(name) for name in ("a", "a-1")
    ]

    # Byte for byte: what Java has written is what we write for the same, but for the order of a map.
    _rewrites_alike(java.cluster, stores, ours)


def _rewrites_alike(cluster: str, stores: Ours, ours: Callable[..., Ours]) -> None:
    copy = ours(f"copy-{cluster}")
    state = stores.config.state
    for name, config in state.connectors.items():
        copy.config.put_connector(name, config, state.target(name))
        copy.config.put_tasks(name, state.task_configs(name))
        if name in state.fencing:
            copy.config.put_fencing(name, state.fencing[name])
        copy.offsets.set(name, stores.offsets.all(name))
        for status in [stores.statuses.connector(name), *stores.statuses.tasks(name)]:
            assert status is not None
            copy.statuses.put(status)
    assert state.session_key is not None
    copy.config.put_session_key(state.session_key)
    copy.config.put_restart(RestartRequest("a", include_tasks=True, only_failed=True))
    copy.close()
    for kind in ("config", "offset", "status"):
        theirs = {record.key: record for record in stores.records(kind) if record.value is not None}
        written = {record.key: record for record in copy.records(kind)}
        compared = 0
        for key, record in written.items():
            assert key in theirs, key
            assert record.partition == theirs[key].partition, key
            if record.value is not None:
                assert _ordered(record.value) == _ordered(theirs[key].value or b""), key
                compared += 1
        assert compared >= {"config": 6, "offset": 1, "status": 3}[kind]


def _ordered(value: bytes) -> object:
    """The bytes, but where the order of a map is as chance has it, its members sorted."""
    content = json.loads(value)
    if isinstance(content, dict) and "properties" in content:
        inside = value.removeprefix(b'{"properties":{').removesuffix(b"}}").decode()
        return sorted(inside.split('","'), key=lambda member: member.strip('"')), len(value)
    return value


@pytest.mark.slow
def test_what_we_say_beside_a_state_a_java_worker_passes_over(
    start_java: START, ours: Callable[..., Ours], tmp_path: Path
) -> None:
    cluster = f"ours-{uuid.uuid4().hex[:8]}"
    write_lines(tmp_path / "in.txt", 1)
    java = start_java(cluster)
    java.must("POST", "/connectors", {"name": "c", "config": source("c", tmp_path / "in.txt", f"lines-{cluster}")})
    java.until(lambda: java.states("c") == ("RUNNING", ["RUNNING"]))
    stores = ours(cluster)
    note = RestartNote("crash", 1, 1_790_000_000_000, "restart 2 within 1 day")
    stores.statuses.put(ConnectorStatus("c", State.FAILED, "ours:1", "a trace", 9, "1.0", note))
    stores.statuses.put(TaskStatus("c", 0, State.RUNNING, "ours:1", None, 9, "1.0", stalled="put has not returned"))
    java.until(lambda: java.states("c") == ("FAILED", ["RUNNING"]))

    def seen() -> bool:
        said = java.must("GET", "/connectors/c/status")
        connector = {"state": "FAILED", "worker_id": "ours:1", "trace": "a trace", "version": "1.0"}
        task = {"id": 0, "state": "RUNNING", "worker_id": "ours:1", "version": "1.0"}
        return bool(said["connector"] == connector and said["tasks"] == [task])

    java.until(seen)
    again = ours(cluster)
    assert again.statuses.connector("c") == ConnectorStatus("c", State.FAILED, "ours:1", "a trace", 9, "1.0", note)
    assert again.statuses.tasks("c")[0].stalled == "put has not returned"


@pytest.mark.slow
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_what_we_write_a_java_worker_starts_on(
    start_java: START, ours: Callable[..., Ours], tmp_path: Path, exactly_once: str
) -> None:
    cluster = f"ours-{uuid.uuid4().hex[:8]}"
    stores = ours(cluster, f"connect-cluster-{cluster}" if exactly_once == "enabled" else None)
    stores.config.claim()
    size = write_lines(tmp_path / "in.txt", 100)
    configs = {
        name: source(name, tmp_path / "in.txt", f"lines-{cluster}")
        for name in ("runs", "paused-1", "stopped", "edited-0", "gone")
    }
    key = SessionKey(b"0123456789abcdef" * 2, "HmacSHA256", int(time.time() * 1000))
    stores.config.put_session_key(key)
    for name, config in configs.items():
        stores.config.put_connector(name, config)
        stores.config.put_tasks(name, [{**config, "task.class": SOURCE.replace("Connector", "Task")}])
        stores.offsets.set(
            name, [({"filename": config["file"]}, {"position": size}), ({"filename": "x"}, {"position": 1})]
        )
        stores.statuses.put(ConnectorStatus(name, State.RUNNING, "gone:1", None, 1, "4.3.1"))
        stores.statuses.put(TaskStatus(name, 0, State.FAILED, "gone:1", "Traceback: ä😀\n", 1, None))
        stores.statuses.put_topic(name, "a-topic", 0)
    stores.config.put_target("paused-1", "PAUSED")
    stores.config.put_target("stopped", "STOPPED")
    stores.config.put_tasks("stopped", [])
    stores.config.put_connector("edited-0", {**configs["edited-0"], "batch.size": "9"}, "STOPPED")
    stores.config.put_tasks("edited-0", [])
    stores.offsets.set("edited-0", [({"filename": "x"}, None)])
    stores.config.put_restart(RestartRequest("runs", include_tasks=True, only_failed=False))
    stores.config.put_logger_level("org.x", "DEBUG")
    stores.config.remove_connector("gone")
    stores.statuses.forget("gone")
    stores.statuses.forget("stopped", 0)
    stores.statuses.forget("edited-0", 0)

    java = start_java(cluster, exactly_once_source_support=exactly_once)
    java.until(lambda: sorted(java.must("GET", "/connectors")) == ["edited-0", "paused-1", "runs", "stopped"])
    java.until(lambda: java.states("runs") == ("RUNNING", ["RUNNING"]))
    java.until(lambda: java.states("paused-1") == ("PAUSED", ["PAUSED"]))
    java.until(lambda: java.states("stopped") == ("STOPPED", []))
    java.until(lambda: java.states("edited-0") == ("STOPPED", []))
    for name in ("runs", "paused-1", "stopped"):
        assert java.must("GET", f"/connectors/{name}/config") == configs[name]
        assert sorted(_offsets(java, name)) == sorted([(configs[name]["file"], size), ("x", 1)])
        assert "a-topic" in java.must("GET", f"/connectors/{name}/topics")[name]["topics"]
    assert java.must("GET", "/connectors/edited-0/config")["batch.size"] == "9"
    assert _offsets(java, "edited-0") == [(configs["edited-0"]["file"], size)]
    assert java.must("GET", "/connectors/runs/tasks")[0]["config"]["task.class"] == SOURCE.replace("Connector", "Task")
    # It took our session key, and goes on from our offset: nothing is read a second time, what comes is.
    assert stores.config.read_to_end(30).session_key == key
    with (tmp_path / "in.txt").open("a") as file:
        file.write("one more\n")
    java.until(lambda: (configs["runs"]["file"], size + len("one more\n")) in _offsets(java, "runs"))
    assert _end(stores, configs["runs"]["topic"]) == 1
    # What it then writes is in our stores, also over what we have written ourselves.
    java.until(lambda: _state(stores, "runs") == (State.RUNNING, java.id))
    java.until(lambda: _state(stores, "stopped") == (State.STOPPED, java.id))
    assert stores.statuses.tasks("stopped") == []
    # And every key lies in one partition, whoever wrote it.
    for kind in ("offset", "status"):
        where: dict[bytes | None, set[int]] = {}
        for record in stores.records(kind):
            where.setdefault(record.key, set()).add(record.partition)
        assert where
        assert {name: found for name, found in where.items() if len(found) > 1} == {}


def _offsets(java: JavaWorker, name: str) -> list[tuple[str, int]]:
    found = java.must("GET", f"/connectors/{name}/offsets")["offsets"]
    return [(entry["partition"]["filename"], entry["offset"]["position"]) for entry in found]


def _state(stores: Ours, name: str) -> tuple[State, str] | None:
    status = stores.statuses.connector(name)
    return None if status is None else (status.state, status.worker_id)


def _end(stores: Ours, topic: str) -> int:
    """How many records a topic of one partition holds."""
    from confluent_kafka import Consumer, TopicPartition

    reader: Any = Consumer({**stores.clients, "group.id": "counts", "isolation.level": "read_committed"})
    try:
        reader.assign([TopicPartition(topic, 0, 0)])
        count = 0
        while (message := reader.poll(3)) is not None:
            count += message.error() is None
        return count
    finally:
        reader.close()


@pytest.mark.slow
def test_a_java_leader_and_ours_fence_each_other(start_java: START, ours: Callable[..., Ours], tmp_path: Path) -> None:
    java = start_java(exactly_once_source_support="enabled")
    stores = ours(java.cluster, f"connect-cluster-{java.cluster}")
    config = source("a", tmp_path / "in.txt", "t")
    java.must("POST", "/connectors", {"name": "a", "config": config})
    java.until(lambda: java.states("a") == ("RUNNING", ["RUNNING"]))
    stores.config.claim()
    stores.config.put_connector("b", {**config, "name": "b"}, "STOPPED")
    java.until(lambda: "b" in java.must("GET", "/connectors"))
    # Java leads, and claims the topic again when its write is refused: then ours is.
    java.until(lambda: java.ask("PUT", "/connectors/a/config", {**config, "batch.size": "3"})[0] == 200)
    java.until(lambda: stores.config.read_to_end(30).connectors["a"].get("batch.size") == "3")
    with pytest.raises(Exception, match="refuses a record"):
        stores.config.put_target("a", "STOPPED")
    assert not stores.config.claimed
