"""Paths into keys and values in JsonPath syntax, as Confluent's ExtractTopic and Filter take them.

    $.after.topic        $['after']["topic"]      one value
    $.items[0]  $.items[-1]                       an item of a list, counted from 0, or from the end
    $.items[*].id  $.*  $..id  $['a','b']         several values: all, at any depth, of these names
    $.items[0,2]  $.items[1:3]                    several items of a list
    $[?(@.shop == 'us' && @.n > 3)]               the object itself, or the items of a list, that meet the condition

A condition compares paths, from `@` (the current value) or `$` (the whole value), and literals: numbers, 'strings',
true, false, null, lists. The operators are ==, !=, <, <=, >, >=, =~ /regex/i, in, nin, anyof, noneof, subsetof, size,
empty; &&, ||, ! and parentheses. `@.name` alone tests that the field exists and is not null. A missing field is null: a
struct does not distinguish the two.

Functions at the end of a path, such as length() and max(), are refused by name.

https://github.com/json-path/JsonPath
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn

from connect.settings.java_regex import java_regex

_NAME = re.compile(r"[^\s.\[\]()?@$,:*'\"=!<>&|~]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>|=~|(?:in|nin|anyof|noneof|subsetof|size|empty)\b", re.IGNORECASE)
_WORD = re.compile(r"(?:true|false|null)\b")
_WORDS: Final = {"true": True, "false": False, "null": None}
_LETTERS = re.compile(r"[a-zA-Z]*")
_FLAGS: Final = {"i": "i", "m": "m", "s": "s"}

#: The values that a step leads to from one value.
Step = Callable[[Any, Any], Iterator[Any]]
#: Whether a value (first) meets a condition; the second argument is the whole value.
Condition = Callable[[Any, Any], bool]


class JsonPath(NamedTuple):
    """A parsed path.

    Attributes:
        text: as it was written.
        steps: from the whole value, one after another.
        ahead: how many of the first steps lead to one value each, before one that may lead to several.
    """

    text: str
    steps: tuple[Step, ...]
    ahead: int

    @property
    def is_definite(self) -> bool:
        """Whether it leads to one value."""
        return self.ahead == len(self.steps)

    def one(self, whole: Any) -> Any:
        """The value after the first `ahead` steps, which are all steps of a definite path. None if one is missing."""
        return _first(self.steps[: self.ahead], whole, whole)

    def all(self, whole: Any) -> list[Any]:
        """What the path leads to: nothing, one or several values."""
        return _all(self.steps, whole, whole)


def parse(text: str) -> JsonPath:
    """The path that a user wrote. Without a leading $ it starts at the whole value.

    Raises:
        ValueError: the text is not a path; the message says what is wrong and where.
    """
    text = text.strip()
    written = text if text.startswith("$") else f"$.{text}"
    reader = _Reader(written)
    try:
        reader.at = 1
        path = reader.path()
        reader.blanks()
        if reader.at < len(written):
            reader.fail("a dot or a bracket is expected")
    except RecursionError:
        raise ValueError("is nested too deeply. Write a shorter path.") from None
    return path._replace(text=text)


def _first(steps: Sequence[Step], value: Any, whole: Any) -> Any:
    for step in steps:
        if value is None:
            break
        value = next(step(value, whole), None)
    return value


def _all(steps: Sequence[Step], value: Any, whole: Any) -> list[Any]:
    found = [value]
    for step in steps:
        found = [each for item in found for each in step(item, whole)]
    return found


# Steps.


def _named(names: list[str]) -> Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            for name in names:
                if name in value:
                    yield value[name]

    return step


def _indexed(places: list[int]) -> Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, list | tuple):
            for place in places:
                if -len(value) <= place < len(value):
                    yield value[place]

    return step


def _sliced(chosen: slice) -> Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, list | tuple):
            yield from value[chosen]

    return step


def _every(value: Any, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value


def _deep(inner: Step) -> Step:
    """The step from a value and from everything within it."""

    def step(value: Any, whole: Any) -> Iterator[Any]:
        waiting = [value]
        while waiting:
            at = waiting.pop()
            yield from inner(at, whole)
            waiting.extend(reversed(list(_every(at, None))))

    return step


def _filtered(condition: Condition) -> Step:
    def step(value: Any, whole: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            if condition(value, whole):
                yield value
        elif isinstance(value, list | tuple):
            for item in value:
                if condition(item, whole):
                    yield item

    return step


# Conditions.


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    return "text" if isinstance(value, str) else "other"


def _equal(one: Any, other: Any) -> bool:
    return _kind(one) == _kind(other) and bool(one == other)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(one: Any, other: Any) -> bool:
        kind = _kind(one)
        return kind in ("number", "text") and kind == _kind(other) and compare(one, other)

    return check


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _within(value: Any, items: Any) -> bool:
    return any(_equal(value, item) for item in _items(items))


def _any_of(one: Any, other: Any) -> bool:
    return any(_within(item, other) for item in _items(one))


def _size(value: Any, expected: Any) -> bool:
    return isinstance(value, str | list | tuple) and _equal(len(value), expected)


def _empty(value: Any, expected: Any) -> bool:
    return isinstance(value, str | list | tuple | dict) and _equal(len(value) == 0, expected)


def _matches(value: Any, pattern: Any) -> bool:
    return isinstance(value, str) and isinstance(pattern, re.Pattern) and pattern.fullmatch(value) is not None


_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": _equal,
    "!=": lambda one, other: not _equal(one, other),
    "<": _ordered(lambda one, other: one < other),
    "<=": _ordered(lambda one, other: one <= other),
    ">": _ordered(lambda one, other: one > other),
    ">=": _ordered(lambda one, other: one >= other),
    "=~": _matches,
    "in": _within,
    "nin": lambda value, items: not _within(value, items),
    "anyof": _any_of,
    "noneof": lambda one, other: isinstance(one, list | tuple) and not _any_of(one, other),
    "subsetof": lambda one, other: isinstance(one, list | tuple) and all(_within(item, other) for item in one),
    "size": _size,
    "empty": _empty,
}


class _Operand(NamedTuple):
    """One side of a comparison. For a path to several values `value` returns their list."""

    value: Callable[[Any, Any], Any]
    path: JsonPath | None

    def is_there(self, value: Any, whole: Any) -> bool:
        """Whether the path leads to something other than null."""
        found = self.value(value, whole)
        several = self.path is not None and not self.path.is_definite
        return bool(found) if several else found is not None


class _Reader:
    """Reads a path from left to right; `at` is the current position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, problem: str) -> NoReturn:
        raise ValueError(f'"{self.text}" is not a JsonPath: at position {self.at + 1} {problem}.')

    def blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def takes(self, token: str) -> bool:
        """Whether the token comes next, after blanks; if so, move past it."""
        start = self.at
        self.blanks()
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        self.at = start
        return False

    def needs(self, token: str) -> None:
        if not self.takes(token):
            self.blanks()
            self.fail(f"{token} is expected")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    # Paths.

    def path(self) -> JsonPath:
        """The steps after a $ or @."""
        start, steps, ahead = self.at - 1, list[Step](), 0
        while (made := self._step()) is not None:
            step, several = made
            steps.append(step)
            if not several and ahead == len(steps) - 1:
                ahead += 1
        return JsonPath(self.text[start : self.at], tuple(steps), ahead)

    def _step(self) -> tuple[Step, bool] | None:
        """The next step, and whether it may lead to several values; None at the end."""
        if self.text.startswith("..", self.at):
            self.at += 2
            inner, _ = self._bracket() if self.text.startswith("[", self.at) else self._name()
            return _deep(inner), True
        if self.text.startswith(".", self.at):
            self.at += 1
            # JsonPath takes $.[...] for $[...].
            return self._bracket() if self.text.startswith("[", self.at) else self._name()
        return self._bracket() if self.text.startswith("[", self.at) else None

    def _name(self) -> tuple[Step, bool]:
        if self.text.startswith("*", self.at):
            self.at += 1
            return _every, True
        found = self.match(_NAME)
        if found is None:
            self.fail("the name of a field is expected")
        if self.text.startswith("(", self.at):
            self.at = found.start()
            self.fail(f"{found[0]}() is a function, which is not supported")
        return _named([found[0]]), False

    def _bracket(self) -> tuple[Step, bool]:
        self.at += 1
        if self.takes("?"):
            self.needs("(")
            condition = self._either()
            self.needs(")")
            self.needs("]")
            return _filtered(condition), True
        if self.takes("*"):
            self.needs("]")
            return _every, True
        self.blanks()
        if self.text[self.at : self.at + 1] in ("'", '"'):
            names = [self._quoted()]
            while self.takes(","):
                self.blanks()
                names.append(self._quoted())
            self.needs("]")
            return _named(names), len(names) > 1
        return self._places()

    def _places(self) -> tuple[Step, bool]:
        first = self._whole()
        if self.takes(":"):
            last = self._whole()
            step = self._whole() if self.takes(":") else None
            if step is not None and step < 1:
                self.fail("the third number of a slice must be 1 or more")
            self.needs("]")
            return _sliced(slice(first, last, step)), True
        if first is None:
            self.fail("a name in quotes, a number, * or ?(...) is expected")
        places = [first]
        while self.takes(","):
            more = self._whole()
            if more is None:
                self.fail("a number is expected")
            places.append(more)
        self.needs("]")
        return _indexed(places), len(places) > 1

    def _whole(self) -> int | None:
        self.blanks()
        found = self.match(_WHOLE)
        return None if found is None else int(found[0])

    def _quoted(self) -> str:
        quote = self.text[self.at : self.at + 1]
        if quote not in ("'", '"') or not quote:
            self.fail("a string in quotes is expected")
        written, at = "", self.at + 1
        while at < len(self.text) and self.text[at] != quote:
            if self.text[at] == "\\" and at + 1 < len(self.text):
                at += 1
            written += self.text[at]
            at += 1
        if at >= len(self.text):
            self.fail(f"{quote} is not closed")
        self.at = at + 1
        return written

    # Conditions.

    def _either(self) -> Condition:
        parts = [self._both()]
        while self.takes("||"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda value, whole: any(part(value, whole) for part in parts)

    def _both(self) -> Condition:
        parts = [self._single()]
        while self.takes("&&"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else lambda value, whole: all(part(value, whole) for part in parts)

    def _single(self) -> Condition:
        if self.takes("!"):
            inner = self._single()
            return lambda value, whole: not inner(value, whole)
        if self.takes("("):
            inner = self._either()
            self.needs(")")
            return inner
        left = self._operand()
        self.blanks()
        operator = self.match(_OPERATOR)
        if operator is None:
            if left.path is None:
                self.fail("an operator such as == is expected")
            return left.is_there
        right = self._operand()
        compare = _OPERATORS[operator[0].lower()]
        if operator[0] == "=~" and right.path is not None:
            self.fail("=~ must be followed by a regular expression, such as /x.*/")
        return lambda value, whole: compare(left.value(value, whole), right.value(value, whole))

    def _operand(self) -> _Operand:
        self.blanks()
        char = self.text[self.at : self.at + 1]
        if char in ("@", "$") and char:
            self.at += 1
            path = self.path()
            return _Operand(_reached(path, of_whole=char == "$"), path)
        literal = self._literal()
        return _Operand(lambda *_: literal, None)

    def _literal(self) -> Any:
        self.blanks()
        char = self.text[self.at : self.at + 1]
        if char in ("'", '"') and char:
            return self._quoted()
        if char == "/":
            return self._regex()
        if char == "[":
            return self._list()
        if (number := self.match(_NUMBER)) is not None:
            return int(number[0]) if _WHOLE.fullmatch(number[0]) else float(number[0])
        if (word := self.match(_WORD)) is None:
            self.fail("a path from @ or $, a number, a 'string', true, false, null or a list is expected")
        return _WORDS[word[0]]

    def _list(self) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        if self.takes("]"):
            return items
        items.append(self._literal())
        while self.takes(","):
            items.append(self._literal())
        self.needs("]")
        return items

    def _regex(self) -> re.Pattern[str]:
        begin = end = self.at + 1  # behind the /
        while end < len(self.text) and self.text[end] != "/":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.fail("a regular expression is not closed by /")
        self.at = end + 1
        written = self.match(_LETTERS)
        assert written is not None
        flags = "".join(_FLAGS.get(flag, "?") for flag in written[0])
        if "?" in flags:
            self.fail(f"the regular expression has the flags {written[0]}, but only i, m and s exist")
        pattern = self.text[begin:end].replace("\\/", "/")
        return java_regex(f"(?{flags}){pattern}" if flags else pattern)


def _reached(path: JsonPath, *, of_whole: bool) -> Callable[[Any, Any], Any]:
    """The value of a path in a condition; a list for a path to several values."""
    steps = path.steps
    if path.is_definite:
        return lambda value, whole: _first(steps, whole if of_whole else value, whole)
    return lambda value, whole: _all(steps, whole if of_whole else value, whole)
