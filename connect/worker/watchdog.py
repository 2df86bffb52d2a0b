"""Detects that a task waits, or moves nothing although there is work (P9): on the thread that reads the pipe.

It checks whenever the lease is renewed, every three seconds. The task's thread need not take part: it may be what
hangs. A process in which no thread runs at all (C code holds the interpreter lock, or it is stopped) is detected by its
worker.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from connect.telemetry.outages import Outages, Wait, current
from connect.worker.control import Control
from connect.worker.messages import Alive, Stalled, Waiting

#: A module that has this name as a global is a part of a loop: who waits in what it called is named by that call.
LOOP = "__connect_loop__"
#: What takes no longer is not worth a word.
_WAIT_S = 2.0
#: How often the worker hears that this process lives, at least.
_ALIVE_S = 60.0
#: And how often where it shares the process: it is to leave it when it needs much.
_ALIVE_IN_PACK_S = 10.0


class Watched(Protocol):
    """A loop, observed from another thread: reading neither waits nor changes anything."""

    def moved(self) -> object:
        """A value that changes whenever records are accepted by the target, or by the broker."""

    def waiting(self) -> str:
        """The work that waits, in words; empty when there is none."""

    def failing(self) -> tuple[float, str] | None:
        """Since when, on the monotonic clock, storing or committing offsets has failed, and why; None when it works."""


class Watchdog:
    """Observes the task's thread, which creates it.

    Args:
        loop: what the thread runs.
        control: the activity that it reports.
        after: seconds without progress that count as stalled.
        redact: removes secrets from a text.
        outages: of the task; by default those of this thread.
        shared_cpu: where other tasks have the same process: the CPU-seconds of this one.
    """

    def __init__(
        self,
        loop: Watched,
        control: Control,
        after: float,
        redact: Callable[[str], str],
        outages: Outages | None = None,
        shared_cpu: Callable[[], float] | None = None,
    ) -> None:
        self._loop = loop
        self._outages = outages or current()
        self._control = control
        self._after = after
        self._redact = redact
        self._thread = threading.get_ident()
        self._cpu_seconds = shared_cpu or time.process_time
        self._alive_every = _ALIVE_S if shared_cpu is None else _ALIVE_IN_PACK_S
        self._moved: object = None
        self._calm_at = time.monotonic()  # when something moved, or there was nothing to do
        self._told = False
        self._told_wait: Wait | None = None
        self._alive_due = 0.0

    def look(self) -> None:
        """Check the task, and tell the worker when its condition has changed."""
        self._look_at_wait()
        now = time.monotonic()
        found = self._verdict(now)
        if bool(found) != self._told:
            self._told = bool(found)
            self._control.send(Stalled(self._redact(found)))
        if now >= self._alive_due:
            self._alive_due = now + min(self._alive_every, self._after / 3)
            self._control.send(Alive(self._cpu_seconds()))

    def _look_at_wait(self) -> None:
        if self._control.stopping:
            return  # who waits then leaves, which is no end of what it waited for
        wait, told = self._outages.longest(_WAIT_S), self._told_wait
        if wait is not None and (told is None or told.what != wait.what):
            self._told_wait = wait
            self._control.send(Waiting(wait.since, self._redact(wait.why), self._redact(wait.what)))
        elif wait is None and told is not None:
            self._told_wait = None
            self._control.send(Waiting())

    def _verdict(self, now: float) -> str:
        if self._control.paused or self._control.stopping or not self._control.holds_lease():
            self._calm_at = now
            return ""
        waiting = self._loop.waiting()
        moved = self._loop.moved()
        if moved != self._moved or not waiting:
            self._moved, self._calm_at = moved, now
        doing, since = self._control.activity
        # A source may wait in `poll` as long as it likes. It must not while records of it are not through.
        waits = doing == "poll" and not waiting
        if now - since > self._after and not waits and doing != "poll":
            return self._with_stack(f"{doing or self._call()} has not returned for {now - since:.0f} s.")
        if now - self._calm_at > self._after:
            still = f"Nothing has moved for {now - self._calm_at:.0f} s although {waiting}."
            if now - since > self._after:
                still += f" {doing or self._call()} has not returned for {now - since:.0f} s."
            return self._with_stack(still)
        failing = self._loop.failing()
        if failing is not None and now - failing[0] > self._after:
            return f"Offsets cannot be stored for {now - failing[0]:.0f} s: {failing[1]}"
        return ""

    def _with_stack(self, words: str) -> str:
        frame = sys._current_frames().get(self._thread)
        if frame is None:
            return words
        stack = "".join(traceback.format_stack(frame))
        return f"{words} The task's thread is here (most recent call last):\n{stack}"

    def _call(self) -> str:
        """The call of the loop that has not returned, by name."""
        called: FrameType | None = None
        frame = sys._current_frames().get(self._thread)
        while frame is not None and LOOP not in frame.f_globals:
            called, frame = frame, frame.f_back
        return "The task" if called is None else called.f_code.co_qualname
