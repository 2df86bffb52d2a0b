"""Where the sink writes: a file that whole lines are appended to, or a stream."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import select
import stat
import struct
from pathlib import Path
from typing import Final

from connect import ConfigError, ConnectError, FencedError, RetriableError

log = logging.getLogger(__name__)

#: Errors of a full disk or a full quota: they pass when somebody makes room.
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Stream:
    """Standard output, a named pipe or a device. It cannot be checked or taken back."""

    def __init__(self, name: str, descriptor: int) -> None:
        self._name = name
        self._descriptor = descriptor
        self._data = b""
        self._rest = b""  # of `_data`, when there was no room for all of it

    def append(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            RetriableError: there is no room. The same data will be written from where it stopped.
            ConnectError: it cannot be written.
        """
        rest = memoryview(data if not self._rest else self._rest if data == self._data else self._rest + data)
        try:
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except BlockingIOError:
                    writable = select.poll()
                    writable.register(self._descriptor, select.POLLOUT)
                    writable.poll()
            self._data = self._rest = b""
        except BrokenPipeError as error:
            raise ConnectError(f"Cannot write to {self._name}: whoever read it is gone.") from error
        except OSError as error:
            self._data, self._rest = data, bytes(rest)
            raise unwritable(self._name, error) from error

    def sync(self) -> None:
        """Nothing more can be done for it."""

    def close(self) -> None:
        """Close it; standard output stays open."""
        if self._descriptor > 1:
            os.close(self._descriptor)
        self._descriptor = -1


class AppendedFile:
    """A regular file that lines are appended to: all that is passed, or nothing of it.

    It is locked while it is open: shared with other writers, or exclusively.

    Args:
        path: of the file.
        descriptor: opened for appending. The object closes it.
        alone: whether nobody else may write to it.

    Attributes:
        size: in bytes, while it is locked exclusively.

    Raises:
        FencedError: another one has locked it.
    """

    def __init__(self, path: str, descriptor: int, *, alone: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self._alone = alone
        self._unsynced = False
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            other = "is written by another task" if alone else "is claimed by a task with exactly.once=true"
            raise FencedError(f'"{path}" {other}. Stop that one, or write to another file.') from error
        self.size = os.fstat(descriptor).st_size

    def append(self, data: bytes) -> None:
        """Append all of it, or leave the file as it was.

        Raises:
            RetriableError: there is no room.
            FencedError: it is locked exclusively, but somebody else changed or replaced it.
            ConnectError: it cannot be written.
        """
        if self._alone:
            self.check_claim()
        try:
            # Others append as well: a line of theirs must not come between a part of ours and taking it back.
            with _Alone(self._descriptor):
                self._append(data)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def end_last_line(self) -> None:
        """Where the file ends within a line (its writer was killed), end the line: what follows is another."""
        try:
            with _Alone(self._descriptor), Path(self._path).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                    log.warning('"%s" ended within a line; lines go on below it.', self._path)
                    self._append(b"\n")
        except PermissionError:
            log.debug('"%s" may be written but not read: not looking at its last line.', self._path)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def sync(self) -> None:
        """Make everything appended durable.

        Raises:
            ConnectError: the disk failed. What was appended since the last time may be lost.
        """
        if not self._unsynced:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # After a failed fsync the kernel may have dropped the data: trying again would prove nothing.
            raise ConnectError(f'Cannot make "{self._path}" durable: {error.strerror}. Look at the disk.') from error
        self._unsynced = False

    def truncate(self, size: int) -> None:
        """Truncate the file to this size, durably."""
        os.ftruncate(self._descriptor, size)
        os.fsync(self._descriptor)
        self.size = size

    def check_claim(self) -> None:
        """Check that the file still has its path and its size.

        Raises:
            FencedError: it does not.
        """
        try:
            now = Path(self._path).stat()
        except FileNotFoundError:
            now = None
        if now is None or not os.path.samestat(now, os.fstat(self._descriptor)):
            raise FencedError(f'"{self._path}" was moved, removed or replaced while it was written. Put it back.')
        if now.st_size != self.size:
            raise FencedError(f'Somebody else writes to "{self._path}". With exactly.once=true nobody else may.')

    def close(self) -> None:
        """Close the file and release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _append(self, data: bytes) -> None:
        written = 0
        self._unsynced = True
        try:
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])
        except OSError:
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise
        self.size += written


class _Alone:
    """Excludes the other writers of a file for a moment. The lock is the open file's, not the process's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> None:
        self._lock(fcntl.F_WRLCK)

    def __exit__(self, *error: object) -> None:
        self._lock(fcntl.F_UNLCK)

    def _lock(self, kind: int) -> None:
        whole_file = struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLKW, whole_file)


def open_target(path: str | None, *, alone: bool) -> AppendedFile | Stream:
    """Open a file for appending, and create it if it does not exist; standard output for no path.

    Raises:
        ConnectError: it cannot be written, or another one has locked it.
    """
    if path is None:
        return Stream("standard output", 1)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        try:
            descriptor, made = os.open(path, flags), False
        except FileNotFoundError:
            descriptor, made = os.open(path, flags | os.O_CREAT, 0o666), True
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return Stream(path, descriptor)
        if made:
            sync_folder(path)
    except OSError as error:
        raise unwritable(path, error) from error
    return AppendedFile(path, descriptor, alone=alone)


def sync_folder(path: str) -> None:
    """Make the file's name durable."""
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC)  # noqa: PTH120
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


_WRONG_PATH = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)


def unwritable(path: str, error: OSError) -> ConnectError:
    """What a user can do about a file that cannot be written."""
    if error.errno in NO_ROOM:
        return RetriableError(f'No room to write "{path}": {error.strerror}. Make room; writing goes on by itself.')
    folder = os.path.dirname(path) or "."  # noqa: PTH120
    advice = {
        errno.ENOENT: f'Make the directory "{folder}" first.',
        errno.ENXIO: "Nobody reads this pipe: start the reader first.",
        errno.EISDIR: "It is a directory: name a file in it.",
        errno.EACCES: f'Let user id {os.geteuid()} write it and "{folder}".',
        errno.EROFS: "Choose a file on another file system.",
        errno.EFBIG: "The file may not grow any more (ulimit -f, or the file system's limit): choose another.",
    }.get(error.errno or 0, "Look at the path and the disk.")
    text = f'Cannot write "{path}": {error.strerror}. {advice}'
    return ConfigError("file", text) if error.errno in _WRONG_PATH else ConnectError(text)
