"""A worker's own states, read back from the topic at the moment at which it puts newer ones."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from connect.kafka.admin.topics import TopicShape
from connect.kafka.compacted_log import LogRecord
from connect.storage import topic_status
from connect.storage.status import State, TaskStatus
from connect.storage.topic_status import TopicStatusStore

WORKER = "a:8083"


class Log:
    """Stands for the topic: what is written is durable when a test says so."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.written: list[tuple[LogRecord, Future[int]]] = []

    def send_later(self, key: bytes, value: bytes | None) -> Future[int]:
        done: Future[int] = Future()
        self.written.append((LogRecord(0, len(self.written), key, value, None), done))
        return done

    def acknowledge(self) -> LogRecord:
        """The last record is durable. It is returned, as it is about to be read."""
        record, done = self.written[-1]
        done.set_result(record.offset)
        return record


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log()
    monkeypatch.setattr(topic_status, "CompactedLog", lambda *_, **__: made)
    return made


def task(state: State) -> TaskStatus:
    return TaskStatus("c", 1, state, WORKER, generation=4)


def test_an_older_state_that_is_read_between_does_not_hide_a_newer_one(log: Log) -> None:
    store = TopicStatusStore("statuses", {}, TopicShape(1, 1, {}))
    store.put(task(State.RUNNING))
    running = log.acknowledge()
    reading = threading.Thread(target=store._take, args=(running,))

    def read_between(status: object) -> None:
        if status == task(State.PAUSED):
            reading.start()
            reading.join(0.2)  # it is done by now, unless it waits

    store.listen(read_between)
    store.put(task(State.PAUSED))
    reading.join()
    assert store.tasks("c") == [task(State.PAUSED)]
    assert b"PAUSED" in (log.written[-1][0].value or b"")
    store._take(log.acknowledge())
    assert store.tasks("c") == [task(State.PAUSED)]
