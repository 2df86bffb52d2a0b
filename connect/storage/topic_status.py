"""States of connectors and tasks, and the topics they use, in a compacted topic as Java's workers keep them.

A worker writes the states of what it runs; everyone reads them all. A state that an older generation of the group
wrote must not hide a newer one: before a state that ends something (a task that stopped) is written, it is looked at
who wrote last.

What this worker says is known to it at once, and comes back from the topic later. What came before it in the topic must
not hide it meanwhile, so each key is followed to the offset of our own last word.

Beside Java's fields a state may have three of ours, which Java's workers take no notice of: `stalled`, `waiting` and
`restart`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
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
class _Words:
    """What this worker has written under one key.

    Attributes:
        under_way: how many records are not acknowledged yet.
        last: the offset of the last one that is.
        held: the last record that was read while some were under way.
    """

    under_way: int = 0
    last: int = -1
    held: LogRecord | None = None


class TopicStatusStore(MemoryStatusStore):
    """The states of a cluster. What this worker puts is here at once and written in the background.

    Args:
        topic: `status.storage.topic`.
        clients: Java's client settings of the worker.
        shape: of the topic.
    """

    def __init__(self, topic: str, clients: Mapping[str, str], shape: TopicShape) -> None:
        super().__init__()
        self._words: dict[bytes, _Words] = {}
        self._words_lock = threading.Lock()
        self._log = CompactedLog(topic, clients, shape, self._take, patience=None)

    def start(self, timeout: float = 60) -> None:
        """Read everything. Raises `ConnectError`."""
        self._log.start(timeout)

    def close(self, within: float = 2.0) -> None:
        """Write what is under way, for so many seconds at most."""
        self._log.close(within)

    @property
    def deaf(self) -> Wait | None:
        """Since when other workers are not heard, because no broker answers; None while they are."""
        return self._log.wait

    # Writing.

    def put(self, status: Status) -> None:
        """Replace what was known. DESTROYED removes it from the topic, as Java's workers do."""
        super().put(status)
        known = self._known(status)
        if known is None or known.state is State.DESTROYED:
            self._write(_key(status), None)
        else:
            self._write(_key(known), _value(known))

    def put_safe(self, status: Status) -> None:
        """Put a state that ends something, unless another worker has spoken in this generation or a later one."""
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
        with self._words_lock:
            self._words.setdefault(key, _Words()).under_way += 1
        self._log.send_later(key, value).add_done_callback(lambda done: self._written(key, done))

    def _written(self, key: bytes, done: Future[int]) -> None:
        error = done.exception()
        if error is not None:
            log.warning("%s: other workers do not see a state of %s", error, key.decode())
        with self._words_lock:
            words = self._words[key]
            words.under_way -= 1
            if error is None:
                words.last = max(words.last, done.result())
            if words.under_way:
                return
            held, words.held = words.held, None
        if held is not None:
            self._take(held)

    # Reading.

    def _take(self, record: LogRecord) -> None:
        key = record.key or b""
        with self._words_lock:
            words = self._words.get(key)
            if words is not None:
                if words.under_way:
                    words.held = record
                    return
                if record.offset < words.last:
                    return
                del self._words[key]  # what comes from here on is newer than all that we said
        try:
            self._apply(key.decode(), record.value)
        except (KeyError, TypeError, ValueError) as error:
            log.warning("Record %d-%d of the status topic is passed over: %r", record.partition, record.offset, error)

    def _apply(self, name: str, value: bytes | None) -> None:
        content = None if value is None else _object(json.loads(value))
        if name.startswith(_TOPIC):
            self._apply_topic(name, content)
        elif name.startswith(_TASK):
            connector, _, number = name.removeprefix(_TASK).rpartition("-")
            if content is None:
                super().forget(connector, int(number))
            else:
                stalled, waiting = content.get("stalled"), _wait(content.get("waiting"))
                self._apply_status(TaskStatus(connector, int(number), *_fields(content), stalled, waiting))
        elif name.startswith(_CONNECTOR):
            connector = name.removeprefix(_CONNECTOR)
            if content is None:
                super().forget_connector(connector)
            else:
                self._apply_status(ConnectorStatus(connector, *_fields(content)))

    def _apply_status(self, status: Status) -> None:
        if status != self._known(status):  # our own last word comes back as well
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
        raise TypeError("it is no JSON object")
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
    if (note := status.restart) is not None:
        fields["restart"] = {"kind": note.kind, "restarts": note.restarts, "at": note.at_ms, "why": note.why}
    return to_json(fields).encode()
