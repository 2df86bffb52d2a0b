"""Log lines for people, or JSON lines for machines, with the connector or task that they are about.

    2026-03-01T09:30:00.123+01:00 INFO  orders-sink-0  wrote 30,000 records to PostgreSQL table orders in 0.21 s

Loggers are the standard library's: `logging.getLogger("connect.worker")`. A plug-in uses its own.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Literal, TextIO

from connect.telemetry.redaction import RedactingFilter, Redactor, redactor

LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")

# They tell each step of a connection at INFO, which nobody acts on.
_TALKATIVE = ("urllib3", "botocore", "asyncio", "py4j")
# It tells of each failed step of a try at ERROR, and tries forty times a second; what comes of it are errors of ours.
_TALKS_TO_ITSELF = "kafka"

# What a terminal acts on, or a reader takes for another line or another order of signs; and halves of pairs, which no
# stream takes. Names, paths and records come from outside.
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_about: ContextVar[str | None] = ContextVar("about", default=None)


@contextmanager
def about(name: str) -> Iterator[None]:
    """Lines that are logged inside, by this thread or coroutine, are about this connector or task."""
    token = _about.set(name)
    try:
        yield
    finally:
        _about.reset(token)


def configure(
    level: str = "INFO",
    style: Literal["text", "json"] = "text",
    stream: TextIO | None = None,
    *,
    name: str = "worker",
    secrets: Redactor = redactor,
) -> None:
    """Send the log of this process to a stream, redacted. A second call replaces the first.

    Args:
        level: DEBUG, INFO, WARN or ERROR.
        style: text for people, json for machines.
        stream: stderr by default.
        name: the subject of lines without another one: a task's process gives the task's name.
        secrets: what to hide; the process's own by default.

    Raises:
        ValueError: there is no such level or style.
    """
    if level.upper() not in (*LEVELS, "WARNING"):
        raise ValueError(f'"{level}" is not a log level. Write one of {", ".join(LEVELS)}.')
    if style not in _STYLES:
        raise ValueError(f'"{style}" is not a log style. Write text or json.')
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(formatter(style))
    handler.addFilter(_Naming(name))
    handler.addFilter(RedactingFilter(secrets))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel("WARNING" if level.upper() == "WARN" else level.upper())
    keep_quiet(all_of_it=level.upper() == "DEBUG")


def keep_quiet(*, all_of_it: bool) -> None:
    """Raise the levels of verbose libraries, unless everything should be logged."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.NOTSET if all_of_it else logging.WARNING)
    logging.getLogger(_TALKS_TO_ITSELF).setLevel(logging.NOTSET if all_of_it else logging.CRITICAL)


def error_elsewhere(logger: logging.Logger, name: str, error: str, trace: str | None) -> None:
    """Log an error that another process met in its work for this connector or task, as `logger.exception` logs one."""
    if not logger.isEnabledFor(logging.ERROR):
        return
    record = logging.LogRecord(logger.name, logging.ERROR, "", 0, error, None, None)
    record.about, record.exc_text = name, trace
    logger.handle(record)


class _Handler(logging.StreamHandler[TextIO]):
    """The handler that `configure` installs and replaces."""


class _Naming(logging.Filter):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "about"):  # logged with extra={"about": ...}
            record.about = _about.get() or self._name
        return True


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        about: str = getattr(record, "about", record.name)
        lines = [f"{_time(record)} {_level(record):5} {about}  {record.getMessage()}"]
        lines += [text for text in (record.exc_text, record.stack_info) if text]
        # Only a line of ours starts at the margin: nothing that is logged can pass for one.
        return _printable("\n".join(lines)).replace("\n", "\n  ")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": _level(record),
            "about": getattr(record, "about", record.name),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if trace := "\n".join(text for text in (record.exc_text, record.stack_info) if text):
            line["trace"] = trace
        return _UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(line, ensure_ascii=False))


_STYLES = {"text": _Text, "json": _Json}


def formatter(style: str) -> logging.Formatter:
    """Of lines in a style of `configure`. KeyError for any other."""
    return _STYLES[style]()


def _printable(text: str) -> str:
    r"""The text with control characters other than tabs and line ends as Python writes them: \x1b, \r."""
    return _UNPRINTED.sub(lambda found: repr(found[0])[1:-1], text)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


def _level(record: logging.LogRecord) -> str:
    return {"WARNING": "WARN", "CRITICAL": "ERROR"}.get(record.levelname, record.levelname)
