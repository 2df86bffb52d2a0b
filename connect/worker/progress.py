"""What a task has done, reported to its worker once a second, if it has done anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from connect.data.column import Column
from connect.delivery.traces import TaskTraces
from connect.telemetry.metrics import Registry
from connect.worker.control import Control
from connect.worker.messages import Progress, Spans, UsedTopics

#: How often a task tells how far it is; and how often one that moves nothing looks whether there is something to tell.
_EVERY_S = 1.0
_QUIET_S = 5.0
#: After so many seconds it names its topics again: a user may have reset them, and does not ask the task.
_TOPICS_S = 10.0


class ProgressReport:
    """Counts of one task. Called on the task's thread.

    Args:
        control: to the worker.
        registry: of this process; its changes are reported too.
        labels: of the task's metrics.
        traces: of its batches, reported too; None where nothing is traced.

    Attributes:
        measure: called before each report, to fill in what is not counted continuously; set by the task's loop.
        registry, labels, traces: see there.
        read: records polled from the source, or consumed.
        records: records acknowledged by the broker, or accepted by the sink task.
        lag: records that wait; -1 unknown.
        errors: records given up.
    """

    def __init__(
        self,
        control: Control,
        registry: Registry,
        labels: Mapping[str, str] | None = None,
        traces: TaskTraces | None = None,
    ) -> None:
        self.measure: Callable[[ProgressReport], None] = lambda _: None
        self.registry = registry
        self.labels = labels or {}
        self.traces = traces
        self.read = 0
        self.records = 0
        self.lag = -1
        self.errors = 0
        self._control = control
        self._due = 0.0
        self._topics: set[str] = set()
        self._forget_at = 0.0
        self._told: tuple[int, int, int, int] | None = None
        self._quiet_since = 0  # records read when there was nothing to tell
        self._look_again = 0.0

    def used(self, topics: Column[str]) -> None:
        """Records of these topics were read or written: report those to the worker that it was not told lately."""
        if not len(topics):
            return
        if (now := time.monotonic()) >= self._forget_at:
            self._forget_at = now + _TOPICS_S
            self._topics.clear()
        new = ({topics[0]} if topics.constant else set(topics)) - self._topics
        if new:
            self._topics |= new
            self._control.send(UsedTopics(sorted(new)))

    def tell_if_due(self) -> None:
        """Report to the worker, at most once a second."""
        now = time.monotonic()
        if now >= self._due and (self.read != self._quiet_since or now >= self._look_again):
            self.tell()

    def tell(self) -> None:
        """Report to the worker now. Only changes are sent: an idle task is silent."""
        self._due = time.monotonic() + _EVERY_S
        self.measure(self)
        if self.traces is not None and (spans := self.traces.take()):
            self._control.send(Spans(spans))
        counts = (self.records, self.read, self.lag, self.errors)
        metrics = self.registry.changed()
        if metrics or counts != self._told:
            self._told = counts
            self._quiet_since = -1
            self._control.send(Progress(*counts, metrics))
        else:
            self._quiet_since = self.read
            self._look_again = self._due - _EVERY_S + _QUIET_S
