"""The loop of a task that an engine runs: watches it, passes on the worker's commands, reports its progress.

The engine moves the records (see `connect.api.engine`); this process holds the lease for it and is responsible for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any

from connect.api.engine import EngineProgress, EngineTask
from connect.api.metrics import EngineMetrics
from connect.data.column import Plain
from connect.plugins.lifetime import Lifetime
from connect.worker.control import Control
from connect.worker.loop import Loop
from connect.worker.messages import Page, TaskSpec
from connect.worker.progress import ProgressReport

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long the engine is watched before the loop looks at what the worker wants.
_WATCH_S = 0.5


class EngineContext:
    """See `connect.api.engine.EngineTaskContext`."""

    def __init__(
        self,
        spec: TaskSpec,
        task_target: Callable[[], tuple[str, str | None]],
        metrics: EngineMetrics,
        control: Control,
        redact: Callable[[str], str],
    ) -> None:
        self.connector = spec.connector
        self.task_number = spec.task
        self.kind: str = spec.kind
        self.configs: Mapping[str, str] = spec.config
        self.connector_config: Mapping[str, str] = spec.connector_config
        self.worker_config: Mapping[str, str] = spec.worker_config
        self.plugin_path: Sequence[str] = spec.plugin_path
        self._task_target = task_target
        self.metrics = metrics
        self.exit_stack = ExitStack()
        self.transactional_id = spec.transactional_id
        self.offsets_topic = spec.offsets_topic
        self._control = control
        self._redact = redact

    @cached_property
    def task_target(self) -> tuple[str, str | None]:
        return self._task_target()

    def lease_until(self) -> float:
        return self._control.lease_until()

    def ask_to_begin(self) -> None:
        self._control.ask_to_begin()

    def stopping(self) -> bool:
        return self._control.stopping

    def redact(self, text: str) -> str:
        return self._redact(text)

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return list(self._control.ask_offsets(partitions))

    def store_offsets(self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        self._control.store_offsets(entries)


class EngineLoop(Loop):
    """Runs one engine's task. See `Loop`.

    Args:
        task: created, with its context set, not started.
        control, report: see `Loop`.
    """

    log = logging.getLogger("connect.worker.engine")

    def __init__(self, task: EngineTask, control: Control, report: ProgressReport) -> None:
        super().__init__(control, report)
        self._task = task
        self._life = Lifetime(task)
        self._progress = EngineProgress()
        self._told_pause = control.paused  # what the worker was told last
        control.wake_by(lambda: None)

    def _start(self) -> bool:
        self._control.await_lease()
        self._control.set_activity("starting the engine")
        self._life.start(paused=self._paused)
        self._follow_pause()  # starting takes a while; what is told then is how it is then
        return self._told_pause

    def _may_go_on(self) -> None:
        self._control.check()  # the engine looks at the lease by itself

    def _turn(self) -> None:
        self._control.set_activity("poll")  # it may wait as long as it likes while nothing is there
        self._take(self._task.watch(_WATCH_S))

    def _last_steps(self) -> Sequence[Callable[[], object]]:
        return [self._life.end]

    def _take(self, progress: EngineProgress) -> None:
        before, self._progress = self._progress, progress
        report = self._report
        report.read, report.records, report.errors = progress.read, progress.written, progress.errors
        if progress.topics != before.topics:
            report.used(Plain(sorted(progress.topics)))
        if progress.page != before.page:
            self._control.send(Page(progress.page))
        if not progress.failing:
            self._failing = None
            self._waiter.goes_on()
        else:
            self._waiter.waits(progress.failing)
            since = time.monotonic() if self._failing is None else self._failing[0]
            self._failing = (since, progress.failing)
        if self._paused and not self._told_pause and not progress.busy:
            self._tell_pause()

    def _pause(self) -> bool:
        self._task.pause()
        return False  # until nothing is being written any more

    def _resume(self) -> bool:
        self._task.resume()
        return self._told_pause

    def _tell_pause(self) -> None:
        self._told_pause = self._paused
        super()._tell_pause()

    def measure(self, report: ProgressReport) -> None:
        report.lag = self._progress.lag

    def moved(self) -> object:
        return (self._progress.read, self._progress.written)

    def waiting(self) -> str:
        lag = self._progress.lag
        return f"{lag} records wait" if lag > 0 and not self._paused else ""
