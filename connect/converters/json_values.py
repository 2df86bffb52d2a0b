"""JSON objects without a schema that stay bytes until they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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


class Use:
    """How objects are used: whoever reads the next ones reads them for that at once.

    Args:
        columns_of: parses objects into the values of each key where it can, and refuses what is no strict JSON.

    Attributes:
        by_columns: whether objects were wanted as `MapColumns`.
        decoded: whether objects were decoded.
        as_json: whether their JSON was wanted.
    """

    def __init__(self, columns_of: Callable[[list[bytes]], Mapping[str, Sequence[Any]] | None]) -> None:
        self.by_columns = self.decoded = self.as_json = False
        self._columns_of = columns_of

    def columns(self, data: list[bytes]) -> MapColumns | None:
        """These objects by columns, where they can be parsed so."""
        found = self._columns_of(data)
        return None if found is None else MapColumns(found)


class JsonObjects(DeferredValues):
    """Objects in strict JSON (RFC 8259), in UTF-8, nothing before or behind each.

    A sink that writes JSON uses `json`, and they are never decoded.

    Args:
        encoded: each object. The list is not copied.
        decode: makes their values; must not fail for them.
        use: told of how they are used.
        columns: their values by columns, None where they have none, or not yet.
        parsed: whether it was tried to parse them by columns.
    """

    __slots__ = ("_columns", "_decode", "_encoded", "_parsed", "_use")

    def __init__(
        self,
        encoded: list[bytes],
        decode: Callable[[list[bytes]], list[Any]],
        use: Use,
        columns: MapColumns | None = None,
        *,
        parsed: bool = False,
    ) -> None:
        super().__init__(len(encoded), self._decoded)
        self._encoded = encoded
        self._decode = decode
        self._use = use
        self._columns = columns
        self._parsed = parsed

    def _decoded(self) -> Values:
        self._use.decoded = True
        return Values(self._decode(self._encoded))

    @property
    def json(self) -> list[bytes | None]:
        self._use.as_json = True
        return self._encoded  # type: ignore[return-value]

    @property
    def maps(self) -> MapColumns | None:
        return self._by_columns() or MapColumns.of(self.to_list())

    def _by_columns(self) -> MapColumns | None:
        self._use.by_columns = True
        if not self._parsed:
            self._columns, self._parsed = self._use.columns(self._encoded), True
        return self._columns

    @property
    def schemas(self) -> Column[Schema | None]:  # type: ignore[override]
        return Constant(None, len(self._encoded))

    @property
    def constant(self) -> bool:
        return False

    def encoded_lines(self) -> bytes:
        columns = self._by_columns()
        return super().encoded_lines() if columns is None else columns.encoded_lines()

    def groups(self) -> list[tuple[Sequence[int], Values]]:
        return [(range(len(self)), self)] if len(self) else []

    def take(self, rows: Sequence[int]) -> Values:
        encoded, columns = self._encoded, self._columns
        taken = None if columns is None else columns.take(rows).maps
        return JsonObjects([encoded[row] for row in rows], self._decode, self._use, taken, parsed=self._parsed)

    def between(self, start: int, stop: int) -> Values:
        columns = None if self._columns is None else self._columns.between(start, stop).maps
        return JsonObjects(self._encoded[start:stop], self._decode, self._use, columns, parsed=self._parsed)


def objects(data: list[bytes], decode: Callable[[list[bytes]], list[Any]], use: Use) -> JsonObjects | None:
    """These records, if they are such objects, and decoding them cannot fail; else None.

    None, too, where those before were only decoded: then looking at them beforehand is work for nothing.

    Args:
        data: the records.
        decode: makes their values.
        use: how the ones before were used; told of how these are.
    """
    if not all([item[:1] == b"{" and item[-1] == _END for item in data]):  # noqa: C419 - a list is faster here
        return None
    columns = use.columns(data) if use.by_columns else None
    if columns is not None:
        return JsonObjects(data, decode, use, columns, parsed=True)
    if use.decoded and not use.as_json:
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
    return JsonObjects(data, decode, use, parsed=use.by_columns)
