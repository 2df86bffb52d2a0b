"""Numbered lines: a file that grows, and what is true of lines that went through a worker that was killed."""

import random
import re
import threading
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_NUMBER = re.compile(rb"(\d{9})x*")


def line(number: int, chance: random.Random) -> bytes:
    return b"%09d%s" % (number, b"x" * chance.randrange(40))


def number_of(text: bytes) -> int:
    """The number of a line. Raises for what is not a line of ours: half of one, two in one."""
    found = _NUMBER.fullmatch(text)
    assert found, f"this line was never written: {text!r}"
    return int(found[1])


class GrowingFile:
    """Appends numbered lines, at a steady rate and in pieces that end anywhere.

    Attributes:
        ends: where each line ends, in bytes.
    """

    def __init__(self, path: Path, chance: random.Random, per_second: int = 3000) -> None:
        self.path = path
        self.ends: list[int] = []
        self._chance = random.Random(chance.random())
        self._piece = per_second // 50
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._grow)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def finish(self) -> int:
        """Write no more. Returns how many lines there are."""
        self._enough.set()
        self._thread.join()
        return len(self.ends)

    def lines_before(self, position: int) -> int:
        """How many lines end at this position or before."""
        return bisect_right(self.ends, position)

    def _grow(self) -> None:
        number, size, rest = 0, 0, b""
        with self.path.open("ab", buffering=0) as file:
            while not self._enough.wait(0.02):
                for _ in range(self._piece):
                    text = line(number, self._chance) + b"\n"
                    rest, number, size = rest + text, number + 1, size + len(text)
                    self.ends.append(size)
                cut = self._chance.randrange(len(rest))
                file.write(rest[:cut])
                rest = rest[cut:]
            file.write(rest)


def runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers as stretches without a gap: (first, one after the last).

    Raises `AssertionError` when one begins beyond the end of what was there before: then something is lost.
    """
    found: list[tuple[int, int]] = []
    first, following = 0, 0
    highest = 0
    for number in numbers:
        if number != following:
            assert number <= highest, f"{highest} is missing: {number} comes after {following - 1}"
            assert number < following, f"{number} comes after {following - 1}: what is between was not sent again"
            found.append((first, following))
            first = number
        following = number + 1
        highest = max(highest, following)
    return [*found, (first, following)]
