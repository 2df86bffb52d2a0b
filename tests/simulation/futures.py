"""`concurrent.futures` on fibers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from tests.simulation.locks import wait_for_wake, wake_all
from tests.simulation.scheduler import Fiber, running


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
        wake_all(self._waiters)
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
            wait_for_wake(self._waiters, left)

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
            wake_all(self._waiters)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._shut = True
        if cancel_futures:
            left, self._work = self._work, deque()
            for done, _ in left:
                done.cancel()
        if wait:
            while self._at_work:
                wait_for_wake(self._waiters, None)
