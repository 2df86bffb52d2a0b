"""Kafka Connect's figures of one task, computed by its worker from the task's reports.

A task of a Java connector reports Kafka Connect's own figures, which are passed on. Other tasks report totals and
distributions (`connect.delivery.meter`), at most once a second; rates, averages and extremes over the last samples are
computed here, where the clock continues also when a task is silent or dead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from connect.telemetry.catalogue import BY_JAVA, FOR_KAFKA
from connect.telemetry.metrics import Buckets, Sample
from connect.telemetry.windows import SPAN, Growth, Span, Window

#: Figures by group and name, as in `connect.telemetry.catalogue.KAFKA`. NaN where nothing was measured lately.
Figures = dict[str, dict[str, float | str]]

_TASK, _SOURCE, _SINK, _ERRORS = (
    "connector-task-metrics",
    "source-task-metrics",
    "sink-task-metrics",
    "task-error-metrics",
)
_TOTALS: Final = {
    _SOURCE: ("source-record-poll-total", "source-record-write-total", "source-record-active-count"),
    _SINK: (
        "sink-record-read-total",
        "sink-record-send-total",
        "sink-record-active-count",
        "sink-record-lag-max",
        "partition-count",
    ),
    _ERRORS: (
        "total-record-failures",
        "total-record-errors",
        "total-records-skipped",
        "total-retries",
        "total-errors-logged",
        "deadletterqueue-produce-requests",
        "deadletterqueue-produce-failures",
        "last-error-timestamp",
    ),
}
_RATES: Final = {
    _SOURCE: ("source-record-poll", "source-record-write"),
    _SINK: ("sink-record-read", "sink-record-send"),
}
_MILLISECONDS: Final = {
    _TASK: {"offset-commit": "connect_task_commit_seconds"},
    _SOURCE: {"poll-batch": "connect_source_poll_seconds"},
    _SINK: {"put-batch": "connect_sink_put_seconds"},
}
_SEEN: Final = (
    "connect_task_batch_records",
    "connect_task_active_records",
    "connect_source_transaction_records",
    "connect_source_age_seconds",
    "connect_sink_age_seconds",
    "connect_source_bytes_total",
    "connect_sink_bytes_total",
    *(name for group in _MILLISECONDS.values() for name in group.values()),
    *(f"{FOR_KAFKA}{name}-total".replace("-", "_") for names in _RATES.values() for name in names),
)


class TaskFigures:
    """The figures of one task since its process began. Safe to use from many threads.

    Args:
        kind: "source" or "sink".
        span: the window of rates, averages and extremes.
        clock: monotonic, in seconds.
    """

    def __init__(self, kind: str, span: Span = SPAN, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind = kind
        self._clock = clock
        self._lock = threading.Lock()
        self._now: dict[str, float] = {}
        self._by_java: Figures = {}
        self._growths = {name: Growth(span, clock) for name in _SEEN}
        self._commits = {outcome: Growth(span, clock) for outcome in ("success", "failure", "skipped")}
        self._totals = dict.fromkeys(self._commits, 0.0)
        self._began = clock()
        self._state = "unassigned"
        self._since = self._began
        self._spent = {"running": 0.0, "paused": 0.0}

    @property
    def state(self) -> str:
        """The task's state in Kafka's words for metrics: unassigned, running, paused or failed."""
        return self._state

    def entered(self, state: str) -> None:
        """The task has entered this state."""
        with self._lock:
            now = self._clock()
            if self._state in self._spent:
                self._spent[self._state] += now - self._since
            self._state, self._since = state, now

    def take(self, told: Iterable[Sample]) -> None:
        """The task reports these values of its series."""
        with self._lock:
            for name, _, labels, value in told:
                if name == BY_JAVA and not isinstance(value, Buckets):
                    self._by_java.setdefault(labels["group"], {})[labels["figure"]] = value
                elif name == "connect_task_commits_total" and not isinstance(value, Buckets):
                    self._commits[labels["outcome"]].take(value)
                    self._totals[labels["outcome"]] = value
                elif name in self._growths:
                    self._growths[name].take(value)
                if name.startswith(FOR_KAFKA) and not isinstance(value, Buckets):
                    self._now[name.removeprefix(FOR_KAFKA)] = value

    @property
    def oldest(self) -> float:
        """The age of the oldest recent record, in seconds, when it was put or acknowledged; NaN when there was none."""
        with self._lock:
            return self._window(f"connect_{self._kind}_age_seconds").largest

    @property
    def put_s(self) -> float:
        """The average of recent puts, in seconds; NaN without any, and of a source."""
        with self._lock:
            return self._window("connect_sink_put_seconds").average

    @property
    def bytes_rate(self) -> float:
        """Bytes a second, recently: keys and values that a source sent, or values that a sink consumed."""
        with self._lock:
            return self._window(f"connect_{self._kind}_bytes_total").rate

    def figures(self) -> Figures:
        """All figures, now."""
        with self._lock:
            own = _SOURCE if self._kind == "source" else _SINK
            found: Figures = {_TASK: {"status": self._state, **self._ratios(), **self._sizes(), **self._outcomes()}}
            found[own] = self._active()
            for group in (own, _ERRORS):
                shown = found.setdefault(group, {})
                shown.update({name: self._now.get(name.replace("-", "_"), 0.0) for name in _TOTALS[group]})
            for name in _RATES[own]:
                found[own][f"{name}-rate"] = self._window(f"{FOR_KAFKA}{name}-total".replace("-", "_")).rate
            for group in (_TASK, own):
                for name, source in _MILLISECONDS[group].items():
                    window = self._window(source)
                    found[group][f"{name}-max-time-ms"] = window.largest * 1000
                    found[group][f"{name}-avg-time-ms"] = window.average * 1000
            if own == _SINK:
                found[own].update(self._sink_commits())
            elif (window := self._window("connect_source_transaction_records")).average > 0:
                found[own]["transaction-size-min"] = window.smallest
                found[own]["transaction-size-max"] = window.largest
                found[own]["transaction-size-avg"] = window.average
            for group, figures in self._by_java.items():
                found[group].update(figures)
            return found

    # With the lock held.

    def _window(self, name: str) -> Window:
        return self._growths[name].window

    def _ratios(self) -> Mapping[str, float]:
        now = self._clock()
        lived = max(now - self._began, 1e-9)
        spent = {**self._spent}
        if self._state in spent:
            spent[self._state] += now - self._since
        return {"running-ratio": spent["running"] / lived, "pause-ratio": spent["paused"] / lived}

    def _sizes(self) -> Mapping[str, float]:
        window = self._window("connect_task_batch_records")
        return {"batch-size-max": window.largest, "batch-size-avg": window.average}

    def _active(self) -> dict[str, float | str]:
        window = self._window("connect_task_active_records")
        prefix = f"{self._kind}-record-active-count"
        return {f"{prefix}-max": window.largest, f"{prefix}-avg": window.average}

    def _outcomes(self) -> Mapping[str, float]:
        success, failure = (self._commits[outcome].window.total for outcome in ("success", "failure"))
        both = success + failure
        return {
            "offset-commit-success-percentage": success / both if both else 0.0,
            "offset-commit-failure-percentage": failure / both if both else 0.0,
        }

    def _sink_commits(self) -> Mapping[str, float]:
        return {
            "offset-commit-seq-no": self._totals["success"] + self._totals["failure"],
            "offset-commit-completion-total": self._totals["success"],
            "offset-commit-completion-rate": self._commits["success"].window.rate,
            "offset-commit-skip-total": self._totals["skipped"],
            "offset-commit-skip-rate": self._commits["skipped"].window.rate,
        }
