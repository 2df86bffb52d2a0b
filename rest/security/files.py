"""Files of users, tokens and roles, read again when they change."""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from connect.errors import ConfigError
from connect.settings.rest_security_keys import TOKENS_FILE, USERS_FILE

log = logging.getLogger("connect.rest")

T = TypeVar("T")

#: By the key of a file: the command that makes it.
_MADE_BY: Final = {USERS_FILE: "connect users add USER", TOKENS_FILE: "connect tokens create TOKEN"}

# File systems tell the time of a change in steps; two changes within one look alike.
_SETTLED_NS = 100_000_000


class LineError(ValueError):
    """A line of such a file is wrong.

    Args:
        line: from 1; 0 for the file as a whole.
        message: what is wrong, and what to write. Never a secret.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class WatchedFile(Generic[T]):
    """The current content of a file. For one thread.

    A missing file is empty. One that became unreadable or wrong keeps its last content, and the log says why: a typing
    error locks nobody out.

    Args:
        key: the worker's key that names the file.
        path: where it is.
        parse: parses its text; raises LineError.
        nothing: the content of a missing file.
        private: whether others of this machine must not read it; nobody else may ever write it.
    """

    def __init__(self, key: str, path: str, parse: Callable[[str], T], nothing: T, *, private: bool) -> None:
        self._key = key
        self._path = Path(path)
        self._parse = parse
        self._nothing = nothing
        self._private = private
        self._stamp: tuple[int, ...] | None = None
        self._text: str | None = None
        self._last_error = ""
        self._value = self._read()

    def current(self) -> T:
        """The content. The same object until it changes."""
        try:
            if self._stamp is None or self._stamp != self._look():
                self._value = self._read()
                self._last_error = ""
        except ConfigError as error:
            if not self._path.exists():
                self._value, self._text, self._stamp = self._nothing, None, None
            if str(error) != self._last_error:
                self._last_error = str(error)
                held = (
                    "It counts as empty now."
                    if self._value is self._nothing
                    else "Its previous content stays in effect."
                )
                log.error("%s %s", error, held)
        return self._value

    def _look(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError as error:
            raise self._unreadable(error) from error
        return _stamp(found)

    def _read(self) -> T:
        """Raises ConfigError."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                self._check_mode(found.st_mode)
                text = file.read().decode()
        except OSError as error:
            raise self._unreadable(error) from error
        except UnicodeDecodeError as error:
            raise ConfigError(self._key, f"{self._path} is not text in UTF-8.") from error
        value = self._value if self._text == text else self._parsed(text)
        self._text = text
        settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS
        self._stamp = _stamp(found) if settled else None
        return value

    def _parsed(self, text: str) -> T:
        try:
            return self._parse(text)
        except LineError as error:
            place = f"{self._path}:{error.line}" if error.line else str(self._path)
            raise ConfigError(self._key, f"{place}: {error}") from error

    def _check_mode(self, mode: int) -> None:
        if not stat.S_ISREG(mode):
            raise ConfigError(self._key, f"{self._path} is not a file.")
        if mode & stat.S_IWOTH:
            raise ConfigError(self._key, f"everybody on this machine may write {self._path}. Run chmod o-w on it.")
        if self._private and mode & stat.S_IROTH:
            raise ConfigError(self._key, f"everybody on this machine may read {self._path}. Run chmod o-r on it.")

    def _unreadable(self, error: OSError) -> ConfigError:
        if not isinstance(error, FileNotFoundError):
            return ConfigError(self._key, f"{self._path} cannot be read: {error.strerror or error}.")
        made = f" `{_MADE_BY[self._key]} --file {self._path}` makes it." if self._key in _MADE_BY else ""
        return ConfigError(self._key, f"{self._path} cannot be read: there is no such file.{made}")


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def entries(text: str) -> list[tuple[int, str]]:
    """The meaningful lines of a file, with their numbers: not empty, no # at their beginning."""
    lines = enumerate((line.strip() for line in text.split("\n")), 1)
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def name_error(name: str) -> str | None:
    """Why something cannot be the name of a user or a token; None if it can."""
    if not name:
        return "there is no name before the colon. Write name:hash."
    if name.startswith("#") or name != name.strip() or not name.isprintable() or ":" in name:
        return "a name has no colon, no # or blank at its beginning, and only characters that can be seen."
    return None
