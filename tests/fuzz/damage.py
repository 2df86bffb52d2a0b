"""What was right, and is damaged: bytes by hypothesis, which can make them smaller again, and text by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

#: Numbers as formats have them: nothing, the largest, the smallest, lengths that are more than there is.
NUMBERS = [
    *(bytes([each]) for each in (0, 1, 0x7F, 0x80, 0xFF)),
    *(
        value.to_bytes(size, "big")
        for size in (2, 4, 8)
        for value in (0, 1, (1 << 8 * size - 1) - 1, 1 << 8 * size - 1)
    ),
    *(b"\xff" * size for size in (2, 4, 8)),
]


def damaged(whole: st.SearchStrategy[bytes], pieces: list[bytes] | None = None) -> st.SearchStrategy[bytes]:
    """What some edits make of bytes: pieces put in, put over others, cut out, said twice."""
    piece = st.one_of(st.sampled_from(pieces or NUMBERS), st.binary(max_size=4))
    edit = st.tuples(st.integers(0, 400), st.sampled_from([0, 0, 1, 2, 4, 8, 40]), piece, st.booleans())
    return st.builds(_edited, whole, st.lists(edit, max_size=4))


def _edited(data: bytes, edits: list[tuple[int, int, bytes, bool]]) -> bytes:
    for where, length, piece, twice in edits:
        start = where % (len(data) + 1)
        cut: Any = data[start : start + length]
        data = data[:start] + (cut + cut if twice else piece) + data[start + length :]
    return data


def reworded(chance: random.Random, text: str, words: Sequence[str]) -> str:
    """Text with some words put in, or put over others."""
    for _ in range(chance.choice([1, 1, 2, 4])):
        start = chance.randrange(len(text) + 1)
        text = text[:start] + chance.choice(words) + text[start + chance.choice([0, 0, 1, 6, 20]) :]
    return text
