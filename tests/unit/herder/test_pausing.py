"""All tasks of a connector are paused, also those that start again in that moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from connect.herder.measures import Measures
from connect.herder.tasks import Tasks
from connect.pipeline.error_kinds import ErrorKind
from connect.settings.worker_keys import STANDALONE
from connect.storage import MemoryStatusStore
from connect.worker import messages

WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "x",
    "value.converter": "x",
    "offset.storage.file.filename": "o",
}


class Process:
    """A task's process, without one."""

    shares = 1
    pid = 0
    failure = ErrorKind.CRASH
    ended_by_itself = True
    abandoned_member = None
    needs_own_process = False
    uprooted = "Its process was killed for the sake of another task."

    def __init__(self, spec: messages.TaskSpec) -> None:
        self.spec, self.id = spec, spec.id
        self.ended = threading.Event()
        self.paused = spec.paused
        self.meanwhile: Callable[[], None] = lambda: None

    def pause(self) -> None:
        self.meanwhile()
        self.paused = True


class Supervisor:
    """Starts them."""

    def start_task(self, spec: messages.TaskSpec, _: Tasks, *, alone: bool) -> Process:
        return Process(spec)

    def watch(self, process: Process) -> None: ...

    def lease_until(self) -> float:
        return 0.0


def spec(number: int) -> messages.TaskSpec:
    return messages.TaskSpec("a", number, "source", "m:C", None, {}, {}, {}, [], [], False, 0.0, 20)


def test_a_task_that_starts_again_while_another_takes_its_time_is_paused() -> None:
    nothing: Any = None
    supervisor: Any = Supervisor()
    measures = Measures(STANDALONE.parse(WORKER))
    tasks = Tasks(
        supervisor, nothing, MemoryStatusStore(), nothing, measures, "w", lambda: 0, nothing, lambda *_: False
    )
    for number in (0, 1):
        tasks.start(spec(number), None, ({}, {}))
    slow, other = (tasks.of("a")[number].process for number in (0, 1))

    def meanwhile() -> None:  # a process that reads its pipe late
        other.ended.set()
        tasks.task_ended(other, None, None)
        until = time.monotonic() + 10
        while tasks.of("a")[1].process is other:
            assert time.monotonic() < until
            time.sleep(0.01)

    slow.meanwhile = meanwhile  # type: ignore[attr-defined]
    tasks.pause("a", paused=True)
    assert [task.process.paused for task in tasks.of("a").values()] == [True, True]  # type: ignore[attr-defined]
    assert all(task.paused for task in tasks.of("a").values())
