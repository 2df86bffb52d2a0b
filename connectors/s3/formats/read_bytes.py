"""Objects that are no records by themselves: the whole as one, or cut into pieces of a size."""

from __future__ import annotations

from connect import DataError, Values, schema
from connectors.s3.formats.reading import CHUNK_BYTES, Chunks, Source, chunk


def read_whole(source: Source, longest: int, skip: int) -> Chunks:
    """The whole object as one record, also an empty one."""
    parts: list[bytes] = []
    length = 0
    while not skip and (block := source.read(CHUNK_BYTES)):
        parts.append(block)
        length += len(block)
        if length > longest:
            raise DataError(
                f"it has more than {longest} bytes, and would be one record. Raise max.record.bytes, or cut it into "
                "pieces with transformer.max.buffer.size."
            )
    if not skip:
        yield chunk(Values([b"".join(parts)], schema.BYTES), 0)


def read_pieces(source: Source, size: int, skip: int) -> Chunks:
    """Pieces of a size, the last one shorter."""
    number = 0
    at_once = max(1, CHUNK_BYTES // size)
    pieces: list[bytes] = []
    while True:
        piece = source.read(size)
        while 0 < len(piece) < size and (more := source.read(size - len(piece))):
            piece += more
        if piece and number >= skip:
            pieces.append(piece)
        number += bool(piece)
        if pieces and (not piece or len(pieces) == at_once):
            yield chunk(Values(pieces, schema.BYTES), number - len(pieces))
            pieces = []
        if not piece:
            return
