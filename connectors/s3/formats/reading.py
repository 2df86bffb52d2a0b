"""What every reader of a format has in common: it takes an object's bytes and gives records in chunks, with positions.

A position is a record's number within its object: how many records (lines, rows) stand before it, blank and bad ones
included. Reading can go on at any of them, in any process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from connect import DataError, Values

#: About so many bytes of an object are made into records at a time.
CHUNK_BYTES: Final = 1 << 20


class Source(Protocol):
    """An object's bytes, in order."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, at least one; none at the end."""


class Chunk(NamedTuple):
    """Some records of an object, in order.

    Attributes:
        values: of the records.
        ends: for each the position after it; ascending, with gaps where something was left out.
    """

    values: Values
    ends: Sequence[int]


#: Chunks of one object, from the first to the last. Raises `DataError` where the object cannot be read any further:
#: what was given before is good.
Chunks = Iterator[Chunk]

#: Told of a record that cannot be read: its position, and why. Returns to leave it out, or raises.
OnBad = Callable[[int, str], None]


def chunk(values: Values, first: int) -> Chunk:
    """Records without a gap between them, of which the first is at a position."""
    return Chunk(values, range(first + 1, first + 1 + len(values)))


def exactly(source: Source, size: int, what: str) -> bytes:
    """So many bytes.

    Raises:
        DataError: the object ends before that. `what` says what is cut off.
    """
    found = source.read(size)
    if len(found) < size:
        parts = [found]
        missing = size - len(found)
        while missing and (more := source.read(missing)):
            parts.append(more)
            missing -= len(more)
        if missing:
            raise DataError(f"{what} is cut off: {missing} bytes are missing at the end of the object.")
        found = b"".join(parts)
    return found
