"""Reads a file that a user has named: a device or a pipe may have no end, or never begin."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

#: So many bytes a file of certificates or keys may have.
MOST_OF_A_STORE: Final = 16 << 20
_PIECE: Final = 1 << 16


class UnfitFileError(ValueError):
    """It is not a regular file, or too large. The message says which, as the end of a sentence about the file."""


class TooLargeFileError(UnfitFileError):
    """It has too many bytes."""


def read_regular(path: Path, most: int, *, follow: bool = True) -> bytes:
    """All bytes of a regular file.

    Args:
        most: the maximum size in bytes.
        follow: whether the path itself may be a symbolic link.

    Raises:
        UnfitFileError: it is not one.
        TooLargeFileError: it is larger.
        OSError: it cannot be read.
    """
    _check_kind(path.stat(follow_symlinks=follow))  # merely to open a device may do something
    # It may be another file by now: so without waiting for who writes into a pipe, and looked at again.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        _check_kind(found)
        if found.st_size > most:
            raise _too_large(most)
        # The size may be untrue, as under /proc.
        pieces, length = [], 0
        while piece := os.read(descriptor, min(_PIECE, most + 1 - length)):
            pieces.append(piece)
            length += len(piece)
            if length > most:
                raise _too_large(most)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def check_regular(path: Path, most: int) -> None:
    """Check the file of a path, without opening it. Raises as `read_regular`, which reads the same file."""
    found = path.stat()
    _check_kind(found)
    if found.st_size > most:
        raise _too_large(most)


def _check_kind(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise UnfitFileError("is not a regular file, but a device, a pipe or a socket; name a file")


def _too_large(most: int) -> TooLargeFileError:
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most:,} bytes"
    return TooLargeFileError(f"is larger than {size}; name a smaller file")
