"""Texts on which a regular expression may take more than linear time, made from its own structure, and the measuring.

For each repetition without a small bound: a way to it, what it repeats, and an end at which the rest cannot match.
Beyond that what a search can begin with again and again.
"""

import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from re import _constants as codes  # type: ignore[attr-defined]  # isort: skip
from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip

Text = str | bytes

#: From here on a counted repetition counts as unbounded: it is tried so often at each place.
MANY: Final = 64
#: Short ones first: what takes exponential time must not be tried with more.
LENGTHS: Final = (1, 8, 16, 24, 36, 54, 80, 120, 200, 300, 600, 2_000)
#: Only where the last of those took longer than growth by length alone would have it.
MORE_LENGTHS: Final = (8_000, 64_000, 256_000)
_GROWTH: Final = 1.4
_NOTICEABLE_S: Final = 0.0005
_REPEATS: Final = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
_SINGLE: Final = {codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN}
_COMMON: Final = "a0 _.-:=/\\\"'\n{}$é"


def repeats_groups_possessively(pattern: re.Pattern[Any]) -> bool:
    """Whether it has a `(...)*+`: Python before 3.11.5, as in Debian 12, takes too much by it (gh-106052, gh-100061).

    `(?>(...)*)` is the same and right everywhere; so is `x*+` of one character or class.
    """

    def inside(part: Any) -> bool:
        if isinstance(part, parser.SubPattern):
            return any(map(inside, part))
        if not isinstance(part, tuple | list):
            return False
        match part:
            case (codes.POSSESSIVE_REPEAT, (_, _, repeated)) if len(repeated) != 1 or repeated[0][0] not in _SINGLE:
                return True
        return any(map(inside, part))

    return inside(parser.parse(pattern.pattern, pattern.flags))


def slowest(pattern: re.Pattern[Any], method: str) -> tuple[float, str] | None:
    """How far the time on a hostile text goes beyond what is allowed, with the text's beginning; None where none does.

    Args:
        method: "match", "fullmatch", "search", "sub", "split", "findall" or "finditer".
    """
    run = _runner(pattern, method)
    for unit in hostile(pattern):
        if max(map(len, unit)) < LENGTHS[-1] and (found := _measured(run, *unit)):
            return found
    return None


def hostile(pattern: re.Pattern[Any]) -> Iterator[tuple[Text, Text, Text]]:
    """Pairs to be made into texts: beginning, what is repeated, end. Without repetitions, for bytes or for texts."""
    flags = pattern.flags & ~(0 if isinstance(pattern.pattern, bytes) else re.UNICODE)
    made = _Making(parser.parse(pattern.pattern, flags), random.Random(repr(pattern.pattern)))
    seen = set()
    for unit in made.units():
        if unit in seen or not unit[1]:
            continue
        seen.add(unit)
        if isinstance(pattern.pattern, bytes):
            yield tuple(part.encode("latin-1", "replace") for part in unit)  # type: ignore[misc]
        else:
            yield unit


def allowed_s(length: int) -> float:
    """Time in which a text of this length has to be through: some twenty times what a scan takes on a slow machine."""
    return 0.005 + length * 2e-6


