"""Java's .properties files, read as java.util.Properties reads them, with the line of every key.

https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/Properties.html#load(java.io.Reader)

Five things differ on purpose. Text is UTF-8, and ISO-8859-1 only where it is not valid UTF-8 (Java always uses
ISO-8859-1 and turns "ä" into two letters). A byte order mark is skipped. A file with NUL bytes, or with half of a
surrogate pair, is refused instead of passed on. A last line of nothing but a backslash is not a key (in Java it is an
empty one, or none, depending on the line end before it).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LINE_END = re.compile(r"\r\n|\n|\r")
_BLANKS = " \t\f"
_KEY_AND_SEPARATOR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
# Two escaped halves of a surrogate pair are one character; any other \u escape stands for itself.
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL
)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPES = {"\\": "\\\\", **{control: f"\\{letter}" for letter, control in _CONTROLS.items()}}


@dataclass(frozen=True)
class Position:
    """A line of a file; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ConfigFileError(ValueError):
    """A file of settings cannot be used. The message says where, what is wrong and what to do."""

    #: For the command line, as those of `ConnectError`: the message alone is shown.
    user_message = True
    exit_code = 2


class PropertiesError(ConfigFileError):
    """A .properties file cannot be read."""


class Properties(Mapping[str, str]):
    """The keys and values of one file, in the order of the file. A key written twice has its last value, as in Java."""

    def __init__(self, name: str, entries: list[tuple[str, str, int]]) -> None:
        self.name = name
        self._values: dict[str, str] = {}
        self._lines: dict[str, list[int]] = {}
        for key, value, line in entries:
            self._values[key] = value
            self._lines.setdefault(key, []).append(line)

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Properties {self.name}: {len(self)} keys>"  # never values: they may be secrets

    def where(self, key: str) -> Position:
        """The line on which the effective value of `key` begins. KeyError if the file does not have the key."""
        return Position(self.name, self._lines[key][-1])

    def place(self, key: str) -> Position | str:
        """The same, and the file's name if it does not have the key."""
        return self.where(key) if key in self else self.name

    def replaced(self, key: str, value: str) -> Properties:
        """The same with another value for a key, which then has no line."""
        others = [(name, each, self._lines[name][-1]) for name, each in self._values.items() if name != key]
        return Properties(self.name, [*others, (key, value, 0)])

    @property
    def duplicates(self) -> dict[str, list[Position]]:
        """The keys written more than once, each with all its positions; the last one counts."""
        return {key: [Position(self.name, n) for n in lines] for key, lines in self._lines.items() if len(lines) > 1}


def load(path: str | os.PathLike[str]) -> Properties:
    """Read a file.

    Raises:
        PropertiesError: the file cannot be read, is not text, or holds a malformed escape.
    """
    return loads(read_bytes(path, PropertiesError), os.fspath(path))


def loads(text: str | bytes, name: str = "<text>") -> Properties:
    """Read a text; `name` is its name in positions and errors."""
    if isinstance(text, bytes):
        text = _decode(text, name)
    return Properties(name, [entry.split() for entry in _logical_lines(text, name)])


def dumps(values: Mapping[str, str]) -> str:
    """A text of these keys and values, a line each, as `loads` reads it."""
    return "".join(f"{_written(key, _BLANKS + '=:')}={_written(value)}\n" for key, value in values.items())


def _written(text: str, escaped: str = "") -> str:
    """A key or a value. What begins with a blank or the sign of a comment gets a backslash in front of it."""
    written = "".join(_ESCAPES.get(char) or (f"\\{char}" if char in escaped else char) for char in text)
    return f"\\{written}" if written[:1] in (" ", "#", "!") else written


def read_bytes(path: str | os.PathLike[str], error: type[ConfigFileError]) -> bytes:
    """The bytes of a file of settings; a failure to read it becomes one `error` with advice."""
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise error(unreadable(path, problem)) from problem


def unreadable(path: str | os.PathLike[str], problem: OSError) -> str:
    """Why a file cannot be read, and what to do."""
    name = os.fspath(path)
    match problem:
        case FileNotFoundError():
            return f"{name}: there is no such file; check the path (relative to {Path.cwd()})"
        case IsADirectoryError():
            return f"{name}: this is a directory; name a file in it"
        case PermissionError():
            return f"{name}: this user may not read it; grant it read permission"
    return f"{name}: cannot be read ({problem.strerror}); name a readable file"


def _decode(data: bytes, name: str) -> str:
    if (nul := data.find(b"\0")) >= 0:
        line = len(_LINE_END.findall(data[:nul].decode("latin-1"))) + 1
        raise PropertiesError(f"{name}:{line}: there is a NUL byte, so this is not a text file; save it as UTF-8 text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


@dataclass(frozen=True)
class _LogicalLine:
    """A line with its continuations joined; `starts` has the offset and the line number of each piece."""

    file: str
    text: str
    starts: list[tuple[int, int]]

    def split(self) -> tuple[str, str, int]:
        """Key, value and line number."""
        match = _KEY_AND_SEPARATOR.match(self.text)
        key_end, value_start = (match.end(1), match.end()) if match else (0, 0)  # it matches always, at least ""
        return self._unescape(0, key_end), self._unescape(value_start, len(self.text)), self.starts[0][1]

    def _unescape(self, start: int, end: int) -> str:
        def replacement(match: re.Match[str]) -> str:
            high, low, single, other = match.groups()
            if high:
                return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
            if single:
                if 0xD800 <= (code := int(single, 16)) <= 0xDFFF:
                    raise self._error(start + match.start(), "is half of a surrogate pair; write both halves")
                return chr(code)
            if other == "u":
                # What follows may be part of a password, so it is not shown.
                raise self._error(start + match.start(), "needs four hexadecimal digits; write a backslash as \\\\")
            return _CONTROLS.get(other, other)

        return _ESCAPE.sub(replacement, self.text[start:end])

    def _error(self, offset: int, problem: str) -> PropertiesError:
        line = max(number for begin, number in self.starts if begin <= offset)
        return PropertiesError(f"{self.file}:{line}: a \\u escape {problem}")


def _logical_lines(text: str, name: str) -> Iterator[_LogicalLine]:
    joined, starts = "", list[tuple[int, int]]()
    for number, line in enumerate(_LINE_END.split(text), start=1):
        piece = line.lstrip(_BLANKS)
        if not joined and (not piece or piece[0] in "#!"):
            starts = []
            continue
        starts.append((len(joined), number))
        backslashes = len(piece) - len(piece.rstrip("\\"))
        continued = backslashes % 2 == 1
        joined += piece[:-1] if continued else piece
        if not continued:
            yield _LogicalLine(name, joined, starts)
            joined, starts = "", []
    if joined:  # the file ends in a backslash
        yield _LogicalLine(name, joined, starts)
