"""The words of a statement of MySQL or MariaDB, for reading what it does to a table.

https://mariadb.com/docs/server/reference/sql-structure/sql-language-structure
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<comment>/\*(?![!M])|--(?=\s|\Z)|\#)"
    r"|(?P<executed>/\*M?!\d*)|(?P<end>\*/)"
    r"|(?P<name>`(?:[^`]|``)*`)"
    r"|(?P<string>'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\")"
    r"|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w$])|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[\w$@]+)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_ESCAPES: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


class NotUnderstood(Exception):
    """A statement has a form that is not known."""


@dataclass(frozen=True, slots=True)
class Token:
    """One word. `kind` is name (quoted), string, number, word or sign; `text` has no quotes."""

    kind: str
    text: str


def tokens(sql: str) -> Iterator[Token]:
    """The words of a statement, without comments, except those that the server executes."""
    at = 0
    while at < len(sql):
        found = _TOKEN.match(sql, at)
        assert found is not None  # any character is a sign
        kind, text = found.lastgroup or "", found[0]
        at = found.end()
        if kind == "comment":
            mark = "*/" if text == "/*" else "\n"
            end = sql.find(mark, at)
            at = len(sql) if end < 0 else end + len(mark)
        elif kind == "name":
            yield Token(kind, text[1:-1].replace("``", "`"))
        elif kind == "string":
            yield Token(kind, _unquoted(text))
        elif kind not in ("space", "executed", "end"):
            yield Token(kind, text)


def _unquoted(text: str) -> str:
    quote, inner = text[0], text[1:-1].replace(text[0] * 2, text[0])
    if "\\" not in inner:
        return inner
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1], flags=re.DOTALL).replace(
        quote * 2, quote
    )


def quoted(name: str) -> str:
    """A name as it is written in a statement."""
    return "`" + name.replace("`", "``") + "`"


class Words:
    """The words of a statement, read one after another."""

    def __init__(self, sql: str | list[Token]) -> None:
        self._tokens = list(tokens(sql)) if isinstance(sql, str) else sql
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        """A word to come, in capitals unless it is quoted; empty behind the last. Strings are never words."""
        place = self._at + ahead
        if place >= len(self._tokens):
            return ""
        token = self._tokens[place]
        return token.text.upper() if token.kind in ("word", "sign", "number") else ""

    def has(self, word: str) -> bool:
        """Whether a word is still to come, anywhere, unquoted."""
        return any(token.kind == "word" and token.text.upper() == word for token in self._tokens[self._at :])

    def skip(self, *words: str) -> bool:
        """Go past these words if they come next."""
        if all(self.peek(place) == word for place, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def any_of(self, *words: str) -> str:
        """Go past one of these words if it comes next: which one."""
        found = self.peek()
        if found in words:
            self._at += 1
            return found
        return ""

    def expect(self, *words: str) -> None:
        """Go past these words. Raises NotUnderstood."""
        if not self.skip(*words):
            raise NotUnderstood(f"{' '.join(words)} was expected, not {self.peek()}")

    def take(self) -> Token:
        """The next one. Raises NotUnderstood: there is none."""
        if not self:
            raise NotUnderstood("the statement ends early")
        self._at += 1
        return self._tokens[self._at - 1]

    def rest(self) -> list[Token]:
        """All that are still to come."""
        return self._tokens[self._at :]

    def name(self) -> str:
        """A name, quoted or not. Raises NotUnderstood."""
        token = self.take()
        if token.kind not in ("name", "word", "string"):
            raise NotUnderstood(f"a name was expected, not {token.text}")
        return token.text

    def table(self, database: str) -> tuple[str, str]:
        """A table's name, with its database, which may be given beside it."""
        first = self.name()
        if self.skip("."):
            return first, self.name()
        return database, first

    def brackets(self) -> Words:
        """What stands in the brackets that come next. Raises NotUnderstood."""
        self.expect("(")
        start, depth = self._at, 1
        while depth:
            text = self.peek()
            self.take()
            depth += (text == "(") - (text == ")")
        return Words(self._tokens[start : self._at - 1])

    def parts(self) -> Iterator[Words]:
        """What stands between commas, without those in brackets."""
        start, depth = self._at, 0
        while self:
            text = self.peek()
            if text == "," and not depth:
                yield Words(self._tokens[start : self._at])
                start = self._at + 1
            self.take()
            depth += (text == "(") - (text == ")")
        if start < self._at:
            yield Words(self._tokens[start : self._at])
