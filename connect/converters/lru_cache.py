"""A dict of bounded size, for objects that are expensive to create and can be created again."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(dict[K, V]):
    """A dict that forgets its oldest entry when it is full."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = max(1, size)

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self._size and key not in self:
            del self[next(iter(self))]
        super().__setitem__(key, value)
