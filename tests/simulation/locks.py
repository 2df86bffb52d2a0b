"""What waits for others in the place of `threading`'s: fibers wait, and virtual time passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from tests.simulation.scheduler import Fiber, running


def wake_all(waiters: deque[Fiber]) -> None:
    """Wake all that wait there."""
    scheduler = running.scheduler
    while waiters:
        scheduler.wake(waiters.popleft())


def wait_for_wake(waiters: deque[Fiber], seconds: float | None) -> bool:
    """Wait among others until somebody wakes this fiber, for so many seconds at most. Returns whether one has."""
    scheduler = running.scheduler
    fiber = scheduler.fiber
    if fiber is None:
        return scheduler.park()  # raises
    waiters.append(fiber)
    woken = scheduler.park(seconds)
    if not woken and fiber in waiters:
        waiters.remove(fiber)
    return woken


class Lock:
    """`threading.Lock`."""

    __slots__ = ("_held", "_waiters")

    def __init__(self) -> None:
        self._held = False
        self._waiters: deque[Fiber] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        scheduler = running.scheduler
        if scheduler.closed:
            return True
        if scheduler.preempt:
            scheduler.give_way()
        if not self._held:
            self._held = True
            return True
        if not blocking:
            return False
        until = None if timeout < 0 else scheduler.now + timeout
        while self._held:
            left = None if until is None else until - scheduler.now
            if left is not None and left <= 0:
                return False
            wait_for_wake(self._waiters, left)
        self._held = True
        return True

    def release(self) -> None:
        self._held = False
        if self._waiters:
            running.scheduler.wake(self._waiters.popleft())

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock:
    """`threading.RLock`."""

    __slots__ = ("_depth", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner: Fiber | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = running.scheduler.fiber
        if self._owner is me and self._depth:
            self._depth += 1
            return True
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner, self._depth = me, 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def give_back(self) -> int:
        """For `Condition`: release it however often it is held. Returns how often that was."""
        depth, self._depth = self._depth, 1
        self.release()
        return depth

    def take_again(self, depth: int) -> None:
        """For `Condition`: the reverse."""
        self.acquire()
        self._depth = depth


class Condition:
    """`threading.Condition`."""

    __slots__ = ("_lock", "_waiters")

    def __init__(self, lock: Lock | RLock | None = None) -> None:
        self._lock = RLock() if lock is None else lock
        self._waiters: deque[Fiber] = deque()

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def acquire(self) -> bool:
        return self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        lock = self._lock
        if isinstance(lock, RLock):
            depth = lock.give_back()
            woken = wait_for_wake(self._waiters, timeout)
            lock.take_again(depth)
        else:
            lock.release()
            woken = wait_for_wake(self._waiters, timeout)
            lock.acquire()
        return woken

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        scheduler = running.scheduler
        until = None if timeout is None else scheduler.now + timeout
        result = predicate()
        while not result:
            left = None if until is None else until - scheduler.now
            if left is not None and left <= 0:
                break
            self.wait(left)
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        for _ in range(min(n, len(self._waiters))):
            running.scheduler.wake(self._waiters.popleft())

    def notify_all(self) -> None:
        wake_all(self._waiters)


class Event:
    """`threading.Event`."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters: deque[Fiber] = deque()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        wake_all(self._waiters)

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            wait_for_wake(self._waiters, timeout)
        return self._set


class Semaphore:
    """`threading.Semaphore`."""

    def __init__(self, value: int = 1) -> None:
        self._value = value
        self._waiters: deque[Fiber] = deque()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        while not self._value:
            if not blocking or not wait_for_wake(self._waiters, timeout):
                return False
        self._value -= 1
        return True

    def release(self) -> None:
        self._value += 1
        if self._waiters:
            running.scheduler.wake(self._waiters.popleft())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
