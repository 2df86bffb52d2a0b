"""What the loops of all tasks share: the order of their calls, pauses, the end, and the view of the watchdog."""

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
    """Runs one task in its process, on one thread. A watchdog observes it from another.

    In this order:

        _start -> (_may_go_on -> _pause or _resume, when the worker commands it -> _turn)* -> _last_steps

    Args:
        control: commands of the worker.
        report: counts for the worker; it calls `measure` for what is not counted continuously.
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
        """Run until the worker ends the task. Raises any other error that ends it.

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
        except BaseException as error:
            self._fails(error)
            raise
        finally:
            steps = (*self._last_steps(), self._waiter.leaves, self._waiter_for_offsets.leaves)
            take_all(steps, self.log, self._report.tell)

    # What each kind does by itself.

    @abstractmethod
    def _start(self) -> bool:
        """Start the task. Returns whether it is paused, as far as the worker knows; `_paused` is set by then."""

    @abstractmethod
    def _turn(self) -> None:
        """Move one batch, or wait a while; raises Stopping, or the error that fails the task."""

    @abstractmethod
    def _pause(self) -> bool:
        """Stop moving records. Returns whether nothing moves; else the loop calls `_tell_pause` once it is so."""

    @abstractmethod
    def _resume(self) -> bool:
        """Continue. Returns whether the worker should be told."""

    @abstractmethod
    def _last_steps(self) -> Sequence[Callable[[], object]]:
        """The last steps of the task; each runs even if others, or `_start`, failed."""

    @abstractmethod
    def measure(self, report: ProgressReport) -> None:
        """Fill in what is not counted continuously."""

    def _fails(self, error: BaseException) -> None:  # noqa: B027 - only what is traced has something to end
        """The task ends with this error; the last steps follow."""

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
        """A failed store or commit of offsets: it is tried again next time."""
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
