"""States of connectors and tasks, and the topics they use, in a compacted topic as Java's workers keep them.

A worker writes the states of what it runs, and reads all states. A state from an older generation of the group must not
hide a newer one: before a worker writes a state that ends something (a task that stopped), it checks who wrote last.

What this worker writes is visible to it at once, and is read back from the topic later. Older records in the topic must
not hide it meanwhile, so records of a key are skipped up to the offset of this worker's last write.

Besides Java's fields a state may have four more, which Java's workers ignore: `stalled`, `waiting`, `page`, `restart`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from connect.kafka.admin.topics import TopicShape
from connect.kafka.compacted_log import CompactedLog, LogRecord
from connect.storage.offsets import to_json
from connect.storage.status import ConnectorStatus, MemoryStatusStore, RestartNote, State, Status, TaskStatus, WaitNote
from connect.telemetry.outages import Wait

log = logging.getLogger("connect.storage")

_CONNECTOR = "status-connector-"
_TASK = "status-task-"
_TOPIC = "status-topic-"
_MARK = ":connector-"
_TOPIC_FIELDS = {"name", "connector", "task", "discoverTimestamp"}


@dataclass(slots=True)
class _Writes:
    """What this worker has written under one key.

    Attributes:
        under_way: number of records that are not acknowledged yet.
        last: the offset of the last acknowledged one.
        held: the last record that was read while some were under way.
    """

    under_way: int = 0
    last: int = -1
    held: LogRecord | None = None


class TopicStatusStore(MemoryStatusStore):
    """The states of a pool. What this worker puts is visible at once and written in the background.

    Args:
        topic: `status.storage.topic`.
        clients: Java's client settings of the worker.
        shape: how the topic is created.
    """

    def __init__(self, topic: str, clients: Mapping[str, str], shape: TopicShape) -> None:
        super().__init__()
        self._writes: dict[bytes, _Writes] = {}
        self._writes_lock = threading.Lock()
        # A record that is read may not come between a state's being put and its being known to be under way, nor the
        # other way round. Listeners are called with it.
        self._order = threading.RLock()
        self._removed: Callable[[str, int | None], None] = lambda _, __: None
        self._log = CompactedLog(topic, clients, shape, self._take, patience=None)

    def start(self, timeout: float = 60) -> None:
        """Read everything. Raises `ConnectError`."""
        self._log.start(timeout)

    def close(self, within: float = 2.0) -> None:
        """Finish writes that are under way, within this many seconds."""
        self._log.close(within)

    @property
    def deaf(self) -> Wait | None:
        """The wait for brokers, during which statuses of other workers do not arrive; None while there is none."""
        return self._log.wait

    def listen_to_removals(self, listener: Callable[[str, int | None], None]) -> None:
        self._removed = listener

    # Writing.

    def put(self, status: Status) -> None:
        """Replace the status. DESTROYED removes it from the topic, as Java's workers do."""
        key = _key(status)
        with self._order:
            self._mark(key)
            super().put(status)
        known = self._known(status)
        self._send(key, None if known is None or known.state is State.DESTROYED else _value(known))

    def put_safe(self, status: Status) -> None:
        """Put a state that ends something, unless another worker has written in this generation or a later one."""
        known = self._known(status)
        if known is not None and known.worker_id != status.worker_id and known.generation >= status.generation:
            return
        self.put(status)

    def forget(self, connector: str, task: int | None = None) -> None:
        numbers = [status.task for status in self.tasks(connector)] if task is None else [task]
        if task is None:
            self.forget_topics(connector)
        super().forget(connector, task)
        for number in numbers:
            self._write(_task_key(connector, number), None)
        if task is None:
            self._write(_connector_key(connector), None)

    def forget_connector(self, connector: str) -> None:
        super().forget_connector(connector)
        self._write(_connector_key(connector), None)

    def put_topic(self, connector: str, topic: str, task: int) -> None:
        with self._lock:
            used = self._used.setdefault(connector, {})
            if topic in used:
                return
            used[topic] = None
        content = {"name": topic, "connector": connector, "task": task, "discoverTimestamp": int(time.time() * 1000)}
        self._write(_topic_key(topic, connector), to_json({"topic": content}).encode())

    def forget_topics(self, connector: str) -> None:
        with self._lock:
            names = sorted(self._used.pop(connector, {}))
        for topic in names:
            self._write(_topic_key(topic, connector), None)

    def _known(self, status: Status) -> Status | None:
        if isinstance(status, ConnectorStatus):
            return self.connector(status.connector)
        return next((known for known in self.tasks(status.connector) if known.task == status.task), None)

    def _write(self, key: bytes, value: bytes | None) -> None:
        self._mark(key)
        self._send(key, value)

    def _mark(self, key: bytes) -> None:
        """A record of this key is under way: what is read meanwhile is older."""
        with self._writes_lock:
            self._writes.setdefault(key, _Writes()).under_way += 1

    def _send(self, key: bytes, value: bytes | None) -> None:
        self._log.send_later(key, value).add_done_callback(lambda done: self._written(key, done))

    def _written(self, key: bytes, done: Future[int]) -> None:
        error = done.exception()
        if error is not None:
            log.warning("%s: a state of %s was not written, other workers do not see it", error, key.decode())
        with self._writes_lock:
            writes = self._writes[key]
            writes.under_way -= 1
            if error is None:
                writes.last = max(writes.last, done.result())
            if writes.under_way:
                return
            held, writes.held = writes.held, None
        if held is not None:
            self._take(held)

    # Reading.

    def _take(self, record: LogRecord) -> None:
        key = record.key or b""
        with self._order:
            if not self._is_news(key, record):
                return
            try:
                self._apply(key.decode(), record.value)
            except (KeyError, TypeError, ValueError) as error:
                log.warning("Skipped record %d-%d of the status topic: %r", record.partition, record.offset, error)

    def _is_news(self, key: bytes, record: LogRecord) -> bool:
        """Whether this worker has written nothing of this key since; a record that may be news is held for later."""
        with self._writes_lock:
            writes = self._writes.get(key)
            if writes is not None:
                if writes.under_way:
                    writes.held = record
                    return False
                if record.offset < writes.last:
                    return False
                del self._writes[key]  # what follows is newer than all that this worker wrote
        return True

    def _apply(self, name: str, value: bytes | None) -> None:
        content = None if value is None else _object(json.loads(value))
        if name.startswith(_TOPIC):
            self._apply_topic(name, content)
        elif name.startswith(_TASK):
            connector, _, number = name.removeprefix(_TASK).rpartition("-")
            if content is None:
                super().forget(connector, int(number))
                self._removed(connector, int(number))
            else:
                stalled, waiting = content.get("stalled"), _wait(content.get("waiting"))
                page = content.get("page")
                self._apply_status(TaskStatus(connector, int(number), *_fields(content), stalled, waiting, page))
        elif name.startswith(_CONNECTOR):
            connector = name.removeprefix(_CONNECTOR)
            if content is None:
                super().forget_connector(connector)
                self._removed(connector, None)
            else:
                self._apply_status(ConnectorStatus(connector, *_fields(content)))

    def _apply_status(self, status: Status) -> None:
        if status != self._known(status):  # our own last write is read back as well
            super().put(status)

    def _apply_topic(self, name: str, content: Mapping[str, Any] | None) -> None:
        topic, _, connector = name.removeprefix(_TOPIC).partition(_MARK)
        if content is not None and (missing := _TOPIC_FIELDS - _object(content["topic"]).keys()):
            raise KeyError(*missing)
        with self._lock:
            if content is None:
                self._used.get(connector, {}).pop(topic, None)
            else:
                self._used.setdefault(connector, {})[topic] = None


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError("it is not a JSON object")
    return content


