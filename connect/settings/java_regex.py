r"""Translates regular expressions that users wrote for Java to Python's `re`.

What both spell alike is kept. What Java spells differently is rewritten: flags in the middle, which hold to the end of
their group, named groups, ``\p{Alpha}``, ``\Q...\E``, ``\h``. What would silently mean something else here (classes
within classes, ``&&``) is refused. As in Java ``\w``, ``\d`` and ``(?i)`` are about ASCII.

https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/regex/Pattern.html
"""

from __future__ import annotations

import re
from typing import Final

# What stands between the brackets of a class, for each \p{name}.
_CLASSES: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_HORIZONTAL: Final = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL: Final = r"\n\x0b\f\r\x85\u2028\u2029"
_IN_CLASSES: Final = {"h": _HORIZONTAL, "v": _VERTICAL}
_OUTSIDE: Final = {"z": r"\Z", "Z": r"(?=\n?\Z)", "R": rf"(?>\r\n|[{_VERTICAL}])", "e": r"\x1b"}
#: What stands for more than one character in a class.
_SEVERAL: Final = frozenset("wWdDsShvpP")

_PROPERTY = re.compile(r"\\([pP])(?:\{(\w+)\}|(\w))")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]+)?([:)])")
_NAMED = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_BACK_REFERENCE = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>")
_CODE_POINT = re.compile(r"\\x\{([0-9a-fA-F]+)\}")
_OCTAL = re.compile(r"\\0([0-3][0-7]{2}|[0-7]{1,2})")
_CONTROL = re.compile(r"\\c([@-_a-z])")
_CHARACTER_NAME = re.compile(r"\\N\{[^}]+\}")
#: Java takes a brace for a count only; Python would read others as letters.
_QUANTIFIER = re.compile(r"([*+?]|\{\d+(?:,\d*)?\})([+?]?)")


