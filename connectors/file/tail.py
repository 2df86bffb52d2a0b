"""Follows a file as it grows, is truncated or is replaced; or reads a pipe until it ends."""

from __future__ import annotations

import logging
import os
import select
import stat
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from connect import ConfigError, ConnectError
from connectors.file.lines import Encoding, Lines, Splitter

log = logging.getLogger(__name__)

CHUNK: Final = 1 << 20
HEAD: Final = 1024

Offset = Mapping[str, Any]


class Read(NamedTuple):
    """Lines, and a function for the source offset after a line."""

    lines: Lines
    offset: Callable[[int], Offset]


def open_for_reading(path: str) -> int | None:
    """A descriptor of the file, None when it does not exist yet.

    Raises:
        ConnectError: it may not be read or is a directory.
    """
    try:
        # A named pipe that nobody writes to would block the open.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError("file", f'"{path}" is a directory. For the files in it write {path.rstrip("/")}/* as file.')
    return descriptor


def unreadable(path: str, error: OSError) -> ConnectError:
    """What a user can do about a file that cannot be read."""
    advice = f" Let user id {os.geteuid()} read it." if isinstance(error, PermissionError) else ""
    return ConnectError(f'Cannot read "{path}": {error.strerror}.{advice}')


class Tail:
    """A regular file that is followed.

    A file is recognised by its inode and by a checksum of its first bytes. When another file has taken its name
    (rotation) it is read to its end first, also after a restart if it is still in the same folder; then the other is
    read from its beginning. When it became shorter or its first bytes changed, it is read from the beginning.

    Args:
        path: of the file.
        descriptor: of the file, opened for reading. The tail closes it.
        encoding: of the file.
        longest: the maximum bytes of a line.
        stored: the source offset to continue at, None to begin at the beginning. Java's, with only a position, is
            accepted.

    Raises:
        ConnectError: the offset is not one of a file.
    """

    def __init__(self, path: str, descriptor: int, encoding: Encoding, longest: int, stored: Offset | None) -> None:
        self._path = path
        self._encoding = encoding
        self._longest = longest
        self._descriptor = -1
        self._at_end = False
        self._deleted: float | None = None  # since when, on the monotonic clock
        self._resume(descriptor, _checked(path, stored))

    def read(self) -> Read | None:
        """The next lines, None when there are none yet.

        Raises:
            ConnectError: the file cannot be read, or a line is too long.
        """
        try:
            if self._at_end and not self._goes_on():
                return self._replaced()
            while data := os.pread(self._descriptor, CHUNK, self._position):
                self._position += len(data)
                self._at_end = False
                self._deleted = None
                if len(self._head) < HEAD:
                    self._head += data[: HEAD - len(self._head)]
                if lines := self._splitter.feed(data):
                    return self._made(lines)
            self._at_end = True
            return self._replaced()
        except OSError as error:
            raise unreadable(self._path, error) from error

    def deleted_for(self) -> float | None:
        """For how many seconds the file, all read, has had no name any more; None where it has one."""
        if not self._at_end or os.fstat(self._descriptor).st_nlink:
            self._deleted = None
            return None
        now = time.monotonic()
        if self._deleted is None:
            self._deleted = now
        return now - self._deleted

    def finish(self) -> Read | None:
        """Close the file, as nothing more is to come. Returns its last line, if that has no end."""
        rest = self._splitter.rest()
        self.close()
        return self._made(rest) if rest else None

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _goes_on(self) -> bool:
        """Whether there is more to read since the end was reached."""
        size = os.fstat(self._descriptor).st_size
        if size < self._position or (
            size > self._position and os.pread(self._descriptor, len(self._head), 0) != self._head
        ):
            log.warning('"%s" was cut short or rewritten: reading it from the beginning.', self._path)
            self._begin(self._descriptor)
            return True
        return size > self._position

    def _replaced(self) -> Read | None:
        """At the end: if another file has the name now, finish this one."""
        try:
            now = Path(self._path).stat()
        except FileNotFoundError:
            return None
        was = os.fstat(self._descriptor)
        # As long as the new file is empty its writer may still write into the old one.
        if os.path.samestat(now, was) or now.st_size == 0 or was.st_size != self._position:
            return None
        descriptor = open_for_reading(self._path)
        if descriptor is None:
            return None
        log.info('"%s" was replaced; reading the new file.', self._path)
        rest = self._splitter.rest()
        finished = self._made(rest) if rest else None
        self._begin(descriptor)
        return finished or self.read()

    def _made(self, lines: Lines) -> Read:
        inode, head, checksum = self._inode, self._head, zlib.crc32(self._head)

        def offset(position: int) -> Offset:
            known = checksum if position >= len(head) else zlib.crc32(head[:position])
            return {"position": position, "inode": inode, "head": known}

        return Read(lines, offset)

    def _begin(self, descriptor: int, position: int = 0) -> None:
        if descriptor != self._descriptor:
            self.close()
        self._descriptor = descriptor
        self._inode = os.fstat(descriptor).st_ino
        self._position = position
        self._head = os.pread(descriptor, min(position, HEAD), 0)
        self._splitter = Splitter(self._encoding, self._path, self._longest, position, self._head)
        self._at_end = False
        self._deleted = None

    def _resume(self, descriptor: int, stored: Offset) -> None:
        position, inode, head = stored.get("position") or 0, stored.get("inode"), stored.get("head")
        if inode is not None and inode != os.fstat(descriptor).st_ino:
            old = self._under_another_name(inode)
            if old is not None and _fits(old, position, head):
                os.close(descriptor)
                self._begin(old, position)
                return
            if old is not None:
                os.close(old)
            # A copy or a restored file has another inode. Few bytes may be equal by chance, so many are asked for.
            if position < HEAD or head is None:
                position, head = 0, None
                log.warning('"%s" is another file than it was: reading it from the beginning.', self._path)
        if not _fits(descriptor, position, head):
            log.warning('"%s" was cut short or rewritten: reading it from the beginning.', self._path)
            position = 0
        self._begin(descriptor, position)

    def _under_another_name(self, inode: int) -> int | None:
        folder = os.path.dirname(self._path) or "."  # noqa: PTH120 - the path stays text: it is the source partition
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.inode() == inode and entry.is_file(follow_symlinks=False):
                        return open_for_reading(entry.path)
        except PermissionError:  # to read a file nobody needs the right to list its folder
            log.warning(
                '"%s" is another file than it was, and user id %d may not list "%s" to look for that one.',
                self._path,
                os.geteuid(),
                folder,
            )
        return None


