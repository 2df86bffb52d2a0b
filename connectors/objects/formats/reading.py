"""What all format readers share: they read an object's bytes and return records in chunks, with positions.

A position is a record's number within its object: how many records (lines, rows) precede it, blank and bad ones
included. Reading can continue at any of them, in any process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from connect import DataError, Values

#: About how many bytes of an object become records at a time.
CHUNK_BYTES: Final = 1 << 20


class Source(Protocol):
    """An object's bytes, in order."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, at least one; none at the end."""


class Chunk(NamedTuple):
    """Some records of an object, in order.

    Attributes:
        values: of the records.
        ends: the position after each; ascending, with gaps where something was skipped.
    """

    values: Values
    ends: Sequence[int]


#: Chunks of one object, from first to last. Raises `DataError` if the object cannot be read any further:
#: what was returned before is good.
Chunks = Iterator[Chunk]

#: Called with the position of a record that cannot be read, and why. Returns to skip it, or raises.
OnBad = Callable[[int, str], None]


def chunk(values: Values, first: int) -> Chunk:
    """Records without gaps, starting at a position."""
    return Chunk(values, range(first + 1, first + 1 + len(values)))


def exactly(source: Source, size: int, what: str) -> bytes:
    """Exactly `size` bytes.

    Raises:
        DataError: the object ends before that. `what` names what is cut off.
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
