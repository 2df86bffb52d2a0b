"""What tasks wait for: an unavailable database, broker or store. One outage, however many tasks and clients wait.

An outage is logged when it begins, as a count in growing intervals, and when it is over. A task's process logs none
itself: its worker learns of it (see `connect.worker.watchdog`), shows it in the task's status and logs it here.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

log = logging.getLogger("connect.outages")

#: When an outage is told again: first after so many seconds, then after twice as many each time, up to these.
_AGAIN_S: Final = (30.0, 3600.0)
#: What comes back so soon was not over.
_CALM_S: Final = 5.0
_LOOK_S: Final = 1.0
_NAMES: Final = 5
_NUMBERS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait.

    Attributes:
        since: seconds since 1970.
        why: a sentence, for people.
        what: what is waited for. Equal for waits of the same outage.
    """

    since: float
    why: str
    what: str


class Waiter:
    """A party that sometimes waits, for one thing at a time. What it waits for is shown in its task's status.

    A task that raises RetriableError does not need one: this is for what is retried within `poll` or `put`.

    Args:
        name: for lists of waiters.
        about: the task that waits; None for this process itself.
        among: by default the outages of this thread's context, see `current`.
    """

    def __init__(self, name: str = "", about: str | None = None, among: Outages | None = None) -> None:
        self.name = name
        self.about = about
        self.wait: Wait | None = None
        self._outages = among or current()

    def waits(self, why: str, *, what: str | None = None, since: float | None = None) -> None:
        """It waits, from now on or still.

        Args:
            why: see `Wait`. It may change from call to call.
            what: see `Wait`; by default `why`, without its numbers.
            since: when it began to wait; by default at the first of these calls.
        """
        self._outages._takes_up(self, why, what, since)

    def goes_on(self) -> None:
        """The wait is over. Does nothing if there was none."""
        if self.wait is not None:
            self._outages._goes_on(self)

    def leaves(self) -> None:
        """It ends, without knowing whether the outage is over."""
        if self.wait is not None:
            self._outages._leaves(self)


@dataclass(slots=True)
class _Outage:
    since: float
    why: str
    about: str | None
    due: float
    pause: float = _AGAIN_S[0]
    ended: float | None = None

    def is_over(self, now: float) -> bool:
        return self.ended is not None and now - self.ended >= _CALM_S


class Outages:
    """The outages that this process knows of. Thread-safe.

    Args:
        clock: seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._waiters: dict[Waiter, Wait] = {}
        self._outages: dict[str, _Outage] = {}
        self._lock = threading.Lock()
        self._telling = True
        self._thread: threading.Thread | None = None

    def leave_telling(self) -> None:
        """Log nothing from now on: another process does."""
        self._telling = False

    def longest(self, seconds: float = 0.0) -> Wait | None:
        """The wait that began first, if there is one of at least this age."""
        with self._lock:
            first = min(self._waiters.values(), key=lambda wait: wait.since, default=None)
        return first if first is not None and self._clock() - first.since >= seconds else None

    def tell_due(self) -> bool:
        """Log what is due by now. Called once a second during an outage. False when there is none any more."""
        now = self._clock()
        with self._lock:
            for what, outage in list(self._outages.items()):
                self._tell(what, outage, now)
            return bool(self._outages)

    def _takes_up(self, waiter: Waiter, why: str, what: str | None, since: float | None) -> None:
        with self._lock:
            now, before = self._clock(), waiter.wait
            what = what or _NUMBERS.sub("#", why)
            outage = self._outages.get(what)
            if since is None and outage is not None and not outage.is_over(now):
                since = outage.since  # somebody else in this process has waited for it until now
            wait = Wait(before.since if before is not None else now if since is None else since, why, what)
            waiter.wait = self._waiters[waiter] = wait
            if before is not None and before.what != wait.what:
                self._drop(before.what)  # it may be over or not: this one did not get so far
            if before is None or before.what != wait.what:
                self._meet(waiter, wait, now)

    def _goes_on(self, waiter: Waiter) -> None:
        with self._lock:
            waiter.wait = None
            if (wait := self._waiters.pop(waiter, None)) is not None:
                self._left(wait.what, self._clock())

    def _leaves(self, waiter: Waiter) -> None:
        with self._lock:
            waiter.wait = None
            if (wait := self._waiters.pop(waiter, None)) is not None:
                self._drop(wait.what)

    def _waiting(self, what: str) -> list[Waiter]:
        return [waiter for waiter, wait in self._waiters.items() if wait.what == what]

    def _meet(self, waiter: Waiter, wait: Wait, now: float) -> None:
        outage = self._outages.get(wait.what)
        if outage is not None and not outage.is_over(now):
            outage.ended = None
            if outage.about != waiter.about:
                outage.about = None
            return
        self._outages[wait.what] = _Outage(wait.since, wait.why, waiter.about, now + _AGAIN_S[0])
        self._say(logging.WARNING, f"{_sentence(wait.why)} Trying again; nothing is lost.", waiter.about)
        if self._telling and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="outages", daemon=True)
            self._thread.start()

    def _drop(self, what: str) -> None:
        if not self._waiting(what):
            self._outages.pop(what, None)

    def _left(self, what: str, now: float) -> None:
        if what in self._outages and not self._waiting(what):
            self._outages[what].ended = now

    def _tell(self, what: str, outage: _Outage, now: float) -> None:
        if outage.ended is not None:
            if outage.is_over(now):
                del self._outages[what]
                words = f"Over after {_length(outage.ended - outage.since)}: {outage.why}"
                self._say(logging.INFO, words, outage.about)
        elif now >= outage.due:
            waiting = self._waiting(what)
            outage.why = self._waiters[waiting[0]].why
            outage.pause = min(outage.pause * 2, _AGAIN_S[1])
            outage.due = now + outage.pause
            words = f"For {_length(now - outage.since)} now: {_sentence(outage.why)}{_who(waiting)}"
            self._say(logging.WARNING, words, outage.about)

    def _say(self, level: int, words: str, about: str | None) -> None:
        if not self._telling:
            return
        log.log(level, "%s", words, extra={} if about is None else {"about": about})

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            if not self.tell_due():
                with self._lock:
                    if not self._outages:
                        self._thread = None
                        return


def _sentence(text: str) -> str:
    return text if text.rstrip(')"').endswith((".", "!", "?")) else f"{text}."


def _who(waiting: list[Waiter]) -> str:
    if len(waiting) == 1:
        return ""
    names = sorted(waiter.name for waiter in waiting if waiter.name)
    if not names:
        return f" {len(waiting)} wait."
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f" {len(names)} wait: {', '.join(names[:_NAMES])}{more}."


def _length(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


#: This process's own.
outages = Outages()
#: Of one of the tasks that share this process; the threads of a task have it in their context.
of_task: ContextVar[Outages] = ContextVar("outages of a task")


def current() -> Outages:
    """The outages that this thread's waits belong to: its task's where tasks share the process, else the process's."""
    return of_task.get(outages)
