"""The threads of one task among those of others in the same process.

A thread works for the task whose thread started it: it begins with a copy of that thread's context, as all threads do
in Python 3.14 with `thread_inherit_context`. By the context a task's log lines and waits are its own, and by its list
of threads a task has ended only when all of them have (P3).
"""

from __future__ import annotations

import contextvars
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Final

_of_task: Final[contextvars.ContextVar[TaskThreads]] = contextvars.ContextVar("threads of a task")


_tasks: Final[weakref.WeakSet[TaskThreads]] = weakref.WeakSet()


def cpu_of_this_thread() -> Callable[[], float]:
    """Tells, on any thread, the CPU-seconds of the thread that calls this."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(clock)


def equal_share_of_cpu() -> float:
    """The CPU-seconds of this process by the number of its tasks: where their threads are not Python's."""
    return time.process_time() / max(1, len(_tasks))


class TaskThreads:
    """The threads that one task has started, and those that they have started. Enter it on the task's own thread."""

    def __init__(self) -> None:
        self._started: weakref.WeakSet[threading.Thread] = weakref.WeakSet()

    def begin(self) -> None:
        """This thread works for the task from now on."""
        _of_task.set(self)
        _tasks.add(self)

    def add(self, thread: threading.Thread) -> None:
        """A thread of the task starts another one."""
        self._started.add(thread)

    def left_after(self, seconds: float, but: threading.Thread) -> list[str]:
        """The names of threads, without `but`, that still run after so many seconds."""
        deadline = time.monotonic() + seconds
        left = [thread for thread in list(self._started) if thread is not but]
        for thread in left:
            thread.join(max(0.0, deadline - time.monotonic()))
        return sorted(thread.name for thread in left if thread.is_alive())


def inherit_contexts() -> None:
    """Have each thread of this process begin in the context of the thread that starts it."""
    start = threading.Thread.start

    def start_in_context(self: threading.Thread) -> None:
        if (task := _of_task.get(None)) is not None:
            task.add(self)
        context, run = contextvars.copy_context(), self.run

        def run_in_context() -> Any:
            return context.run(run)

        self.run = run_in_context  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = start_in_context  # type: ignore[method-assign]
