"""Bytes that were compressed as a whole: gzip, zstd and snappy, recognized by the object's first bytes or set by a key.

A truncated object is an error, not a short object (except snappy that ends between two of its blocks, which cannot be
detected). Snappy is read in its framing format
(https://github.com/google/snappy/blob/main/framing_format.txt) and in the blocks of snappy-java.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from connect import DataError
from connectors.objects.formats import compression
from connectors.objects.formats.compression import GZIP, NONE, SNAPPY, XERIAL, ZSTD
from connectors.objects.formats.reading import Source, exactly

AUTO: Final = "auto"
COMPRESSIONS: Final = (AUTO, NONE, GZIP, ZSTD, SNAPPY)

_FRAMED: Final = b"\xff\x06\x00\x00sNaPpY"
_MAGIC: Final = ((b"\x1f\x8b", GZIP), (b"\x28\xb5\x2f\xfd", ZSTD), (XERIAL, SNAPPY), (_FRAMED, SNAPPY))
_READ: Final = 1 << 16
_MOST_BLOCK: Final = 1 << 26


def decompressed(source: Source, kind: str) -> Source:
    """The bytes that were compressed.

    Args:
        source: the object's bytes.
        kind: one of `COMPRESSIONS`. With auto, bytes that begin like none of them are returned as they are.
    """
    if kind == NONE:
        return source
    begun = Begun(source)
    if kind == AUTO:
        start = begun.peek(len(_FRAMED))
        kind = next((name for magic, name in _MAGIC if start.startswith(magic)), NONE)
        if kind == NONE:
            return begun
    return Pieces(_PIECES[kind](begun))


class Begun:
    """Bytes whose beginning can be inspected before it is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start = b""

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer at the end, without consuming them."""
        while len(self._start) < size and (more := self._source.read(_READ)):
            self._start += more
        return self._start[:size]

    def read(self, size: int, /) -> bytes:
        """See `Source`."""
        if self._start:
            found, self._start = self._start[:size], self._start[size:]
            return found
        return self._source.read(size)


class Pieces:
    """Bytes that come in pieces of any size."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """See `Source`."""
        found: list[bytes] = []
        wanted = size
        while wanted:
            if not self._left:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._left = memoryview(piece)
                continue
            part, self._left = self._left[:wanted], self._left[wanted:]
            found.append(bytes(part))
            wanted -= len(part)
        return found[0] if len(found) == 1 else b"".join(found)


def _gunzipped(source: Begun) -> Iterator[bytes]:
    """Any number of members, one after another; zeros after the last are padding."""
    given = 0
    member: Any = None
    data = b""
    try:
        while data or (data := source.read(_READ)):
            if member is None:
                data = data.lstrip(b"\0") if given else data
                if not data:
                    continue
                member = zlib.decompressobj(wbits=31)
            if found := member.decompress(data, _READ * 4):
                given += len(found)
                yield found
            data = member.unconsumed_tail
            if member.eof:
                data, member = member.unused_data, None
    except zlib.error as error:
        raise DataError(f"its gzip is damaged after {given} bytes of content: {error}.") from None
    if member is not None:
        while found := member.decompress(member.unconsumed_tail, _READ * 4):
            given += len(found)
            yield found
        if not member.eof:
            raise DataError(f"its gzip is cut off after {given} bytes of content: the object is incomplete.")


def _unzstd(source: Begun) -> Iterator[bytes]:
    """Any number of frames, one after another."""
    zstd = compression.zstd()
    given = 0
    frame: Any = None
    data = b""
    try:
        while (frame is not None and not frame.needs_input) or data or (data := source.read(_READ)):
            frame = frame or zstd.ZstdDecompressor()
            found = frame.decompress(data, _READ * 4)
            given += len(found)
            yield found
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, None
    except zstd.ZstdError as error:
        raise DataError(f"its zstd is damaged after {given} bytes of content: {error}.") from None
    if frame is not None:
        raise DataError(f"its zstd is cut off after {given} bytes of content: the object is incomplete.")


def _unsnappy(source: Begun) -> Iterator[bytes]:
    start = source.peek(len(_FRAMED))
    if not start:
        return iter(())
    if start.startswith(XERIAL):
        return _xerial(source)
    if start == _FRAMED:
        return _framed(source)
    raise DataError("it is not snappy, neither in the framing format nor in snappy-java's blocks.")


def _xerial(source: Begun) -> Iterator[bytes]:
    """The blocks of snappy-java's SnappyOutputStream: a header of 16 bytes, then lengths and blocks."""
    unpack = _raw_snappy()
    while start := source.peek(4):
        if source.peek(len(XERIAL)) == XERIAL:  # each of several concatenated streams has a header
            exactly(source, 16, "its snappy")
            continue
        length = int.from_bytes(exactly(source, 4, "its snappy"), "big")
        if len(start) < 4 or length > _MOST_BLOCK:
            raise DataError(f"its snappy has a block with an impossible size of {length} bytes.")
        yield unpack(exactly(source, length, "its snappy"))


def _framed(source: Begun) -> Iterator[bytes]:
    unpack = _raw_snappy()
    while source.peek(1):
        head = exactly(source, 4, "its snappy")
        kind, length = head[0], int.from_bytes(head[1:], "little")
        body = exactly(source, length, "its snappy")
        if kind == 0x00:
            yield unpack(body[4:])  # after four bytes of a checksum
        elif kind == 0x01:
            yield body[4:]
        elif 0x02 <= kind <= 0x7F:
            raise DataError(f"its snappy has a chunk of the unknown kind {kind:#x}.")


def _raw_snappy() -> Callable[[bytes], bytes]:
    """The function that unpacks a single snappy block. It raises `DataError` for anything else."""
    cramjam = compression.cramjam()

    def unpack(block: bytes) -> bytes:
        try:
            size = cramjam.snappy.decompress_raw_len(block)
            if size > _MOST_BLOCK:
                raise DataError(f"its snappy is damaged: a block claims to hold {size} bytes.")
            return bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError as error:
            raise DataError(f"its snappy is damaged: {error}.") from None

    return unpack


_PIECES: Final[dict[str, Callable[[Begun], Iterator[bytes]]]] = {GZIP: _gunzipped, ZSTD: _unzstd, SNAPPY: _unsnappy}
