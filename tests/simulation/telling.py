"""What the product logs, as lines of the trace: for who replays a seed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tests.simulation.scheduler import running


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        scheduler = running.scheduler
        who = scheduler.fiber.machine.name if scheduler.fiber is not None else "-"
        about = f" [{record.about}]" if hasattr(record, "about") else ""
        words = f"{record.levelname.lower()}{about} {record.getMessage()}"
        scheduler.lines.append((scheduler.now, who, words))  # not of the digest: what runs is the same


@contextmanager
def logs_told() -> Iterator[None]:
    """Within it, log records of the product stand in the trace."""
    handler, root = _Handler(), logging.getLogger()
    loggers = [logging.getLogger("connect"), logging.getLogger("connect.herder")]
    levels = [logger.level for logger in loggers]
    root.addHandler(handler)
    disabled = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    for logger in loggers:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logging.disable(disabled)
        root.removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
