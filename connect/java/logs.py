"""What Java logs and prints, logged by Python's loggers: in the context of the task whose thread wrote it."""

from __future__ import annotations

import contextvars
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

#: The contexts of the tasks of this process, by what the names of their threads in Java have in them.
_contexts: dict[str, contextvars.Context] = {}
#: Lines that tell how far Java's standard error was read, and who waits for that, how long at most.
_marks: dict[str, threading.Event] = {}
_numbers = itertools.count()
_LOGGED_S: Final = 1.0
_LEVELS: Final = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40}


def follow() -> None:
    """Log what Java writes to its standard error by Python's loggers, under Java's logger names; and what it prints.

    What is printed would pass by all that hides secrets.
    """
    import jpype

    system = jpype.JClass("java.lang.System")
    system.setErr(_logged(_log_lines, "java-log"))
    system.setOut(_logged(_log_printed, "java-out"))


def _logged(log_lines: Callable[[Iterable[str]], None], name: str) -> Any:
    """A PrintStream whose lines a thread of this name logs."""
    import jpype

    # A pipe of the system. Java's own has threads for its ends: when the one that wrote last has ended, it reads on in
    # vain, again and again.
    reads, writes = os.pipe()
    stream = jpype.JClass("java.io.FileOutputStream")(f"/dev/fd/{writes}")
    made = jpype.JClass("java.io.PrintStream")(stream, True, "UTF-8")
    os.close(writes)
    lines = os.fdopen(reads, encoding="utf-8", errors="replace")
    thread = threading.Thread(target=log_lines, args=(lines,), name=name, daemon=True)
    contextvars.Context().run(thread.start)  # it works for all tasks of this process, and outlives the first
    return made


@contextmanager
def logs_of(task: str) -> Iterator[None]:
    """Within, what threads of Java log that have a task's id in their names is logged in this thread's context."""
    _contexts[task] = contextvars.copy_context()
    try:
        yield
    finally:
        with suppress(Exception):  # the JVM is about to end its process
            _await_logged()
        del _contexts[task]


def _await_logged() -> None:
    """Return when what Java has written to its standard error is logged, or does not come out of it."""
    import jpype

    mark, logged = f"logged up to {next(_numbers)}", threading.Event()
    _marks[mark] = logged
    jpype.JClass("java.lang.System").err.println(mark)
    logged.wait(_LOGGED_S)
    _marks.pop(mark, None)


def _context_of(thread: str) -> contextvars.Context:
    """The context of the task that a thread of Java works for; of any where its name does not say it."""
    tasks = dict(_contexts)
    named = max((task for task in tasks if task in thread), key=len, default=None)  # orders-1 is in orders-10
    return next(iter(tasks.values()), contextvars.Context()) if named is None else tasks[named]


def _log_lines(lines: Iterable[str]) -> None:
    logger, level, context = "java", logging.WARNING, contextvars.Context()
    for read in lines:
        text = read.rstrip("\r\n")
        if (logged := _marks.pop(text, None)) is not None:
            logged.set()
            continue
        thread, _, line = text.removeprefix("[").partition("] ")
        first, _, rest = line.partition(" ")
        if text.startswith("[") and first in _LEVELS and " - " in rest:
            named, _, text = rest.partition(" - ")
            logger, level, context = named, _LEVELS[first], _context_of(thread)
        context.run(logging.getLogger(logger).log, level, "%s", text)


def _log_printed(lines: Iterable[str]) -> None:
    for line in lines:
        _context_of("").run(logging.getLogger("java").info, "%s", line.rstrip("\r\n"))
