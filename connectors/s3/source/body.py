"""An object's bytes: as one stream that resumes where it broke, or from any position."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from connect import ConnectError, RetriableError
from connectors.s3.source.lanes import Found
from connectors.s3.source.store import Store
from connectors.s3.source.walk import Next

log = logging.getLogger(__name__)

_TRIES: Final = 3
#: The smallest range to request, when Parquet's footer and small columns are read.
_RANGE: Final = 1 << 16


class Body:
    """The bytes of one object: of exactly the listed one, or an error.

    Args:
        store: asks for them.
        found: the object.
        whole: all its bytes, if they were fetched already.
    """

    def __init__(self, store: Store, found: Found, whole: bytes | None = None) -> None:
        self._store = store
        self._found = found
        self._whole = None if whole is None else io.BytesIO(whole)
        self._stream: Any = None
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        """See `connectors.objects.formats.reading.Source`.

        Raises:
            Gone, Changed: it is not the listed object.
            RetriableError: the store fails temporarily.
        """
        if self._whole is not None:
            data = self._whole.read(size)
            self.taken += len(data)
            return data
        for tried in range(1, _TRIES + 1):
            try:
                if self._stream is None:
                    if self._found.size == self.taken:  # nothing follows, and no range can express that
                        return b""
                    self._stream = self._open()
                found: bytes = self._stream.read(size)
            except ConnectError:
                raise
            except Exception as error:
                self.close()
                raised = self._store.error(error, f"reading {self._found.key}")
                if tried == _TRIES or not isinstance(raised, RetriableError):
                    raise raised from error
                log.debug("Reading %s continues at byte %d: %s", self._found.key, self.taken, raised)
            else:
                self.taken += len(found)
                return found
        raise AssertionError("the last try raises")

    def file(self) -> File | io.BytesIO:
        """The same as a seekable file."""
        return self._whole if self._whole is not None else File(self._store, self._found)

    def close(self) -> None:
        """Close the connection in use."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _open(self) -> Any:
        answer = self._store.open(self._found, self.taken)
        if self._found.size < 0:
            self._found = self._found._replace(size=self.taken + answer["ContentLength"])
        return answer["Body"]


class File(io.RawIOBase):
    """An object as a seekable file. Each read is a request, except for what came with the last one."""

    def __init__(self, store: Store, found: Found) -> None:
        self._store = store
        self._found = found if found.size >= 0 else found._replace(size=store.look(found.key).size)
        self._at = 0
        self._cached_at = 0
        self._cached = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._found.size)[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._found.size if size is None or size < 0 else min(self._at + size, self._found.size)
        if end <= self._at:
            return b""
        if not self._cached_at <= self._at <= end <= self._cached_at + len(self._cached):
            start = self._at
            if end - start < _RANGE:  # the footer is read from its end, so what precedes it is wanted next
                start = max(0, min(start, end - _RANGE)) if end == self._found.size else start
            until = min(self._found.size, max(end, start + _RANGE))
            self._cached, self._cached_at = self._range(start, until), start
        found = self._cached[self._at - self._cached_at : end - self._cached_at]
        self._at = end
        return found

    def _range(self, start: int, end: int) -> bytes:
        for tried in range(1, _TRIES + 1):
            try:
                found: bytes = self._store.open(self._found, start, end)["Body"].read()
            except ConnectError:
                raise
            except Exception as error:
                raised = self._store.error(error, f"reading {self._found.key}")
                if tried == _TRIES or not isinstance(raised, RetriableError):
                    raise raised from error
            else:
                return found
        raise AssertionError("the last try raises")


#: How many objects, and of how many bytes each, to fetch ahead; this bounds the memory.
_MOST: Final = 8
_SMALL: Final = 1 << 20


class Ahead:
    """Fetches objects that will be needed soon.

    Args:
        store: asks for them.
    """

    most: Final = _MOST

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool: ThreadPoolExecutor | None = None
        self._coming: dict[tuple[str, str], Future[bytes]] = {}

    def want(self, coming: Sequence[Next]) -> None:
        """Fetch the small ones of these; others are no longer wanted."""
        wanted = {(c.found.key, c.found.etag): c.found for c in coming if 0 < c.found.size <= _SMALL}
        for gone in self._coming.keys() - wanted.keys():
            self._coming.pop(gone).cancel()
        for name, found in wanted.items():
            if name not in self._coming:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_MOST, "s3-source-ahead")
                self._coming[name] = self._pool.submit(self._fetch, found)

    def body(self, found: Found) -> Body:
        """The bytes of an object, fetched ahead or not."""
        future = self._coming.pop((found.key, found.etag), None)
        if future is None:
            return Body(self._store, found)
        try:
            return Body(self._store, found, future.result())
        except Exception:
            return Body(self._store, found)  # which meets the same error and reports it

    def close(self) -> None:
        """End its threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, found: Found) -> bytes:
        content: bytes = self._store.open(found)["Body"].read()
        return content
