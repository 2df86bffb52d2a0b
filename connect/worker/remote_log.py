"""Sends the log of a child process to its worker, which writes all of it in one place. Redacted before it leaves."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from connect.telemetry.levels import levels
from connect.telemetry.logs import keep_quiet
from connect.telemetry.redaction import RedactingFilter, Redactor
from connect.worker.channel import Channel
from connect.worker.messages import Log


class _LogToWorker(logging.Handler):
    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._channel.send(Log(record.levelno, record.name, record.getMessage(), record.exc_text, record.created))
        except OSError:
            pass  # the worker is gone, and this process with it in a moment


def send_logs(channel: Channel, redactor: Redactor, level: int, changes: Iterable[tuple[str, str]] = ()) -> None:
    """From now on all of this process's log goes to the worker. `changes` are levels of single loggers, in order."""
    handler = _LogToWorker(channel)
    handler.addFilter(RedactingFilter(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    keep_quiet(all_of_it=level <= logging.DEBUG)
    for name, changed in changes:
        levels.set(name, changed)


def write_log(message: Log, about: str) -> None:
    """In the worker: write what a child process logged, as being about this connector or task."""
    record = logging.LogRecord(message.logger, message.level, "", 0, message.text, None, None)
    record.created = message.created
    record.about = about
    record.exc_text = message.trace
    logger = logging.getLogger(message.logger)
    if logger.isEnabledFor(message.level):
        logger.handle(record)