def java_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with its meaning in Java.

    Raises:
        ValueError: it is invalid, or has no equivalent. The message is one line and holds the pattern.
    """
    try:
        return re.compile(_Translation(pattern).text(), re.ASCII)
    except (re.error, OverflowError) as error:
        raise ValueError(f'"{pattern}" is not a regular expression: {error}.') from None


class _Translation:
    """One walk over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._out: list[str] = []
        # Where in it begins what a quantifier here would repeat, and where each group that is open began.
        self._item: int | None = None
        self._groups: list[int] = []
        # For each group that is open, the flags that were switched in it, on and off: one group of ours, if any, which
        # ends where that ends. Were each switch a group of its own, every "|" would have to write them all.
        self._flags: list[tuple[str, str] | None] = [None]

    def text(self) -> str:
        while self._at < len(self._pattern):
            self._step()
        if len(self._flags) > 1:
            raise re.error("a parenthesis is not closed")
        self._close_flags()
        return "".join(self._out)

    def _step(self) -> None:
        rest = self._pattern[self._at]
        if quantifier := _QUANTIFIER.match(self._pattern, self._at):
            self._quantify(quantifier)
            return
        self._item = len(self._out)
        if rest == "\\":
            self._escape(in_class=False)
        elif rest == "[":
            self._class()
        elif rest == "(":
            self._open()
        elif rest == "{":
            raise re.error("a brace stands where no count can be, write \\{ for the character")
        elif rest == ")":
            self._close_flags()
            if len(self._flags) == 1:
                raise re.error("a parenthesis is closed that is not open")
            self._flags.pop()
            self._item = self._groups.pop()
            self._take(1, ")")
        elif rest == "|":
            self._close_flags()
            self._take(1, "|" + self._group_of_flags())
        else:
            self._take(1, rest)

    def _take(self, length: int, written: str) -> None:
        self._at += length
        self._out.append(written)

    def _quantify(self, quantifier: re.Match[str]) -> None:
        """Write a possessive one as an atomic group: Python before 3.11.5 matches too much by `(...)*+` (gh-106052)."""
        if self._item is None:
            what = "a brace stands where no count can be, write \\{ for the character"
            raise re.error(what if quantifier[1][0] == "{" else f"there is nothing that {quantifier[0]} could repeat")
        if quantifier[2] == "+":
            self._out.insert(self._item, "(?>")
            self._take(len(quantifier[0]), f"{quantifier[1]})")
        else:
            self._take(len(quantifier[0]), quantifier[0])
        self._item = None

    def _close_flags(self) -> None:
        if self._flags[-1] is not None:
            self._out.append(")")

    def _group_of_flags(self) -> str:
        if self._flags[-1] is None:
            return ""
        on, off = self._flags[-1]
        return f"(?{on}{'-' if off else ''}{off}:"

    def _switch(self, on: str, off: str) -> str:
        """The flags hold from here on. Returns what to write: the end of a group, and one with both flags."""
        before, (was_on, was_off) = self._flags[-1], self._flags[-1] or ("", "")
        self._flags[-1] = (
            "".join(sorted(set(was_on) - set(off) | set(on))),
            "".join(sorted(set(was_off) - set(on) | set(off))),
        )
        return (")" if before is not None else "") + self._group_of_flags()

    def _open(self) -> None:
        begin = len(self._out)
        if named := _NAMED.match(self._pattern, self._at):
            self._flags.append(None)
            self._groups.append(begin)
            self._take(len(named[0]), f"(?P<{named[1]}>")
        elif flags := _FLAGS.match(self._pattern, self._at):
            on, off = self._known(flags[1]), self._known(flags[2] or "")
            if flags[3] == ":":
                self._flags.append(None)
                self._groups.append(begin)
                group = f"(?{on}{off}:"
            else:
                group = self._switch(on, off.removeprefix("-")) if on or off else ""
            self._take(len(flags[0]), group)
        else:
            self._flags.append(None)
            self._groups.append(begin)
            self._take(1, "(")

    def _known(self, flags: str) -> str:
        # Folding case beyond ASCII is Java's alone; where the pattern has nothing beyond ASCII it makes no difference.
        if unknown := set(flags) - set("-imsu" if self._pattern.isascii() else "-ims"):
            raise re.error(f"the flag {min(unknown)} is not known here")
        return flags.replace("u", "").removesuffix("-")

    def _escape(self, *, in_class: bool) -> None:
        pattern, at = self._pattern, self._at
        following = pattern[at + 1 : at + 2]
        if following == "Q":
            end = pattern.find(r"\E", at + 2)
            quoted = pattern[at + 2 : end if end >= 0 else len(pattern)]
            self._take(len(quoted) + (4 if end >= 0 else 2), re.escape(quoted))
        elif found := _PROPERTY.match(pattern, at):
            self._property(found, in_class=in_class)
        elif following in _IN_CLASSES:
            self._take(2, _IN_CLASSES[following] if in_class else f"[{_IN_CLASSES[following]}]")
        elif following == "H" and not in_class:
            self._take(2, f"[^{_HORIZONTAL}]")
        elif found := _CODE_POINT.match(pattern, at):
            self._take(len(found[0]), re.escape(chr(int(found[1], 16))))
        elif found := _OCTAL.match(pattern, at):
            self._take(len(found[0]), re.escape(chr(int(found[1], 8))))
        elif found := _CONTROL.match(pattern, at):
            self._take(len(found[0]), re.escape(chr(ord(found[1]) ^ 64)))
        elif found := _CHARACTER_NAME.match(pattern, at):
            self._take(len(found[0]), found[0])
        elif not in_class and (found := _BACK_REFERENCE.match(pattern, at)):
            self._take(len(found[0]), f"(?P={found[1]})")
        elif not in_class and following in _OUTSIDE:
            self._take(2, _OUTSIDE[following])
        else:
            self._take(2, pattern[at : at + 2])

    def _property(self, found: re.Match[str], *, in_class: bool) -> None:
        name = found[2] or found[3]
        if name not in _CLASSES or (in_class and found[1] == "P"):
            raise re.error(f"{found[0]} is not known here, write its letters, such as [a-zA-Z]")
        inside = _CLASSES[name]
        self._take(len(found[0]), inside if in_class else f"[{'^' if found[1] == 'P' else ''}{inside}]")

    def _class(self) -> None:
        begin = "[^" if self._pattern.startswith("[^", self._at) else "["
        self._take(len(begin), begin)
        while self._at < len(self._pattern):
            rest = self._pattern[self._at]
            if rest == "]":
                self._take(1, "]")
                return
            if rest == "[" or self._pattern.startswith("&&", self._at):
                raise re.error("a class within a class, or &&, is Java's alone; write one class, or (?=...)")
            if rest == "\\":
                several = self._pattern[self._at + 1 : self._at + 2] in _SEVERAL
                self._escape(in_class=True)
                if several and self._pattern.startswith("-", self._at):
                    # After several characters no range can begin.
                    self._take(1, r"\-")
            else:
                self._take(1, f"\\{rest}" if rest in "&~|" else rest)
        raise re.error("a class is not closed")
