"""Threads, timers, queues and clocks that product code finds in the place of Python's: fibers and virtual time."""

from __future__ import annotations

import queue as real_queue
import time as real_time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from tests.simulation.locks import Condition, Event, Lock, RLock, Semaphore, wait_for_wake, wake_all
from tests.simulation.scheduler import Fiber, running

#: Seconds since 1970 at the virtual clock's zero.
EPOCH: Final = 1_700_000_000.0


class Thread:
    """`threading.Thread`: a fiber of the machine whose fiber starts it."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str = "thread",
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        daemon: bool = True,
    ) -> None:
        self.name = name
        self.daemon = daemon
        self._target = target
        self._args, self._kwargs = tuple(args), kwargs or {}
        self._fiber: Fiber | None = None
        self._over = False
        self._waiters: deque[Fiber] = deque()

    @property
    def ident(self) -> int | None:
        return None if self._fiber is None else self._fiber.number

    def run(self) -> None:
        if self._target is not None:
            self._target(*self._args, **self._kwargs)

    def start(self) -> None:
        scheduler = running.scheduler
        if scheduler.fiber is None:
            return
        self._fiber = scheduler.spawn(scheduler.fiber.machine, self.name, self.run)
        self._fiber.thread = self

    def ended(self) -> None:
        """The fiber is over."""
        self._over = True
        wake_all(self._waiters)

    def is_alive(self) -> bool:
        return self._fiber is not None and not self._over

    def join(self, timeout: float | None = None) -> None:
        if self.is_alive():
            wait_for_wake(self._waiters, timeout)


class Timer:
    """`threading.Timer`."""

    def __init__(
        self,
        interval: float,
        function: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.daemon = False
        self._interval = interval
        self._call = lambda: function(*(args or ()), **(kwargs or {}))
        self._timer: list[Any] | None = None

    def start(self) -> None:
        scheduler = running.scheduler
        if scheduler.fiber is not None:
            machine = scheduler.fiber.machine
            self._timer = scheduler.after(self._interval, scheduler.spawn, machine, "timer", self._call)

    def cancel(self) -> None:
        if self._timer is not None:
            running.scheduler.cancel(self._timer)


def current_thread() -> Thread | None:
    """The thread object of the fiber that runs, None if it has none."""
    fiber = running.scheduler.fiber
    return None if fiber is None else fiber.thread


def get_ident() -> int:
    """The number of the fiber that runs."""
    fiber = running.scheduler.fiber
    return 0 if fiber is None else fiber.number


class SimpleQueue:
    """`queue.SimpleQueue`."""

    Empty = real_queue.Empty

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._waiters: deque[Fiber] = deque()

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._waiters:
            running.scheduler.wake(self._waiters.popleft())

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        scheduler = running.scheduler
        until = None if timeout is None else scheduler.now + timeout
        while not self._items:
            left = None if until is None else until - scheduler.now
            if not block or (left is not None and left <= 0):
                raise real_queue.Empty
            wait_for_wake(self._waiters, left)
        return self._items.popleft()


class Threading:
    """The module `threading`."""

    Lock, RLock, Condition, Event, Semaphore, BoundedSemaphore = Lock, RLock, Condition, Event, Semaphore, Semaphore
    Thread, Timer = Thread, Timer
    current_thread, get_ident = staticmethod(current_thread), staticmethod(get_ident)


class Queue:
    """The module `queue`."""

    SimpleQueue, Empty = SimpleQueue, real_queue.Empty


def _skew(which: int) -> float:
    fiber = running.scheduler.fiber
    return 0.0 if fiber is None else fiber.machine.skew[which]


class Time:
    """The module `time`. The clocks of a host differ from each other, and from those of other hosts."""

    CLOCK_BOOTTIME, CLOCK_MONOTONIC = real_time.CLOCK_BOOTTIME, real_time.CLOCK_MONOTONIC

    @staticmethod
    def monotonic() -> float:
        return running.scheduler.now + _skew(0)

    perf_counter = monotonic

    @staticmethod
    def boot_time(_: int = 0) -> float:
        return running.scheduler.now + _skew(1)

    clock_gettime = boot_time

    @staticmethod
    def time() -> float:
        return running.scheduler.now + EPOCH + _skew(2)

    @staticmethod
    def sleep(seconds: float) -> None:
        running.scheduler.park(seconds)


threading, queue, time = Threading(), Queue(), Time()
