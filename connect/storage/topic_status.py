"""States of connectors and tasks, and the topics they use, in a compacted topic as Java's workers keep them.

A worker writes the states of what it runs; everyone reads them all. A state that an older generation of the group
wrote must not hide a newer one: before a state that ends something (a task that stopped) is written, it is looked at
who wrote last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from connect.kafka.compacted_log import CompactedLog, LogRecord
from connect.kafka.topics import TopicShape
from connect.storage.status import ConnectorStatus, MemoryStatusStore, State, Status, TaskStatus

log = logging.getLogger("connect.storage")

_CONNECTOR = "status-connector-"
_TASK = "status-task-"
_TOPIC = "status-topic-"
_MARK = ":connector-"


@dataclass(frozen=True, slots=True)
class ActiveTopic:
    """A topic that a connector used (KIP-558).

    Attributes:
        topic, connector: their names.
        task: the task that used it first.
        discovered_ms: when.
    """

    topic: str
    connector: str
    task: int
    discovered_ms: int


class TopicStatusStore(MemoryStatusStore):
    """The states of a cluster. What this worker puts is here at once and written in the background.

    Args:
        topic: `status.storage.topic`.
        clients: Java's client settings of the worker.
        shape: of the topic.
        worker_id: of this worker.
    """

    def __init__(self, topic: str, clients: Mapping[str, str], shape: TopicShape, worker_id: str) -> None:
        super().__init__()
        self._worker_id = worker_id
        self._topics: dict[str, dict[str, ActiveTopic]] = {}
        self._topics_lock = threading.Lock()
        self._log = CompactedLog(topic, clients, shape, self._take)

    def start(self, timeout: float = 60) -> None:
        """Read everything. Raises `ConnectError`."""
        self._log.start(timeout)

    def close(self) -> None:
        """Write what is under way."""
        self._log.close()

    # Writing.

    def put(self, status: Status) -> None:
        super().put(status)
        known = self._known(status)
        if known is not None:
            self._log.send_later(_key(known), _value(known))

    def put_safe(self, status: Status) -> None:
        """Put it unless another worker, or this one in a newer generation, has spoken since (a state that ends
        something).
        """
        known = self._known(status)
        if known is not None and (known.worker_id != status.worker_id and known.generation >= status.generation):
            return
        self.put(status)

    def forget(self, connector: str, task: int | None = None) -> None:
        numbers = [status.task for status in self.tasks(connector)] if task is None else [task]
        super().forget(connector, task)
        for number in numbers:
            self._log.send_later(f"{_TASK}{connector}-{number}".encode(), None)
        if task is None:
            self._log.send_later(f"{_CONNECTOR}{connector}".encode(), None)
            self.forget_topics(connector)

    def put_topic(self, connector: str, topic: str, task: int) -> None:
        """A task used a topic."""
        found = ActiveTopic(topic, connector, task, int(time.time() * 1000))
        with self._topics_lock:
            if topic in self._topics.get(connector, {}):
                return
            self._topics.setdefault(connector, {})[topic] = found
        content = {"name": topic, "connector": connector, "task": task, "discoverTimestamp": found.discovered_ms}
        self._log.send_later(f"{_TOPIC}{topic}{_MARK}{connector}".encode(), orjson.dumps({"topic": content}))

    def topics(self, connector: str) -> list[str]:
        """The topics that a connector used, sorted."""
        with self._topics_lock:
            return sorted(self._topics.get(connector, {}))

    def forget_topics(self, connector: str) -> None:
        """Forget them."""
        with self._topics_lock:
            names = sorted(self._topics.pop(connector, {}))
        for topic in names:
            self._log.send_later(f"{_TOPIC}{topic}{_MARK}{connector}".encode(), None)

    def _known(self, status: Status) -> Status | None:
        if isinstance(status, ConnectorStatus):
            return self.connector(status.connector)
        return next((known for known in self.tasks(status.connector) if known.task == status.task), None)

    # Reading.

    def _take(self, record: LogRecord) -> None:
        name = (record.key or b"").decode("utf-8", "replace")
        content = None if record.value is None else orjson.loads(record.value)
        if name.startswith(_TOPIC):
            self._take_topic(name, content)
        elif name.startswith(_TASK):
            connector, _, number = name.removeprefix(_TASK).rpartition("-")
            if content is None:
                super().forget(connector, int(number))
            else:
                self._take_status(TaskStatus(connector, int(number), *_fields(content)))
        elif name.startswith(_CONNECTOR):
            connector = name.removeprefix(_CONNECTOR)
            if content is None:
                self.forget_connector(connector)
            else:
                self._take_status(ConnectorStatus(connector, *_fields(content)))

    def _take_status(self, status: Status) -> None:
        known = self._known(status)
        # Our own words come back in order, but later than we spoke: the newest is here already.
        if status.worker_id == self._worker_id and known is not None and known.worker_id == self._worker_id:
            return
        super().put(status)

    def _take_topic(self, name: str, content: Any) -> None:
        topic, _, connector = name.removeprefix(_TOPIC).partition(_MARK)
        with self._topics_lock:
            if content is None:
                self._topics.get(connector, {}).pop(topic, None)
            else:
                found = content["topic"]
                self._topics.setdefault(connector, {})[topic] = ActiveTopic(
                    found["name"], found["connector"], int(found["task"]), int(found["discoverTimestamp"])
                )


def _fields(content: Mapping[str, Any]) -> tuple[State, str, str | None, int, str | None]:
    return (
        State(content["state"]),
        str(content["worker_id"]),
        content.get("trace"),
        int(content["generation"]),
        content.get("version"),
    )


def _key(status: Status) -> bytes:
    if isinstance(status, TaskStatus):
        return f"{_TASK}{status.connector}-{status.task}".encode()
    return f"{_CONNECTOR}{status.connector}".encode()


def _value(status: Status) -> bytes:
    return orjson.dumps(
        {
            "state": status.state.value,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version,
        }
    )
