"""The levels of loggers, as the REST interface shows and changes them while the worker runs (KIP-495, KIP-976).

Levels have Java's names. TRACE is the same as DEBUG here; OFF logs nothing. Of loggers `org.apache.kafka.connect` is
`connect` as well: operators and their tools know the worker's own by that name.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

ROOT: Final = "root"
_OURS: Final = "connect"
_OURS_IN_JAVA: Final = frozenset({"org.apache.kafka", "org.apache.kafka.connect"})
LEVELS: Final = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG - 5,
}


def number_of(level: str) -> int:
    """The number that the standard library has for a level. Raises ValueError: there is no such level."""
    number = LEVELS.get(level.upper())
    if number is None:
        raise ValueError(f"invalid log level '{level}'.")
    return number


class LoggerLevel(NamedTuple):
    """The level of a logger, its own or its parent's, and when it was changed: milliseconds since the epoch."""

    level: str
    last_modified: int | None


class Levels:
    """The loggers of this process. Safe to use from many threads."""

    def __init__(self) -> None:
        self._changed: dict[str, int] = {}
        self._asked: dict[str, str] = {}
        self._listeners: list[Callable[[str, str], None]] = []
        self._lock = threading.Lock()

    def all(self) -> dict[str, LoggerLevel]:
        """Every logger that has a level of its own, by name, the root first."""
        with self._lock:
            known = list(logging.root.manager.loggerDict.items())
            own = [name for name, logger in known if isinstance(logger, logging.Logger) and logger.level]
            return {name: self._of(name) for name in [ROOT, *sorted(own)]}

    def get(self, name: str) -> LoggerLevel | None:
        """The level of a logger, None for a name that was never logged or set."""
        with self._lock:
            if name == ROOT or name in logging.root.manager.loggerDict:
                return self._of(name)
            return self._of(_OURS) if name in _OURS_IN_JAVA else None

    def set(self, name: str, level: str) -> list[str]:
        """Set the level of a logger and of those below it. Returns the names of all changed loggers.

        Raises:
            ValueError: there is no such level.
        """
        number = number_of(level)
        with self._lock:
            known = list(logging.root.manager.loggerDict)
            named = [name, _OURS] if name in _OURS_IN_JAVA else [name]
            below = [other for other in known if name == ROOT or other.startswith(tuple(f"{one}." for one in named))]
            changed = sorted({*named, *below})
            now = int(time.time() * 1000)
            for one in changed:
                logging.getLogger(None if one == ROOT else one).setLevel(number)
                self._changed[one] = now
                self._asked.pop(one, None)
            self._asked[name] = level  # at the end: a later one counts for what is below it
            listeners = list(self._listeners)
        for listener in listeners:
            listener(name, level)
        return changed

    def asked(self) -> list[tuple[str, str]]:
        """The names and levels that were set, in the order in which another process has to set them."""
        with self._lock:
            return list(self._asked.items())

    def listen(self, listener: Callable[[str, str], None]) -> None:
        """Call this with each name and level that is set from now on."""
        with self._lock:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[str, str], None]) -> None:
        """Stop calling it."""
        with self._lock:
            self._listeners.remove(listener)

    def _of(self, name: str) -> LoggerLevel:
        number = logging.getLogger(None if name == ROOT else name).getEffectiveLevel()
        level = next((word for word, least in LEVELS.items() if number >= least), "TRACE")
        return LoggerLevel(level, self._changed.get(name))


#: Those of this process.
levels: Final = Levels()
