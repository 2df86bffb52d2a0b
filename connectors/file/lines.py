r"""Bytes of a file, in any encoding, split into lines of UTF-8 with their positions in the file.

A line ends with `\n`, `\r` or `\r\n`, as in Java's FileStreamSource. An incomplete line is kept back.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from connect import ConnectError

#: Their lines mean nothing without the file's beginning, or they are not encodings of text.
NOT_BY_LINE = frozenset({"iso2022_kr", "idna", "raw-unicode-escape"})


@dataclass(frozen=True, slots=True)
class Encoding:
    """How lines are found and decoded.

    Attributes:
        codec: Python's name of the encoding, with its byte order.
        line_feed, carriage_return: as bytes of the encoding.
        mark: the byte order mark that a file may begin with; it is not a part of the first line.
        marked: the mark decides the byte order, so the file's first bytes are needed.
        shifts: the meaning of bytes depends on earlier ones. Every line starts afresh.
    """

    codec: str
    line_feed: bytes = b"\n"
    carriage_return: bytes = b"\r"
    mark: bytes = b""
    marked: bool = False
    shifts: bool = False

    @property
    def unit(self) -> int:
        """The bytes of a code unit: 1, 2 or 4."""
        return len(self.line_feed)

    def of_file(self, head: bytes) -> Encoding:
        """This encoding in the byte order of a file's first bytes; big-endian by default, as in Java."""
        if not self.marked:
            return self
        little = encoding(f"{self.codec}-le")
        return little if head.startswith(little.mark) else encoding(f"{self.codec}-be")

    def texts(self, raw: bytes) -> list[bytes]:
        """The lines of whole lines, in UTF-8. UTF-8 itself is passed on unread: well-formed or not."""
        raw = raw.removeprefix(self.mark) if self.mark else raw
        if self.codec == "utf-8":
            return raw.splitlines()
        if self.line_feed != b"\n":
            return _utf8(raw, self.codec).splitlines()
        if not self.shifts:
            try:
                return raw.decode(self.codec).encode("utf-8", "replace").splitlines()
            except UnicodeDecodeError:
                pass  # a malformed character must not swallow the end of its line
        return [_utf8(line, self.codec) for line in raw.splitlines()]

    def sizes(self, raw: bytes) -> Iterable[int]:
        """The number of bytes of each of the same lines in the file, its end included."""
        if self.line_feed == b"\n":
            return map(len, raw.splitlines(keepends=True))
        # These encodings count in units of fixed size, and a malformed unit became one character.
        marked = bool(self.mark) and raw.startswith(self.mark)
        lines = _utf8(raw.removeprefix(self.mark) if marked else raw, self.codec).splitlines(keepends=True)
        sizes = [len(line.decode().encode(self.codec, "replace")) for line in lines]
        if marked and sizes:
            sizes[0] += len(self.mark)
        return sizes


def encoding(name: str) -> Encoding:
    """Find an encoding by any of its names: `UTF-16LE`, `windows-1252`, `Shift_JIS`.

    Raises:
        ValueError: it is unknown, or its lines cannot be separated.
    """
    try:
        codec = codecs.lookup(name).name
        ends = "\r\n".encode(codec)
    except (LookupError, UnicodeError):
        raise ValueError(
            f'"{name}" is not a known text encoding. Examples: UTF-8, UTF-16, ISO-8859-1, cp1252.'
        ) from None
    wide = {"utf-16": 2, "utf-32": 4}.get(codec[:6])
    if codec in {"utf-16", "utf-32"}:
        return Encoding(codec, bytes(wide or 1), bytes(wide or 1), marked=True)
    if codec == "utf-8-sig":
        return Encoding("utf-8", mark=codecs.BOM_UTF8)
    if wide:
        return Encoding(codec, ends[wide:], ends[:wide], mark="\ufeff".encode(codec))
    if len(ends) != 2 or codec in NOT_BY_LINE:
        raise ValueError(f'"{name}" does not keep lines apart and cannot be read line by line. Convert it to UTF-8.')
    return Encoding(codec, ends[1:], ends[:1], shifts=codec.startswith(("iso2022", "hz", "utf-7")))