def _measured(run: Callable[[Text], object], begin: Text, pump: Text, end: Text) -> tuple[float, str] | None:
    before, took, earlier = 0, 0.0, 0.0
    for length in (*LENGTHS, *MORE_LENGTHS):
        text: Text = begin + pump * (length // len(pump) + 1) + end  # type: ignore[operator]
        took = _took(run, text)
        if took > allowed_s(len(text)):
            took = min(took, _took(run, text))  # whatever it was that came in between
        if took > allowed_s(len(text)):
            return took, f"{took:.3f} s for {begin!r} + {pump!r} * {length // len(pump) + 1} + {end!r}"
        if length >= LENGTHS[-1] and took < max(_NOTICEABLE_S, earlier * _GROWTH * len(text) / before):
            return None
        before, earlier = len(text), took
    return None


def _took(run: Callable[[Text], object], text: Text) -> float:
    began = time.thread_time()
    run(text)
    return time.thread_time() - began


def _runner(pattern: re.Pattern[Any], method: str) -> Callable[[Text], object]:
    if method in {"sub", "subn"}:
        return lambda text: pattern.sub(text[:0], text)
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    run: Callable[[Text], object] = getattr(pattern, method)
    return run


class _Making:
    """Samples of what a parsed expression matches."""

    def __init__(self, tree: Any, rng: random.Random) -> None:
        self._tree = tree
        self._rng = rng
        self._known: dict[int, list[str]] = {}  # of the lists that sets are parsed to
        self._literals = "".join(dict.fromkeys(self._all_literals(tree)))
        self._alphabet = "".join(dict.fromkeys(self._literals[:24] + _COMMON))

    def units(self) -> Iterator[tuple[str, str, str]]:
        repeats = list(self._repeats(self._tree, []))
        if not repeats:
            return
        ends = dict.fromkeys(["", "\0", self._alphabet[0]])
        yield from (("", self._sample(self._tree), end) for _ in range(3) for end in ends)
        yield from (("", one, "") for one in self._alphabet)
        few = self._literals[:5]
        yield from (("", one + other, "") for one in few for other in few)
        for way, body in repeats:
            for _ in range(2):
                begin = "".join(self._sample(part) for part in way)
                yield "", begin, ""
                for pump in dict.fromkeys([*self._singles(body), *(self._sample(body) for _ in range(2))]):
                    yield from ((begin, pump, end) for end in ends)
                    yield "", begin + pump, ""
                    yield "", pump + begin, ""
                    yield "", begin, pump + "\0"
                    # Other text between two repetitions, as after a mark that comes twice.
                    yield begin, pump, begin + pump + "\0"

    def _repeats(self, tree: Any, way: list[Any]) -> Iterator[tuple[list[Any], Any]]:
        """Each repetition without a small bound: what stands before it, and what it repeats."""
        for at, (code, value) in enumerate(tree):
            before = [*way, tree[:at]]
            if code in _REPEATS:
                _, most, body = value
                if most is codes.MAXREPEAT or most >= MANY:
                    yield before, body
                yield from self._repeats(body, before)
            elif code is codes.SUBPATTERN:
                yield from self._repeats(value[3], before)
            elif code is codes.BRANCH:
                for branch in value[1]:
                    yield from self._repeats(branch, before)
            elif code in {codes.ASSERT, codes.ASSERT_NOT}:
                yield from self._repeats(value[1], before)
            elif code is codes.ATOMIC_GROUP:
                yield from self._repeats(value, before)

    def _singles(self, body: Any) -> list[str]:
        """The characters of the alphabet that a body of one character takes."""
        if len(body) != 1 or body[0][0] not in {codes.IN, codes.ANY, codes.NOT_LITERAL, codes.LITERAL}:
            return []
        return self._fitting(body[0])[:5]

    def _fitting(self, node: Any) -> list[str]:
        found = self._known.get(id(node[1]))
        if found is None:
            found = [one for one in self._alphabet if self._takes(node, one)] or [self._any_of(*node)]
            if not isinstance(node[1], int):  # numbers are shared
                self._known[id(node[1])] = found
        return found

    def _sample(self, tree: Any) -> str:
        return "".join(self._one(code, value) for code, value in tree)

    def _one(self, code: Any, value: Any) -> str:
        if code is codes.LITERAL:
            return chr(value)
        if code in {codes.IN, codes.ANY, codes.NOT_LITERAL}:
            return self._rng.choice(self._fitting((code, value)))
        if code in _REPEATS:
            least, most, body = value
            if least > MANY:
                return self._sample(body) * int(least)
            times = least + (self._rng.randrange(3) if most is codes.MAXREPEAT else self._rng.randint(0, most - least))
            return "".join(self._sample(body) for _ in range(min(times, least + 3)))
        if code is codes.SUBPATTERN:
            return self._sample(value[3])
        if code is codes.BRANCH:
            return self._sample(self._rng.choice(value[1]))
        if code is codes.ATOMIC_GROUP:
            return self._sample(value)
        return ""  # a place, a look around, what a group had

    def _any_of(self, code: Any, value: Any) -> str:
        """Some character that a set takes, beyond the usual ones."""
        if code is codes.IN:
            for kind, inside in value:
                if kind is codes.LITERAL:
                    return chr(inside)
                if kind is codes.RANGE:
                    return chr(inside[0])
        return "x"

    def _takes(self, node: Any, one: str) -> bool:
        code, value = node
        if code is codes.ANY:
            return one != "\n"
        if code is codes.LITERAL:
            return one == chr(value)
        if code is codes.NOT_LITERAL:
            return one != chr(value)
        negated = bool(value) and value[0][0] is codes.NEGATE
        return any(self._in(kind, inside, one) for kind, inside in value) != negated

    def _in(self, kind: Any, inside: Any, one: str) -> bool:
        if kind is codes.LITERAL:
            return bool(ord(one) == inside)
        if kind is codes.RANGE:
            return bool(inside[0] <= ord(one) <= inside[1])
        if kind is codes.CATEGORY:
            name = str(inside).removeprefix("CATEGORY_")
            holds = {
                "DIGIT": one.isdigit(),
                "SPACE": one.isspace(),
                "WORD": one.isalnum() or one == "_",
            }[name.removeprefix("NOT_")]
            return holds != name.startswith("NOT_")
        return False

    def _all_literals(self, tree: Any) -> Iterator[str]:
        for code, value in tree:
            if code is codes.LITERAL:
                yield chr(value)
            elif code is codes.IN:
                yield from (chr(inside) for kind, inside in value if kind is codes.LITERAL)
            elif code in _REPEATS:
                yield from self._all_literals(value[2])
            elif code is codes.SUBPATTERN:
                yield from self._all_literals(value[3])
            elif code is codes.BRANCH:
                for branch in value[1]:
                    yield from self._all_literals(branch)
            elif code in {codes.ASSERT, codes.ASSERT_NOT}:
                yield from self._all_literals(value[1])
            elif code is codes.ATOMIC_GROUP:
                yield from self._all_literals(value)
            elif code is codes.NOT_LITERAL:
                yield chr(value)
