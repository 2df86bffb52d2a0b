"""Random columns: many random numbers at once, the same for the same seed on any machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


def seeded(*seeds: object) -> Random:
    """A generator that starts over for each combination of seeds."""
    text = "/".join(map(str, seeds)).encode()
    return Random(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()))  # noqa: S311 - made-up data, no secret


def words(chance: Random, count: int) -> memoryview[int]:
    """Whole numbers of 64 bits."""
    return memoryview(chance.randbytes(8 * count)).cast("Q")


def below(chance: Random, count: int, limit: int) -> list[int]:
    """Whole numbers from 0 to limit - 1, uniformly; limits beyond 64 bits are supported."""
    if limit <= 1 << 32:
        return [word * limit >> 32 for word in memoryview(chance.randbytes(4 * count)).cast("I")]
    if limit <= 1 << 64:
        return [word * limit >> 64 for word in words(chance, count)]
    return [chance.randrange(limit) for _ in range(count)]


def shares(chance: Random, count: int) -> list[float]:
    """Numbers from 0 to 1, 1 not included."""
    return [(word >> 11) * 2.0**-53 for word in words(chance, count)]


def lots(chance: Random, count: int, share: float) -> list[bool]:
    """True in this share of the rows."""
    if share <= 0 or share >= 1:
        return [share >= 1] * count
    limit = int(share * (1 << 32))
    return [word < limit for word in memoryview(chance.randbytes(4 * count)).cast("I")]


def chosen(chance: Random, count: int, of: Sequence[T]) -> list[T]:
    """One of these in each row."""
    size = len(of)
    if size == 1:
        return [of[0]] * count
    return [of[word * size >> 32] for word in memoryview(chance.randbytes(4 * count)).cast("I")]


def lengths(chance: Random, count: int, low: int, high: int) -> list[int]:
    """Lengths from low to high, both included."""
    return [low] * count if low == high else [low + more for more in below(chance, count, high - low + 1)]


def pieces(whole: Any, sizes: Sequence[int]) -> list[Any]:
    """A sequence cut into pieces of these sizes."""
    if not sizes:
        return []
    first = sizes[0]
    if len(whole) == first * len(sizes) and all(size == first for size in sizes):
        return [whole[at : at + first] for at in range(0, len(whole), first)] if first else [whole[:0]] * len(sizes)
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    return [whole[start:end] for start, end in pairwise(ends)]
