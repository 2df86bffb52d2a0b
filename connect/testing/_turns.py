"""Runs a task's loop on a thread of its own, but never at the same time as the test: the two take turns.

So a test is deterministic, and the task's errors are raised in the test.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Blocked(AssertionError):
    """A call of the plug-in did not return in time."""


class Turns:
    """A thread that runs only while the test waits for it.

    Args:
        work: what the thread does. It calls `pause` to give the turn back.
        name: of the thread.
    """

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self.ended = False
        self._work = work
        self._error: BaseException | None = None
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._running = False
        # A daemon: one that a plug-in blocks forever must not keep the tests from ending.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    # Called by the test.

    def begin(self) -> None:
        """Give the thread its turn, and do not wait for its end."""
        if not self._running and not self.ended:
            self._running = True
            if self._thread.is_alive():
                self._go.release()
            else:
                self._thread.start()

    def back(self, timeout: float) -> bool:
        """Wait until the turn is over. False when it is not, after this many seconds. Raises the thread's error."""
        if self._running:
            if not self._back.acquire(timeout=timeout):
                return False
            self._running = False
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return True

    def take(self, timeout: float) -> None:
        """One turn of the thread.

        Raises:
            Blocked: it did not return within this many seconds.
            RuntimeError: the thread has ended before.
        """
        if self.ended and not self._running:
            raise RuntimeError(f"{self._thread.name} has ended. `restart` the run to go on.")
        self.begin()
        if not self.back(timeout):
            raise Blocked(
                f"{self._thread.name} did not come back within {timeout:g} s. "
                "A poll may wait for about a second, and has to look at context.stopping() meanwhile."
            )

    # Called by the thread.

    def pause(self) -> None:
        """Give the turn back to the test, and wait for the next one."""
        self._back.release()
        self._go.acquire()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
        finally:
            self.ended = True
            self._back.release()
