"""How long a target is fuzzed: a moment among the other tests, or for FUZZ_SECONDS (`make fuzz`).

A target has rounds. The chance of each comes from its own number, the first round's from the seed of the run: what is
said at the end, or when a round fails, begins there again.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck

#: Bytes of memory that a target may have: what asks for more has found something, and harms nobody.
MEMORY: Final = 4 << 30
SECONDS: Final = float(os.environ.get("FUZZ_SECONDS", "0"))
#: Seconds that pytest gives a target, on a busy machine.
LIMIT: Final = 180 + 3 * SECONDS
CORPUS: Final = Path(__file__).with_name("corpus")
#: Seconds of CPU within which no growth is looked at.
_TOO_SHORT_S = 0.25

Say = Callable[[str], None]


class Fuzz:
    """Runs one target.

    Args:
        seed: of the first round.
        say: takes the line at the end of a long run.

    Attributes:
        met: what came of the inputs, by kind: for the end.
    """

    def __init__(self, seed: int, say: Say) -> None:
        self.met: Counter[str] = Counter()
        self._seed = seed
        self._say = say

    def rounds(self, one: Callable[[random.Random], None], least: int = 1) -> None:
        """Do rounds of a target, so many at least; more only where there is time for them."""
        until = time.monotonic() + SECONDS
        done = 0
        while done < least or time.monotonic() < until:
            seed = self._seed + done
            try:
                one(random.Random(seed))
            except BaseException as error:
                error.add_note(f"in round {done}: --randomly-seed={seed} begins with it")
                raise
            done += 1
        if SECONDS:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.met.items()))
            self._say(f"{self.met.total():,} inputs in {done:,} rounds from seed {self._seed} on: {kinds}")

    def check(self, holds: Callable[..., None], examples: int = 100) -> None:
        """Do rounds of a property of hypothesis, of so many examples."""

        quiet = hypothesis.settings(
            max_examples=examples, database=None, suppress_health_check=list(HealthCheck), print_blob=False
        )
        holds = quiet(holds)
        self.rounds(lambda chance: hypothesis.seed(chance.getrandbits(64))(holds)())

    def growth(
        self,
        read: Callable[[bytes], object],
        refusal: type[Exception],
        shapes: Sequence[tuple[bytes, bytes]],
        pieces: Sequence[bytes],
        found: Sequence[tuple[bytes, bytes, bytes]] = (),
    ) -> None:
        """Do rounds of growth: pieces said over and over again are read, or refused, in linear time.

        Args:
            read: what may hang.
            refusal: the error that it may raise.
            shapes: what stands before the pieces, and what behind them.
            pieces: one of them, or a few together.
            found: what once took too long: what stands before, the piece, what stands behind.
        """

        def attempt(data: bytes) -> None:
            try:
                read(data)
            except refusal:
                self.met["refused"] += 1
            else:
                self.met["read"] += 1

        def one(chance: random.Random) -> None:
            head, tail = chance.choice(shapes)
            hold(head, b"".join(chance.choices(pieces, k=chance.choice([1, 1, 2, 3]))) or b" ", tail)

        def hold(head: bytes, piece: bytes, tail: bytes) -> None:
            try:
                assert_linear(attempt, lambda size: head + piece * (size // len(piece)) + tail)
            except BaseException as error:
                error.add_note(f"{head!r}, then {piece!r} over and over, then {tail!r}")
                raise

        for shape in found:
            hold(*shape)
        self.rounds(one, least=8)


def corpus(target: str) -> Iterator[bytes]:
    """What once failed, in files."""
    for file in sorted((CORPUS / target).glob("*")):
        yield file.read_bytes()


def assert_linear(read: Callable[[Any], object], make: Callable[[int], Any], size: int = 16_000) -> None:
    """Hold that what is sixteen times as long takes no longer than sixteen times as long: with a margin of four.

    Args:
        read: what may hang.
        make: what it reads, of about so many bytes.
        size: of the shorter one.
    """
    long = _took(read, make(16 * size))
    if long < _TOO_SHORT_S:
        return
    long = min(long, _took(read, make(16 * size)))  # a moment of the machine's own is not growth
    short = min(_took(read, make(size)) for _ in range(2))
    assert long < max(_TOO_SHORT_S, 4 * 16 * short), f"{size} bytes took {short:.4f} s, {16 * size} took {long:.4f} s"


def _took(read: Callable[[Any], object], data: Any) -> float:
    gc.disable()  # a collection looks at all that is in this process, and only the longer one may meet it
    try:
        began = time.thread_time()
        read(data)
        return time.thread_time() - began
    finally:
        gc.enable()
