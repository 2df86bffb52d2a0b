"""Compression of whole files: what readers can unpack as one stream."""

from __future__ import annotations

import zlib
from typing import Any, Final, Protocol

NONE: Final = "none"
GZIP: Final = "gzip"
SNAPPY: Final = "snappy"
ZSTD: Final = "zstd"
#: What the names of compressed files end with.
EXTENSIONS: Final = {NONE: "", GZIP: ".gz", SNAPPY: ".snappy", ZSTD: ".zst"}

_GZIP_FORM: Final = 31
#: What deflate keeps in memory for each file that is open.
GZIP_MEMORY: Final = 268 * 1024
_FRAME: Final = 1 << 20
_SNAPPY_BLOCK: Final = 32 * 1024
_SNAPPY_HEADER: Final = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2


class Compressor(Protocol):
    """Compresses one file.

    Attributes:
        held: about how many bytes of memory it holds.
    """

    held: int

    def compress(self, data: bytes) -> bytes:
        """Take the next bytes; what is ready of the compressed ones."""

    def pause(self) -> bytes:
        """All that was taken so far, so that nothing is held. It may be called at any time, and costs some bytes."""

    def flush(self) -> bytes:
        """The rest. Called once."""


def compressor(kind: str, level: int) -> Compressor:
    """A compressor for one file.

    Args:
        kind: one of the words above.
        level: of gzip (0 to 9) or zstd (1 to 22); -1 for its own default.
    """
    if kind == GZIP:
        return _Gzip(level)
    if kind in (SNAPPY, ZSTD):
        return _Blocks(kind, level)
    return _Plain()


class _Plain:
    held = 0

    def compress(self, data: bytes) -> bytes:
        return data

    def pause(self) -> bytes:
        return b""

    flush = pause


class _Gzip:
    """One member, several after pauses; without a time in its header, so that the same content is the same file."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._deflate: Any = None
        self._begun = False

    @property
    def held(self) -> int:
        return 0 if self._deflate is None else GZIP_MEMORY

    @held.setter
    def held(self, _: int) -> None: ...

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
    """Frames of zstd, or blocks of snappy as Java's SnappyOutputStream writes them."""

    def __init__(self, kind: str, level: int) -> None:
        import pyarrow as pa

        self._codec: Any = pa.Codec(kind, compression_level=level) if kind == ZSTD and level > 0 else pa.Codec(kind)
        self._block = _FRAME if kind == ZSTD else _SNAPPY_BLOCK
        self._length = kind == SNAPPY
        self._begun = False
        self._waiting = bytearray()

    @property
    def held(self) -> int:
        return len(self._waiting)

    @held.setter
    def held(self, _: int) -> None: ...

    def compress(self, data: bytes) -> bytes:
        self._waiting += data
        found = []
        while len(self._waiting) >= self._block:
            found.append(self._packed(bytes(self._waiting[: self._block])))
            del self._waiting[: self._block]
        return b"".join(found)

    def pause(self) -> bytes:
        last, self._waiting = bytes(self._waiting), bytearray()
        return self._packed(last) if last else b""

    def flush(self) -> bytes:
        rest = self.pause()
        return rest if rest or self._begun else self._packed(b"")

    def _packed(self, block: bytes) -> bytes:
        packed: bytes = self._codec.compress(block, asbytes=True)
        begun, self._begun = self._begun, True
        if not self._length:
            return packed
        start = b"" if begun else _SNAPPY_HEADER
        return start + len(packed).to_bytes(4, "big") + packed
