"""Headers of a record: an ordered sequence of (key, value, schema), keys may repeat (KIP-145)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from connect.data.schema import OPTIONAL_BYTES, Schema


class Header(NamedTuple):
    """One header. `schema` is None for a value without one."""

    key: str
    value: Any
    schema: Schema | None = None


class Headers:
    """An immutable sequence of headers; each change returns a new one."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[Header] = ()) -> None:
        self._items = tuple(items)

    def __iter__(self) -> Iterator[Header]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> Header:
        return self._items[index]

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, Headers) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(item.key for item in self._items))

    def __repr__(self) -> str:
        return f"Headers({list(self._items)!r})"

    def all(self, key: str) -> list[Header]:
        """The headers of this key, oldest first."""
        return [item for item in self._items if item.key == key]

    def last(self, key: str) -> Header | None:
        """The newest header of this key, or None."""
        return next((item for item in reversed(self._items) if item.key == key), None)

    def add(self, key: str, value: Any, schema: Schema | None = None) -> Headers:
        """These headers and one more."""
        return Headers((*self._items, Header(key, value, schema)))

    def remove(self, key: str) -> Headers:
        """These headers without the ones of this key."""
        return Headers(item for item in self._items if item.key != key)


class BytesHeaders(Headers):
    """Headers that are bytes as stored in Kafka. Objects are made of them on first use.

    Attributes:
        pairs: of name and bytes, or None.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: Sequence[tuple[str, bytes | None]]) -> None:
        self.pairs = pairs

    @property
    def _items(self) -> tuple[Header, ...]:  # type: ignore[override]  # what the base keeps is made when it is read
        return tuple(Header(name, value, OPTIONAL_BYTES) for name, value in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


NO_HEADERS: Final = Headers()
