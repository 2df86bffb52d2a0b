"""A thread for callbacks, one after another, so that the thread that talks to the brokers never waits."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Final

Call = Callable[[], None]

_TICK: Final = 0.25  # seconds


class CallbackThread:
    """Runs calls in order, and `tick` a few times a second in between. An error goes to `failed` and ends the thread.

    `stop` drops what has not begun.
    """

    def __init__(self, name: str, tick: Call, failed: Callable[[Exception], None]) -> None:
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._tick = tick
        self._failed = failed
        self._stopped = False
        self._pending = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, call: Call) -> None:
        """Run this after all that was put before."""
        with self._lock:
            self._pending += 1
        self._calls.put(call)

    def idle(self) -> bool:
        """Whether nothing runs or waits."""
        return not self._pending

    def stop(self, within: float) -> None:
        """Call nothing more, and wait this many seconds for the running call, unless it is the caller."""
        self._stopped = True
        self._calls.put(None)
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(within)

    def _run(self) -> None:
        try:
            while not self._stopped:
                try:
                    call = self._calls.get(timeout=_TICK)
                except queue.Empty:
                    self._tick()
                    continue
                if call and not self._stopped:
                    call()
                    with self._lock:
                        self._pending -= 1
        except Exception as error:
            self._failed(error)
