"""A bucket's names in memory, in S3's order, that counts what it is asked."""

from bisect import bisect_right
from collections.abc import Iterable

from connectors.s3.source.lanes import Found
from connectors.s3.source.walk import Page


class Names:
    """See `connectors.s3.source.walk.Listing`."""

    def __init__(self, names: Iterable[str] = (), size: int = 1000) -> None:
        self._size = size
        self._found: dict[str, Found] = {}
        self._keys: list[str] = []
        self.asked: list[str] = []
        for number, name in enumerate(names):
            self._found[name] = Found(name, "e", 1, number)
        self._sorted = False

    def put(self, name: str, modified: int = 0, etag: str = "e") -> None:
        self._found[name] = Found(name, etag, 1, modified)
        self._sorted = False

    def delete(self, name: str) -> None:
        del self._found[name]
        self._sorted = False

    def page(self, prefix: str, after: str, more: str | None) -> Page:
        if not self._sorted:
            self._keys, self._sorted = sorted(self._found, key=str.encode), True
        start = after if more is None else more
        self.asked.append(start)
        begin = bisect_right(self._keys, start) if start else 0
        keys = [key for key in self._keys[begin : begin + self._size + 1] if key.startswith(prefix)]
        founds = [self._found[key] for key in keys[: self._size]]
        return Page(founds, founds[-1].key if len(keys) > self._size else None)
