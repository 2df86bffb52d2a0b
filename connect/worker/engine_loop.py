"""The loop of a task that an engine runs: it watches, passes on what the worker wants, and tells how far the engine is.

The engine moves the records (see `connect.api.engine`); this process holds the lease for it and answers for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.api.engine import EngineProgress, EngineTask
from connect.api.metrics import PluginMetrics
from connect.data.column import Plain
from connect.telemetry.outages import Waiter
from connect.worker.control import Control, Stopping
from connect.worker.ending import take_all
from connect.worker.messages import Paused, TaskSpec
from connect.worker.progress import ProgressReport

log = logging.getLogger("connect.worker.engine")

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long the engine is watched before the loop looks at what the worker wants.
_WATCH_S = 0.5


class EngineContext:
    """See `connect.api.engine.EngineTaskContext`."""

    def __init__(
        self,
        spec: TaskSpec,
        task_target: tuple[str, str | None],
        metrics: PluginMetrics,
        control: Control,
        redact: Callable[[str], str],
    ) -> None:
        self.connector = spec.connector
        self.kind: str = spec.kind
        self.configs: Mapping[str, str] = spec.config
        self.connector_config: Mapping[str, str] = spec.connector_config
        self.worker_config: Mapping[str, str] = spec.worker_config
        self.plugin_path: Sequence[str] = spec.plugin_path
        self.task_target = task_target
        self.metrics = metrics
        self.transactional_id = spec.transactional_id
        self.offsets_topic = spec.offsets_topic
        self._control = control
        self._redact = redact

    def lease_until(self) -> float:
        return self._control.lease_until()

    def stopping(self) -> bool:
        return self._control.stopping

    def redact(self, text: str) -> str:
        return self._redact(text)

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return list(self._control.ask_offsets(partitions))

    def store_offsets(self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        self._control.store_offsets(entries)


class EngineLoop:
    """Runs one engine's task in its process, from one thread.

    Args:
        task: made, with its context set, not started.
        control: what the worker wants.
        report: counts for the worker.
    """

    def __init__(self, task: EngineTask, control: Control, report: ProgressReport) -> None:
        self._task = task
        self._control = control
        self._report = report
        self._progress = EngineProgress()
        self._paused = control.paused
        self._told_pause = control.paused  # what the worker was told last
        self._failing: tuple[float, str] | None = None
        self._waiter = Waiter()
        control.wake_by(lambda: None)

    def run(self, started: Callable[[bool], None]) -> None:
        """Run until the worker wants the task to end. Raises what ends the task otherwise.

        Args:
            started: called once the task has started, with whether it is paused.
        """
        try:
            self._control.await_lease()
            self._control.set_activity("starting the engine")
            self._task.start(paused=self._paused)
            self._follow_pause()  # starting takes a while; what is told then is how it is then
            started(self._told_pause)
            while True:
                self._control.check()
                self._follow_pause()
                self._control.set_activity("poll")  # it may wait as long as it likes while nothing is there
                self._take(self._task.watch(_WATCH_S))
                self._report.tell_if_due()
        except Stopping:
            log.debug("stopping")
        finally:
            self._finish()

    def _take(self, progress: EngineProgress) -> None:
        before, self._progress = self._progress, progress
        report = self._report
        report.read, report.records, report.errors = progress.read, progress.written, progress.errors
        if progress.topics != before.topics:
            report.used(Plain(sorted(progress.topics)))
        if not progress.failing:
            self._failing = None
            self._waiter.goes_on()
        else:
            self._waiter.waits(progress.failing)
            since = time.monotonic() if self._failing is None else self._failing[0]
            self._failing = (since, progress.failing)
        if self._paused and not self._told_pause and not progress.busy:
            self._tell_pause()

    def _follow_pause(self) -> None:
        if self._control.paused == self._paused:
            return
        self._paused = self._control.paused
        if self._paused:
            self._task.pause()  # it is told when nothing is being written any more
        else:
            self._task.resume()
            if self._told_pause:
                self._tell_pause()

    def _tell_pause(self) -> None:
        self._told_pause = self._paused
        self._report.tell()
        self._control.send(Paused(self._paused))

    def measure(self, report: ProgressReport) -> None:
        """Fill in what is not counted as it goes."""
        report.lag = self._progress.lag

    # For the watchdog, see `connect.worker.watchdog.Watched`.

    def moved(self) -> object:
        return (self._progress.read, self._progress.written)

    def waiting(self) -> str:
        lag = self._progress.lag
        return f"{lag} records wait" if lag > 0 and not self._paused else ""

    def failing(self) -> tuple[float, str] | None:
        return self._failing

    def _finish(self) -> None:
        take_all([self._task.stop, self._waiter.leaves], log, self._report.tell)
