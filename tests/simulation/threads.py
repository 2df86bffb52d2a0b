"""What product code finds in the place of `threading`, `queue`, `time`, `concurrent.futures`: fibers, virtual time."""

from __future__ import annotations

import queue as real_queue
import time as real_time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any, Final, NamedTuple

from tests.simulation.scheduler import Fiber, running

#: Seconds since 1970 at the virtual clock's zero.
EPOCH: Final = 1_700_000_000.0


def _wake_all(waiters: deque[Fiber]) -> None:
    scheduler = running.scheduler
    while waiters:
        scheduler.wake(waiters.popleft())


def _wait(waiters: deque[Fiber], seconds: float | None) -> bool:
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
            _wait(self._waiters, left)
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
            woken = _wait(self._waiters, timeout)
            lock.take_again(depth)
        else:
            lock.release()
            woken = _wait(self._waiters, timeout)
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
        _wake_all(self._waiters)


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
        _wake_all(self._waiters)

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            _wait(self._waiters, timeout)
        return self._set


class Semaphore:
    """`threading.Semaphore`."""

    def __init__(self, value: int = 1) -> None:
        self._value = value
        self._waiters: deque[Fiber] = deque()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        while not self._value:
            if not blocking or not _wait(self._waiters, timeout):
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
        _wake_all(self._waiters)

    def is_alive(self) -> bool:
        return self._fiber is not None and not self._over

    def join(self, timeout: float | None = None) -> None:
        if self.is_alive():
            _wait(self._waiters, timeout)


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
            _wait(self._waiters, left)
        return self._items.popleft()


class Future:
    """`concurrent.futures.Future`."""

    __slots__ = ("_callbacks", "_error", "_result", "_state", "_waiters")

    def __init__(self) -> None:
        self._state = 0  # pending, running, cancelled, done
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []
        self._waiters: deque[Fiber] = deque()

    def __class_getitem__(cls, _: object) -> type[Future]:
        return cls

    def cancel(self) -> bool:
        if self._state in (1, 3):
            return False
        if self._state == 0:
            self._finish(2)
        return True

    def cancelled(self) -> bool:
        return self._state == 2

    def running(self) -> bool:
        return self._state == 1

    def done(self) -> bool:
        return self._state >= 2

    def set_running_or_notify_cancel(self) -> bool:
        if self._state == 2:
            return False
        self._state = 1
        return True

    def set_result(self, result: Any) -> None:
        assert self._state < 2, "it is done already"
        self._result = result
        self._finish(3)

    def set_exception(self, error: BaseException) -> None:
        assert self._state < 2, "it is done already"
        self._error = error
        self._finish(3)

    def _finish(self, state: int) -> None:
        self._state = state
        _wake_all(self._waiters)
        for call in self._callbacks:
            call(self)

    def add_done_callback(self, call: Callable[[Any], object]) -> None:
        if self._state >= 2:
            call(self)
        else:
            self._callbacks.append(call)

    def wait(self, timeout: float | None) -> None:
        """Return when it is done, or the time is up."""
        scheduler = running.scheduler
        until = None if timeout is None else scheduler.now + timeout
        while self._state < 2:
            left = None if until is None else until - scheduler.now
            if left is not None and left <= 0:
                return
            _wait(self._waiters, left)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.wait(timeout)
        if self._state < 2:
            raise TimeoutError
        if self._state == 2:
            raise CancelledError
        return self._error

    def result(self, timeout: float | None = None) -> Any:
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._result


class Waited(NamedTuple):
    """What `wait` returns."""

    done: set[Future]
    not_done: set[Future]


def wait(futures: Iterable[Future], timeout: float | None = None) -> Waited:
    """`concurrent.futures.wait`, for all."""
    scheduler = running.scheduler
    until = None if timeout is None else scheduler.now + timeout
    each = list(futures)
    for future in each:
        future.wait(None if until is None else until - scheduler.now)
    return Waited({one for one in each if one.done()}, {one for one in each if not one.done()})


class ThreadPoolExecutor:
    """`concurrent.futures.ThreadPoolExecutor`. Its fibers end when there is nothing to do."""

    def __init__(self, max_workers: int = 8, thread_name_prefix: str = "pool") -> None:
        self._most = max_workers
        self._name = thread_name_prefix
        self._work: deque[tuple[Future, Callable[[], Any]]] = deque()
        self._at_work = 0
        self._shut = False
        self._waiters: deque[Fiber] = deque()

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        if self._shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        done = Future()
        self._work.append((done, lambda: call(*args, **kwargs)))
        scheduler = running.scheduler
        if self._at_work < self._most and scheduler.fiber is not None:
            self._at_work += 1
            scheduler.spawn(scheduler.fiber.machine, self._name, self._run)
        return done

    def _run(self) -> None:
        while self._work:
            done, call = self._work.popleft()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(result)
        self._at_work -= 1
        if not self._at_work:
            _wake_all(self._waiters)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._shut = True
        if cancel_futures:
            left, self._work = self._work, deque()
            for done, _ in left:
                done.cancel()
        if wait:
            while self._at_work:
                _wait(self._waiters, None)


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
