"""Bytes that were compressed as a whole: gzip, zstd and snappy, told by the object's first bytes or by a key.

Nothing is taken for the end that is none: an object that was cut off is an error, not a short one (but for snappy cut
between two of its blocks, which nobody can see). Snappy is read in its framing format
(https://github.com/google/snappy/blob/main/framing_format.txt) and in the blocks of snappy-java.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from connect import ConnectError, DataError
from connectors.s3.formats.reading import Source, exactly

if TYPE_CHECKING:
    from collections.abc import Callable

NONE: Final = "none"
GZIP: Final = "gzip"
ZSTD: Final = "zstd"
SNAPPY: Final = "snappy"
AUTO: Final = "auto"
COMPRESSIONS: Final = (AUTO, NONE, GZIP, ZSTD, SNAPPY)

_XERIAL: Final = b"\x82SNAPPY\x00"
_FRAMED: Final = b"\xff\x06\x00\x00sNaPpY"
_MAGIC: Final = ((b"\x1f\x8b", GZIP), (b"\x28\xb5\x2f\xfd", ZSTD), (_XERIAL, SNAPPY), (_FRAMED, SNAPPY))
_READ: Final = 1 << 16
_MOST_BLOCK: Final = 1 << 26


def decompressed(source: Source, compression: str) -> Source:
    """The bytes that were compressed.

    Args:
        source: the object's bytes.
        compression: one of `COMPRESSIONS`. With auto bytes that begin like none of them are given as they are.
    """
    if compression == NONE:
        return source
    begun = Begun(source)
    if compression == AUTO:
        start = begun.peek(len(_FRAMED))
        compression = next((name for magic, name in _MAGIC if start.startswith(magic)), NONE)
        if compression == NONE:
            return begun
    return Pieces(_PIECES[compression](begun))


class Begun:
    """Bytes of which the first can be looked at before they are read.

    Attributes:
        failed: what reading them raised.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start = b""
        self.failed: Exception | None = None

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer at the end; they are read afterwards all the same."""
        while len(self._start) < size and (more := self._source.read(_READ)):
            self._start += more
        return self._start[:size]

    def read(self, size: int, /) -> bytes:
        """See `Source`."""
        if self._start:
            found, self._start = self._start[:size], self._start[size:]
            return found
        try:
            return self._source.read(size)
        except Exception as error:
            self.failed = error  # others on the way may make another error of it
            raise


class Pieces:
    """Bytes that come in pieces of whatever size."""

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
    """Any number of members, one after another; zeros behind the last are padding."""
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
            raise DataError(f"its gzip is cut off after {given} bytes of content: the object was not written whole.")


def _unzstd(source: Begun) -> Iterator[bytes]:
    """Any number of frames, one after another."""
    if not source.peek(1):
        return
    pa = _arrow(ZSTD)
    given = 0
    try:
        with pa.CompressedInputStream(pa.PythonFile(_File(source), mode="r"), ZSTD) as content:
            while found := content.read(_READ * 4):
                given += len(found)
                yield found
    except (pa.ArrowException, OSError) as error:
        if source.failed is not None:
            raise source.failed from None
        said = "cut off" if "Truncated" in str(error) else "damaged"
        raise DataError(f"its zstd is {said} after {given} bytes of content: {' '.join(str(error).split())}.") from None


class _File(io.RawIOBase):
    """A `Begun` as Arrow takes it."""

    def __init__(self, source: Begun) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._source.read(size)


def _unsnappy(source: Begun) -> Iterator[bytes]:
    start = source.peek(len(_FRAMED))
    if not start:
        return iter(())
    if start.startswith(_XERIAL):
        return _xerial(source)
    if start == _FRAMED:
        return _framed(source)
    raise DataError("it does not begin as snappy does, neither in the framing format nor in the blocks of snappy-java.")


def _xerial(source: Begun) -> Iterator[bytes]:
    """The blocks of snappy-java's SnappyOutputStream: a header of 16 bytes, then lengths and blocks."""
    unpack = raw_snappy()
    while start := source.peek(4):
        if source.peek(len(_XERIAL)) == _XERIAL:  # streams that were put one behind another each have a header
            exactly(source, 16, "its snappy")
            continue
        length = int.from_bytes(exactly(source, 4, "its snappy"), "big")
        if len(start) < 4 or length > _MOST_BLOCK:
            raise DataError(f"its snappy has a block of {length} bytes, which no block has.")
        yield unpack(exactly(source, length, "its snappy"))


def _framed(source: Begun) -> Iterator[bytes]:
    unpack = raw_snappy()
    while source.peek(1):
        head = exactly(source, 4, "its snappy")
        kind, length = head[0], int.from_bytes(head[1:], "little")
        body = exactly(source, length, "its snappy")
        if kind == 0x00:
            yield unpack(body[4:])  # behind four bytes of a checksum
        elif kind == 0x01:
            yield body[4:]
        elif 0x02 <= kind <= 0x7F:
            raise DataError(f"its snappy has a chunk of the kind {kind:#x}, which nobody knows.")


def raw_snappy() -> Callable[[bytes], bytes]:
    """What unpacks a single block of snappy. Raises `DataError` for what is none."""
    pa = _arrow(SNAPPY)
    codec = pa.Codec("snappy")

    def unpack(block: bytes) -> bytes:
        size = shift = 0
        for byte in block[:5]:  # how long it becomes stands in front, seven bits a byte
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        else:
            size = -1
        if not 0 <= size <= _MOST_BLOCK:
            raise DataError("its snappy has a block that says no length.")
        if not size:
            return b""
        try:
            found: bytes = codec.decompress(block, size, asbytes=True)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"its snappy is damaged: {error}.") from None
        return found

    return unpack


def _arrow(compression: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise ConnectError(
            f"Objects in {compression} cannot be read: the package pyarrow is missing. Install connect-runtime[s3]."
        ) from None
    return pa


_PIECES: Final[dict[str, Callable[[Begun], Iterator[bytes]]]] = {GZIP: _gunzipped, ZSTD: _unzstd, SNAPPY: _unsnappy}
