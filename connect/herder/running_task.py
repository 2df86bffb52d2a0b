"""One task that runs on this worker, and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from connect.herder.last_hour import TaskTotals
from connect.herder.measures import CpuShare
from connect.herder.task_figures import TaskFigures
from connect.storage import State
from connect.telemetry.outages import Waiter
from connect.telemetry.spans import OpenSpan
from connect.worker import messages
from connect.worker.supervisor import TaskProcess

#: Cores of CPU that a task may use in a process that it shares with others.
_LIGHT: Final = 0.2
_NO_PROGRESS: Final = messages.Progress(0, 0, -1, 0, [])


@dataclass(slots=True)
class RunningTask:
    """A task on this worker.

    Attributes:
        process: see `TaskProcess`.
        version: of its connector's plug-in.
        written: the connector's configuration and its own, variables in place.
        progress: the newest report.
        failed: whether it ended with an error.
        aborting: the abort of a transaction that it left open when it died.
        given_up: whether another worker may already run it.
        wanted: whether it is to run here; no more once somebody stops it.
        paused: whether it is to be paused.
        moving: why it is being ended to start again in a process of its own; empty otherwise.
        state: the last published one.
        stalled: why it moves nothing although there is work, else None.
        page: the address of a page about its work, else None.
        waiter: waits while the task does.
        starting: the span of its start, until it reports that it runs.
        figures: its measurements.
        cpu: its CPU.
    """

    process: TaskProcess
    version: str | None
    figures: TaskFigures
    written: tuple[Mapping[str, str], Mapping[str, str]]
    progress: messages.Progress = _NO_PROGRESS
    failed: bool = False
    aborting: Future[None] | None = None
    given_up: bool = False
    wanted: bool = True
    paused: bool = False
    moving: str = ""
    state: State | None = None
    stalled: str | None = None
    page: str | None = None
    waiter: Waiter = field(init=False)
    starting: OpenSpan | None = None
    cpu: CpuShare = field(default_factory=CpuShare)

    def __post_init__(self) -> None:
        self.waiter = Waiter(self.process.id, about=self.process.id)

    def totals(self) -> TaskTotals:
        """What it has done until now."""
        told, figures = self.progress, self.figures
        lag = float(told.lag) if told.lag >= 0 and self.process.spec.kind == "sink" else math.nan
        return TaskTotals(id(self.process), told.records, told.errors, lag, figures.put_s, figures.oldest)

    def too_much(self) -> str:
        """Why it cannot go on in a process that it shares with tasks of other connectors; empty where it can."""
        if self.process.spec.pack or self.process.shares < 2:
            return ""
        if self.cpu.cores is not None and self.cpu.cores > _LIGHT:
            return f"It uses {self.cpu.cores:.1f} cores, too much for a process that it shares."
        return "The process that it shares with other tasks has grown too large." if self.process.crowded else ""
