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

    def flush(self) -> bytes:
        return b""


class _Gzip:
    """One member; without a time in its header, so that the same content is the same file."""

    held = GZIP_MEMORY

    def __init__(self, level: int) -> None:
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, _GZIP_FORM)

    def compress(self, data: bytes) -> bytes:
        return self._deflate.compress(data)

    def flush(self) -> bytes:
        return self._deflate.flush()


class _Blocks:
    """Frames of zstd, or blocks of snappy as Java's SnappyOutputStream writes them."""

    def __init__(self, kind: str, level: int) -> None:
        import pyarrow as pa

        self._codec: Any = pa.Codec(kind, compression_level=level) if kind == ZSTD and level > 0 else pa.Codec(kind)
        self._block = _FRAME if kind == ZSTD else _SNAPPY_BLOCK
        self._length = kind == SNAPPY
        self._begun = kind == ZSTD
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

    def flush(self) -> bytes:
        last, self._waiting = bytes(self._waiting), bytearray()
        return self._packed(last) if last or not self._begun else b""

    def _packed(self, block: bytes) -> bytes:
        packed: bytes = self._codec.compress(block, asbytes=True)
        if not self._length:
            return packed
        start, self._begun = b"" if self._begun else _SNAPPY_HEADER, True
        return start + len(packed).to_bytes(4, "big") + packed
