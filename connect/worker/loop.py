"""What the loops of all tasks have in common: the order of their calls, pauses, the end, and what a watchdog sees."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from connect.telemetry.outages import Waiter
from connect.worker.control import Control, Stopping
from connect.worker.ending import take_all
from connect.worker.messages import Paused
from connect.worker.progress import ProgressReport

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`


class Loop(ABC):
    """Runs one task in its process, from one thread. A watchdog looks at it from another.

    In this order:

        _start -> (_may_go_on -> _pause or _resume, where the worker wants it -> _turn)* -> _last_steps

    Args:
        control: what the worker wants.
        report: counts for the worker; it asks `measure` for what is not counted as it goes.
    """

    log: ClassVar[logging.Logger]
    #: One outage, whatever each of the clients says of it.
    offsets_wait: ClassVar[str] = ""

    def __init__(self, control: Control, report: ProgressReport) -> None:
        self._control = control
        self._report = report
        self._paused = control.paused  # by the worker
        self._failing: tuple[float, str] | None = None
        self._waiter, self._waiter_for_offsets = Waiter(), Waiter()
        report.measure = self.measure

    def run(self, started: Callable[[bool], None]) -> None:
        """Run until the worker wants the task to end. Raises what ends the task otherwise.

        Args:
            started: called once the task has started, with whether it is paused.
        """
        try:
            started(self._start())
            while True:
                self._may_go_on()
                self._follow_pause()
                self._turn()
                self._report.tell_if_due()
        except Stopping:
            self.log.debug("stopping")
        finally:
            steps = (*self._last_steps(), self._waiter.leaves, self._waiter_for_offsets.leaves)
            take_all(steps, self.log, self._report.tell)

    # What each kind does by itself.

    @abstractmethod
    def _start(self) -> bool:
        """Start the task. Returns whether it is paused, as far as the worker was told; `_paused` is set by then."""

    @abstractmethod
    def _turn(self) -> None:
        """Move one batch, or wait a while; raises Stopping, or what the task fails with."""

    @abstractmethod
    def _pause(self) -> bool:
        """Move nothing more. Returns whether that is so; else the loop calls `_tell_pause` as soon as it is."""

    @abstractmethod
    def _resume(self) -> bool:
        """Go on. Returns whether the worker is to be told."""

    @abstractmethod
    def _last_steps(self) -> Sequence[Callable[[], object]]:
        """What is to be done at the end, each whatever became of the others, also when `_start` failed."""

    @abstractmethod
    def measure(self, report: ProgressReport) -> None:
        """Fill in what is not counted as it goes."""

    def _may_go_on(self) -> None:
        """Return when the task may work: it holds its lease (P3). Raises Stopping."""
        self._control.await_lease()

    # Pauses.

    def _follow_pause(self) -> None:
        if self._control.paused == self._paused:
            return
        self._paused = self._control.paused
        if self._pause() if self._paused else self._resume():
            self._tell_pause()

    def _tell_pause(self) -> None:
        self._report.tell()
        self._control.send(Paused(self._paused))

    # Offsets that cannot be stored or committed now.

    def _offsets_failed(self, problem: str) -> None:
        """They are tried again next time."""
        self._failing = self._failing or (time.monotonic(), problem)
        self._waiter_for_offsets.waits(problem, what=self.offsets_wait)

    def _offsets_stored(self) -> None:
        self._failing = None
        self._waiter_for_offsets.goes_on()

    # For the watchdog, see `connect.worker.watchdog.Watched`.

    @abstractmethod
    def moved(self) -> object: ...

    @abstractmethod
    def waiting(self) -> str: ...

    def failing(self) -> tuple[float, str] | None:
        return self._failing