def _fields(content: Mapping[str, Any]) -> tuple[State, str, str | None, int, str | None, RestartNote | None]:
    note = content.get("restart")
    return (
        State(content["state"]),
        str(content["worker_id"]),
        content.get("trace"),
        int(content["generation"]),
        content.get("version"),
        None if note is None else RestartNote(note["kind"], int(note["restarts"]), note["at"], note["why"]),
    )


def _wait(note: Mapping[str, Any] | None) -> WaitNote | None:
    return None if note is None else WaitNote(int(note["since"]), str(note["why"]))


def _key(status: Status) -> bytes:
    if isinstance(status, TaskStatus):
        return _task_key(status.connector, status.task)
    return _connector_key(status.connector)


def _connector_key(connector: str) -> bytes:
    return f"{_CONNECTOR}{connector}".encode()


def _task_key(connector: str, task: int) -> bytes:
    return f"{_TASK}{connector}-{task}".encode()


def _topic_key(topic: str, connector: str) -> bytes:
    return f"{_TOPIC}{topic}{_MARK}{connector}".encode()


def _value(status: Status) -> bytes:
    fields: dict[str, Any] = {
        "state": status.state.value,
        "trace": status.trace,
        "worker_id": status.worker_id,
        "generation": status.generation,
        "version": status.version,
    }
    if isinstance(status, TaskStatus):
        if status.stalled is not None:
            fields["stalled"] = status.stalled
        if (wait := status.waiting) is not None:
            fields["waiting"] = {"since": wait.since_ms, "why": wait.why}
        if status.page is not None:
            fields["page"] = status.page
    if (note := status.restart) is not None:
        fields["restart"] = {"kind": note.kind, "restarts": note.restarts, "at": note.at_ms, "why": note.why}
    return to_json(fields).encode()
