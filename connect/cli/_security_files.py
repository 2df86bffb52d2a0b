"""The files of users and tokens that guard a worker's REST API, edited line by line: comments stay where they are."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from connect.errors import ConfigError, ConnectError
from connect.settings.properties import load


def add_file(parser: argparse.ArgumentParser, key: str) -> None:
    """Declare the file: itself, or the worker's properties that name it."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--file", metavar="FILE", help="the file; created if it does not exist")
    where.add_argument("--worker", metavar="FILE", help=f"the worker's properties, whose {key} names it")
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


def file_of(args: argparse.Namespace, key: str) -> Path:
    """The file that the command line names."""
    if args.file:
        return Path(args.file)
    path = load(args.worker).get(key, "").strip()
    if not path:
        raise ConfigError(key, f"is not in {args.worker}. Write {key}=FILE there.")
    return Path(path)


class EntryFile:
    """A file of entries, name:rest, one a line.

    Args:
        path: of the file.
        key: the worker's key that names it.
        check: whether a worker would accept the text; raises LineError.
    """

    def __init__(self, path: Path, key: str, check: Callable[[str], object]) -> None:
        # What a link points at is written, not the link.
        self._path = path.resolve()
        self._key = key
        self._check = check
        self._lines: list[str] = []
        try:
            self._lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            pass
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(key, f"{path} cannot be read: {error}.") from error
        self._checked()

    @property
    def names(self) -> list[str]:
        """Of all entries, in the order of the file."""
        return [name for line in self._lines if (name := _name(line))]

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(f"{line}\n" for line in self._lines)

    def put(self, name: str, line: str) -> None:
        """Write an entry, in place of the existing one. Raises ConfigError for an invalid name."""
        from rest.security.files import name_error

        if wrong := name_error(name):
            raise ConfigError(self._key, f'"{name}" cannot be a name: {wrong}')
        if name in self.names:
            self._lines = [line if _name(one) == name else one for one in self._lines]
        else:
            self._lines.append(line)

    def remove(self, name: str) -> None:
        """Remove an entry."""
        self._lines = [one for one in self._lines if _name(one) != name]

    def save(self) -> None:
        """Write the file atomically, so that no worker reads half of it. Only its owner may read a new one."""
        text = self._checked()
        try:
            before = self._path.stat() if self._path.exists() else None
            descriptor, fresh = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    if before is not None:
                        os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode) & ~0o007)
                        with contextlib.suppress(PermissionError):  # only root gives files away
                            os.fchown(file.fileno(), before.st_uid, before.st_gid)
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                Path(fresh).replace(self._path)
            except BaseException:
                Path(fresh).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise ConnectError(f"{self._path} cannot be written: {error.strerror}.") from error

    def _checked(self) -> str:
        text = self.text
        try:
            self._check(text)
        except ValueError as error:
            line = getattr(error, "line", 0)
            where = f"{self._path}:{line}" if line else str(self._path)
            raise ConfigError(self._key, f"{where}: {error}") from error
        return text


def _name(line: str) -> str:
    text = line.strip()
    return "" if text.startswith("#") else text.partition(":")[0]


def ask_password(name: str) -> str:
    """A new password: prompted for twice at a terminal, else the first line of the standard input."""
    if sys.stdin.isatty():
        password = getpass.getpass(f"Password of {name}: ")
        if password != getpass.getpass("Once more: "):
            raise ConnectError("The two passwords differ. Nothing was changed.")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise ConnectError("There is no password. Type it, or send it as a line of standard input.")
    return password
