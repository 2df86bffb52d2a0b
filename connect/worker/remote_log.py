"""Sends the log of a child process to its worker, which writes all of it in one place. Secrets are removed before.

A plug-in may log any amount: very long messages are cut before they are sent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextvars import ContextVar

from connect.telemetry.levels import levels
from connect.telemetry.logs import formatter, keep_quiet
from connect.telemetry.redaction import RedactingFilter, Redactor
from connect.worker.channel import Channel, cut
from connect.worker.messages import Log

#: Characters of a logger's name: each of its dots has the worker look for one logger more.
_NAME = 200
#: Seconds since the epoch, from which on there are no dates: the year 10000.
_NO_TIME = 253_402_300_800.0
_LOGGERS = 10_000
_STDERR = logging.StreamHandler()


class Nowhere:
    """In place of a control pipe: where nobody reads what is logged."""

    def send(self, message: Log) -> None:
        """Drop it."""


#: The control pipe of the task that a thread works for, where tasks share the process.
channel_of_task: ContextVar[Channel | Nowhere] = ContextVar("control pipe of a task")


class _LogToWorker(logging.Handler):
    def __init__(self, channel: Channel | None) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        channel = channel_of_task.get(self._channel)
        if channel is None:
            _STDERR.handle(record)
            return
        try:
            trace = None if record.exc_text is None else cut(record.exc_text)
            text = cut(record.getMessage())
            channel.send(Log(record.levelno, cut(record.name[:_NAME]), text, trace, record.created))
        except OSError:
            pass  # the worker is gone, and this process with it in a moment


def send_logs(
    channel: Channel | None,
    redactor: Redactor,
    level: int,
    changes: Iterable[tuple[str, str]] = (),
    style: str = "text",
) -> None:
    """From now on all of this process's log goes to the worker.

    Args:
        channel: to the worker; None where each task has its own. What belongs to no task is then written to stderr.
        redactor: removes secrets.
        level: of the root logger.
        changes: levels of single loggers, in order.
        style: of the worker's log.
    """
    _STDERR.setFormatter(formatter(style))
    handler = _LogToWorker(channel)
    handler.addFilter(RedactingFilter(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    keep_quiet(all_of_it=level <= logging.DEBUG)
    for name, changed in changes:
        levels.set(name, changed)


def write_log(message: Log, about: str) -> None:
    """In the worker: write what a child process logged, attributed to this connector or task."""
    level = max(0, min(message.level, logging.CRITICAL))  # each logger remembers every level that it was asked about
    record = logging.LogRecord(message.logger[:_NAME], level, "", 0, cut(message.text), None, None)
    if 0 <= message.created < _NO_TIME:
        record.created = message.created
    record.about = about
    record.exc_text = None if message.trace is None else cut(message.trace)
    logger = _logger(record.name)
    if logger.isEnabledFor(level):
        logger.handle(record)


def _logger(name: str) -> logging.Logger:
    """The logger of this name. Loggers are never freed: once there are many, the nearest existing parent."""
    known = logging.root.manager.loggerDict
    if len(known) < _LOGGERS:
        return logging.getLogger(name)
    while name:
        if isinstance(found := known.get(name), logging.Logger):
            return found
        name = name.rpartition(".")[0]
    return logging.root
