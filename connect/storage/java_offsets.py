"""Reads the offset file of a Java worker in standalone mode: a serialized `HashMap<byte[], byte[]>`.

https://docs.oracle.com/en/java/javase/17/docs/specs/serialization/protocol.html
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, TypeVar

MAGIC = b"\xac\xed\x00\x05"

_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY, _BLOCK, _END = 0x70, 0x71, 0x72, 0x73, 0x75, 0x77, 0x78
_FIRST_HANDLE = 0x7E0000


_T = TypeVar("_T")


class NotOffsets(ValueError):
    """These are not the offsets of a Kafka Connect worker."""


def read(data: bytes) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Connector, source partition and offset of each entry. Entries that were reset are left out.

    Raises:
        NotOffsets: says what is wrong.
    """
    try:
        return list(_offsets(_Stream(data).byte_map()))
    except (struct.error, IndexError):
        raise NotOffsets("it is cut off") from None


def _offsets(entries: list[tuple[bytes | None, bytes | None]]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for key, value in entries:
        if key is None or value is None:
            continue
        try:
            found = json.loads(key), json.loads(value)
        except ValueError:
            raise NotOffsets("it holds something other than JSON") from None
        match found:
            case ([str(connector), dict(partition)], dict(offset)):
                yield connector, partition, offset
            case (_, None):
                pass
            case _:
                raise NotOffsets("it holds something other than source partitions with their offsets")


class _Stream:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(MAGIC)
        # Each class and object of the stream by its handle, to which later ones may refer.
        self._handles: list[Any] = []

    def byte_map(self) -> list[tuple[bytes | None, bytes | None]]:
        self._expect(_OBJECT)
        if (name := self._class()) != "java.util.HashMap":
            raise NotOffsets(f"it holds a {name}")
        self._handles.append(None)
        self._take(">fi")  # load factor, threshold
        self._expect(_BLOCK)
        _, _, size = self._take(">Bii")  # length of the block, number of buckets
        entries = [(self._bytes(), self._bytes()) for _ in range(size)]
        self._expect(_END)
        return entries

    def _bytes(self) -> bytes | None:
        (code,) = self._take(">B")
        if code == _NULL:
            return None
        if code == _REFERENCE:  # the same array again
            return self._referred(bytes)
        if code != _ARRAY:
            raise NotOffsets("it holds something other than bytes")
        if (name := self._class()) != "[B":
            raise NotOffsets(f"it holds a {name}")
        (length,) = self._take(">i")
        found = self._data[self._at : self._at + length]
        if not 0 <= length == len(found):
            raise IndexError
        self._at += length
        self._handles.append(found)
        return found

    def _class(self) -> str:
        """The name of a class that is described here or was described before."""
        code = self._take(">B")[0]
        if code == _REFERENCE:
            return self._referred(str)
        if code != _CLASS:
            raise NotOffsets("it holds something other than a map of bytes")
        name = self._utf()
        self._handles.append(name)
        _, _, fields = self._take(">qBh")  # serialVersionUID, flags
        for _ in range(fields):
            (kind,) = self._take(">c")
            if kind in b"L[":
                raise NotOffsets(f"it holds a {name}")
            self._utf()
        self._expect(_END)
        self._expect(_NULL)  # no serialized superclass
        return name

    def _referred(self, kind: type[_T]) -> _T:
        found = self._handles[self._take(">i")[0] - _FIRST_HANDLE]
        if not isinstance(found, kind):
            raise NotOffsets("it refers to something other than bytes")
        return found

    def _utf(self) -> str:
        (length,) = self._take(">H")
        self._at += length
        return self._data[self._at - length : self._at].decode("utf-8", "replace")

    def _expect(self, code: int) -> None:
        if self._take(">B")[0] != code:
            raise NotOffsets("it holds something other than a map of bytes")

    def _take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return found
