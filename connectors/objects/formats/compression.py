"""Compression of whole files, which readers unpack as one stream. `read_compressed` reads them."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from connect import ConnectError

NONE: Final = "none"
GZIP: Final = "gzip"
SNAPPY: Final = "snappy"
ZSTD: Final = "zstd"
#: The extensions of compressed files.
EXTENSIONS: Final = {NONE: "", GZIP: ".gz", SNAPPY: ".snappy", ZSTD: ".zst"}

_GZIP_FORM: Final = 31
#: What deflate keeps in memory for each file that is open.
GZIP_MEMORY: Final = 268 * 1024
_FRAME: Final = 1 << 20
_SNAPPY_BLOCK: Final = 32 * 1024
#: The first bytes of Java's SnappyOutputStream; two version numbers follow.
XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = XERIAL + (1).to_bytes(4, "big") * 2


class Compressor(Protocol):
    """Compresses one file.

    Attributes:
        held: about how many bytes of memory it holds.
    """

    @property
    def held(self) -> int: ...

    def compress(self, data: bytes) -> bytes:
        """Take the next bytes; return the compressed bytes that are ready."""

    def pause(self) -> bytes:
        """Return all that is held. It may be called at any time, and costs some bytes."""

    def flush(self) -> bytes:
        """Return the rest. Called once."""


def compressor(kind: str, level: int) -> Compressor:
    """A compressor for one file.

    Args:
        kind: one of the constants above.
        level: of gzip (0 to 9) or zstd (1 to 22); -1 for the default.
    """
    if kind == GZIP:
        return _Gzip(level)
    if kind == SNAPPY:
        raw = cramjam().snappy.compress_raw
        return _Blocks(lambda block: _with_length(bytes(raw(block))), _SNAPPY_BLOCK, _XERIAL_HEADER)
    if kind == ZSTD:
        pack = zstd().compress
        return _Blocks(lambda block: pack(block, max(1, level)), _FRAME)
    return _Plain()


def zstd() -> Any:
    """The zstd module: Python's own, or its backport for older versions."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise _missing(ZSTD, "backports.zstd") from None
    return zstd


def cramjam() -> Any:
    """The module for snappy."""
    try:
        import cramjam
    except ImportError:
        raise _missing(SNAPPY, "cramjam") from None
    return cramjam


def _missing(kind: str, package: str) -> ConnectError:
    return ConnectError(f"{kind} needs the package {package}, which is missing. Install connect-runtime[s3].")


def _with_length(block: bytes) -> bytes:
    return len(block).to_bytes(4, "big") + block


class _Plain:
    held = 0

    def compress(self, data: bytes) -> bytes:
        return data

    def pause(self) -> bytes:
        return b""

    flush = pause


class _Gzip:
    """One member, or several after pauses; no time in the header, so that the same content makes the same file."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._deflate: Any = None
        self._begun = False

    @property
    def held(self) -> int:
        return 0 if self._deflate is None else GZIP_MEMORY

    def compress(self, data: bytes) -> bytes:
        if self._deflate is None:
            self._deflate = zlib.compressobj(self._level, zlib.DEFLATED, _GZIP_FORM)
            self._begun = True
        packed: bytes = self._deflate.compress(data)
        return packed

    def pause(self) -> bytes:
        if self._deflate is None:
            return b""
        rest: bytes = self._deflate.flush()
        self._deflate = None
        return rest

    def flush(self) -> bytes:
        return self.pause() if self._begun else self.compress(b"") + self.pause()


class _Blocks:
    """Blocks, each compressed by itself: frames of zstd, or what Java's SnappyOutputStream writes."""

    def __init__(self, pack: Callable[[bytes], bytes], size: int, header: bytes = b"") -> None:
        self._pack = pack
        self._size = size
        self._header = header
        self._begun = False
        self._waiting = bytearray()

    @property
    def held(self) -> int:
        return len(self._waiting)

    def compress(self, data: bytes) -> bytes:
        self._waiting += data
        found = []
        while len(self._waiting) >= self._size:
            found.append(self._packed(bytes(self._waiting[: self._size])))
            del self._waiting[: self._size]
        return b"".join(found)

    def pause(self) -> bytes:
        last, self._waiting = bytes(self._waiting), bytearray()
        return self._packed(last) if last else b""

    def flush(self) -> bytes:
        rest = self.pause()
        return rest if rest or self._begun else self._packed(b"")

    def _packed(self, block: bytes) -> bytes:
        packed = self._pack(block)
        begun, self._begun = self._begun, True
        return packed if begun else self._header + packed
