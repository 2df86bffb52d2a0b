"""JSON objects without a schema that stay bytes until they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from connect.converters.json_fast import REFUSED, check_utf8, may_exceed
from connect.data.column import Column, Constant
from connect.data.map_columns import MapColumns
from connect.data.schema import Schema
from connect.data.values import DeferredValues, Values

_END: Final = 0x7D
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_CHECK: Final = msgspec.json.Decoder(msgspec.Raw).decode


class JsonObjects(DeferredValues):
    """Objects in strict JSON (RFC 8259), in UTF-8, nothing before or behind each.

    A sink that writes JSON uses `json`, and they are never decoded.

    Args:
        encoded: each object. The list is not copied.
        decode: makes their values; must not fail for them.
    """

    __slots__ = ("_decode", "_encoded")

    def __init__(self, encoded: list[bytes], decode: Callable[[list[bytes]], list[Any]]) -> None:
        super().__init__(len(encoded), lambda: Values(decode(encoded)))
        self._encoded = encoded
        self._decode = decode

    @property
    def json(self) -> list[bytes | None]:
        return self._encoded  # type: ignore[return-value]

    @property
    def maps(self) -> MapColumns | None:
        return MapColumns.of(self.to_list())

    @property
    def schemas(self) -> Column[Schema | None]:  # type: ignore[override]
        return Constant(None, len(self._encoded))

    @property
    def constant(self) -> bool:
        return False

    def groups(self) -> list[tuple[Sequence[int], Values]]:
        return [(range(len(self)), self)] if len(self) else []

    def take(self, rows: Sequence[int]) -> Values:
        encoded = self._encoded
        return JsonObjects([encoded[row] for row in rows], self._decode)

    def between(self, start: int, stop: int) -> Values:
        return JsonObjects(self._encoded[start:stop], self._decode)


def objects(data: list[bytes], decode: Callable[[list[bytes]], list[Any]]) -> JsonObjects | None:
    """These records, if they are such objects, and decoding them cannot fail; else None.

    Args:
        data: the records.
        decode: makes their values.
    """
    if not all([item[:1] == b"{" and item[-1] == _END for item in data]):  # noqa: C419 - a list is faster here
        return None
    joined = b"\n".join(data)
    # What is refused only when it is decoded: a name with half of a surrogate pair, and what is beyond Java's limits.
    if (b"\\u" in joined and _SURROGATE.search(joined)) or may_exceed(data, joined):
        return None
    try:
        check_utf8(joined)
        for item in data:
            _CHECK(item)
    except REFUSED:
        return None
    return JsonObjects(data, decode)