def _utf8(raw: bytes, codec: str) -> bytes:
    return raw.decode(codec, "replace").encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a file.

    Attributes:
        texts: the lines in UTF-8 without their ends.
        start: position of the first line, in bytes.
        raw: the bytes of the lines as the file has them.
        encoding: of `raw`.
    """

    texts: list[bytes]
    start: int
    raw: bytes
    encoding: Encoding

    @property
    def end(self) -> int:
        """Position after the last line."""
        return self.start + len(self.raw)

    def ends(self) -> list[int]:
        """Position after each line."""
        return list(accumulate(self.encoding.sizes(self.raw), initial=self.start))[1:]


class Splitter:
    """Splits a file's bytes, piece by piece, into lines.

    Args:
        encoding: of the file.
        name: of the file, for errors.
        longest: the maximum bytes of a line, its end included.
        start: position of the first byte that will be fed.
        head: the file's first bytes, when `start` is not 0.
    """

    def __init__(self, encoding: Encoding, name: str, longest: int, start: int = 0, head: bytes = b"") -> None:
        self._encoding = replace(encoding.of_file(head), mark=b"") if start else encoding
        self._name = name
        self._longest = longest
        self._start = start
        self._kept: list[bytes] = []  # of one line that is not over yet
        self._kept_size = 0
        self._odd = b""  # less than a unit

    def feed(self, data: bytes) -> Lines | None:
        """Add the next bytes and return the complete lines, None when there are none.

        Raises:
            ConnectError: a line is too long.
        """
        data = self._odd + data if self._odd else data
        unit = self._encoding.unit
        odd = len(data) % unit
        self._odd = data[len(data) - odd :] if odd else b""
        data = data[: len(data) - odd] if odd else data
        if not data:
            return None
        if self._encoding.marked:
            self._encoding = self._encoding.of_file(data)
        feed, carriage = self._encoding.line_feed, self._encoding.carriage_return
        end = _after_last(data, feed, 0, len(data))
        # A carriage return in the last place may have its line feed still to come.
        end = max(end, _after_last(data, carriage, end, len(data) - unit))
        if not end and not (self._kept and self._kept[-1].endswith(carriage)):
            self._keep(data)
            return None
        raw = b"".join([*self._kept, data[:end]]) if self._kept else data[:end]
        lines = self._cut(raw)
        self._kept, self._kept_size = [], 0
        if end < len(data):
            self._keep(data[end:])
        return lines

    def rest(self) -> Lines | None:
        """The last line of a file that will not grow any more, without an end."""
        if not self._kept_size:
            return None
        raw = b"".join(self._kept)
        self._kept, self._kept_size = [], 0
        return self._cut(raw)

    def _cut(self, raw: bytes) -> Lines:
        lines = Lines(self._encoding.texts(raw), self._start, raw, self._encoding)
        if len(raw) > self._longest:
            for start, end in pairwise([self._start, *lines.ends()]):
                if end - start > self._longest:
                    raise self._too_long(start)
        self._start += len(raw)
        if self._encoding.mark:
            self._encoding = replace(self._encoding, mark=b"")
        return lines

    def _keep(self, data: bytes) -> None:
        self._kept.append(data)
        self._kept_size += len(data)
        if self._kept_size > self._longest:
            raise self._too_long(self._start)

    def _too_long(self, start: int) -> ConnectError:
        return ConnectError(
            f"{self._name}: the line at byte {start} is longer than max.line.bytes={self._longest}. "
            "Raise max.line.bytes if such lines are meant, or look whether this is a text file in the encoding named."
        )


def _after_last(data: bytes, wanted: bytes, start: int, stop: int) -> int:
    """Where the last `wanted` in data[start:stop] ends that begins at a whole unit; 0 if there is none."""
    unit = len(wanted)
    at = data.rfind(wanted, start, stop)
    while at >= 0 and at % unit:
        at = data.rfind(wanted, start, at + unit - 1)
    return at + unit if at >= 0 else 0
