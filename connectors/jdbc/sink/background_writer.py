"""Writes in a thread of its own what a task has taken, while the task consumes and decodes the next records.

What waits when a transaction is done goes into the next one together: the slower commits are, the fewer there are.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from connect import SinkBatch
from connectors.jdbc.sink.writer import Written

#: How many batches may wait, beside those that are being written (P7).
_MOST_WAITING = 8


class BackgroundWriter:
    """A thread that writes, and stops at the first error: then `settle` gives back what is not written.

    All methods are for the task's thread.

    Args:
        write: called in the other thread, with batches in order.
    """

    def __init__(self, write: Callable[[Sequence[SinkBatch]], Written]) -> None:
        self._write = write
        self._changed = threading.Condition()
        self._waiting: deque[SinkBatch] = deque()
        self._writing: list[SinkBatch] = []
        self._error: Exception | None = None
        self._written: list[Written] = []
        self._ending = False
        self._thread: threading.Thread | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing waits, nothing is being written, and nothing has failed."""
        with self._changed:
            return not self._waiting and not self._writing

    @property
    def failed(self) -> bool:
        """Whether a write has failed: `settle` tells."""
        return self._error is not None

    def hand(self, batch: SinkBatch) -> bool:
        """Have a batch written. Waits as long as too many do already. False: a write has failed, it was not taken."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="jdbc-writer", daemon=True)
            self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < _MOST_WAITING or self._error is not None)
            if self._error is not None:
                return False
            self._waiting.append(batch)
            self._changed.notify_all()
        return True

    def settle(self) -> tuple[list[SinkBatch], Exception | None]:
        """Wait until all is written or something has failed: what is not written then, in order, and why."""
        with self._changed:
            self._changed.wait_for(lambda: (not self._waiting or self._error is not None) and not self._busy())
            left, error = [*self._writing, *self._waiting], self._error
            self._writing, self._error = [], None
            self._waiting.clear()
        return left, error

    def withdraw(self) -> list[SinkBatch]:
        """Wait for the transaction that runs, and take back what waits, or has failed."""
        with self._changed:
            waiting = list(self._waiting)
            self._waiting.clear()
            self._changed.wait_for(lambda: not self._busy())
            left = [*self._writing, *waiting]
            self._writing, self._error = [], None
        return left

    def written(self) -> list[Written]:
        """What was written since the last call."""
        with self._changed:
            done, self._written = self._written, []
        return done

    def end(self) -> None:
        """Let the thread end, behind the transaction that runs. What waits is not written."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()

    def _busy(self) -> bool:
        return bool(self._writing) and self._error is None

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ending or (self._waiting and self._error is None))
                if self._ending:
                    return
                self._writing = list(self._waiting)
                self._waiting.clear()
                self._changed.notify_all()
            try:
                written = self._write(self._writing)
            except Exception as error:  # the task's thread sorts it out
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
            else:
                with self._changed:
                    self._written.append(written)
                    self._writing = []
                    self._changed.notify_all()
