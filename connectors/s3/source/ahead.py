"""Small objects, asked for while those before them are read: the time for an answer is nearly all that they take."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from connectors.s3.source.body import Body
from connectors.s3.source.lanes import Found
from connectors.s3.source.store import Store
from connectors.s3.source.walk import Next

#: So many objects, each of so many bytes at most, which bounds the memory that this may take.
_MOST: Final = 8
_SMALL: Final = 1 << 20


class Ahead:
    """Fetches objects that will be wanted.

    Args:
        store: asks for them.
    """

    most: Final = _MOST

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool: ThreadPoolExecutor | None = None
        self._coming: dict[tuple[str, str], Future[bytes]] = {}

    def want(self, coming: Sequence[Next]) -> None:
        """Fetch these, as far as they are small; others are not wanted any more."""
        wanted = {(c.found.key, c.found.etag): c.found for c in coming if 0 < c.found.size <= _SMALL}
        for gone in self._coming.keys() - wanted.keys():
            self._coming.pop(gone).cancel()
        for name, found in wanted.items():
            if name not in self._coming:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_MOST, "s3-source-ahead")
                self._coming[name] = self._pool.submit(self._fetch, found)

    def body(self, found: Found) -> Body:
        """The bytes of an object, fetched by now or not."""
        future = self._coming.pop((found.key, found.etag), None)
        if future is None:
            return Body(self._store, found)
        try:
            return Body(self._store, found, future.result())
        except Exception:
            return Body(self._store, found)  # which finds out by itself, and says so

    def close(self) -> None:
        """End its threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, found: Found) -> bytes:
        content: bytes = self._store.open(found)["Body"].read()
        return content