def _checked(path: str, stored: Offset | None) -> Offset:
    stored = stored or {}
    position = stored.get("position")
    if position is not None and (not isinstance(position, int) or isinstance(position, bool) or position < 0):
        raise ConnectError(
            f'The stored offset of "{path}" has the position {position!r} where a number of bytes is meant. '
            "Alter or reset the connector's offsets."
        )
    return stored


def _fits(descriptor: int, position: int, head: int | None) -> bool:
    """Whether the file reaches the position and begins like the file of the offset."""
    if os.fstat(descriptor).st_size < position:
        return False
    return head is None or zlib.crc32(os.pread(descriptor, min(position, HEAD), 0)) == head


class Pipe:
    """Standard input, a named pipe or a device: what was read is gone, so there is no position to return to.

    Args:
        name: for errors.
        descriptor: opened for reading.
        encoding: of the text.
        longest: the maximum bytes of a line.
        ends: whether nothing can follow the end: true of standard input, not of a named pipe.
    """

    def __init__(self, name: str, descriptor: int, encoding: Encoding, longest: int, *, ends: bool) -> None:
        self._name = name
        self._descriptor = descriptor
        self._ends = ends
        self._ended = False
        self._splitter = Splitter(encoding, name, longest)
        self._readable = select.poll()
        self._readable.register(descriptor, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Return when there may be something to read, or after the time."""
        if not self._ended:
            self._readable.poll(seconds * 1000)

    def read(self) -> Read | None:
        """The next lines, None when there are none yet. The last one counts even without an end.

        Raises:
            ConnectError: it cannot be read, or a line is too long.
        """
        try:
            while not self._ended and self._readable.poll(0):
                data = os.read(self._descriptor, CHUNK)
                self._ended = self._ends and not data
                lines = self._splitter.feed(data) if data else self._splitter.rest()
                if lines or not data:
                    return Read(lines, _nowhere) if lines else None
        except BlockingIOError:
            return None
        except OSError as error:
            raise unreadable(self._name, error) from error
        return None

    def close(self) -> None:
        """Close it; standard input stays open."""
        if not self._ends and self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _nowhere(position: int) -> Offset:
    return {"position": None}
