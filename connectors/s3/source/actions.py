"""What happens to objects after reading: tagged, moved or deleted, once their positions are stored (P2).

Only the very object that was read: one that was replaced since stays, and is read as a new one if read objects go away.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from connectors.s3.source.keys import DELETE, MOVE, NONE, TAG, S3SourceOptions
from connectors.s3.source.store import Changed, Gone, Store
from connectors.s3.source.walk import Next

log = logging.getLogger(__name__)

#: How many objects may wait: each is remembered in an offset.
MOST: Final = 4096
_AT_ONCE: Final = 8


class Actions:
    """Objects that were read, and wait for their action.

    Args:
        store: does it.
        options: the connector's keys.

    Attributes:
        wanted: whether there is an action at all.
    """

    def __init__(self, store: Store, options: S3SourceOptions) -> None:
        self._store = store
        self._action = options.action
        self.wanted = self._action != NONE
        name, _, value = options.done_tag.partition("=")
        self._tag = {"Key": name.strip(), "Value": value.strip()}
        self._prefix = options.done_prefix
        self._bucket = options.done_bucket or store.bucket.name
        self._given: list[Next] = []
        self._planned = 0  # how many of those are of plans before this one
        self._ready: deque[Next] = deque()
        self._pool = ThreadPoolExecutor(_AT_ONCE, "s3-source-done") if self.wanted else None

    @property
    def full(self) -> bool:
        """Whether too many wait for more to be read."""
        return len(self._given) - self._planned + len(self._ready) >= MOST

    def add(self, chosen: Next, *, durable: bool = False) -> None:
        """Add an object whose records `poll` has all returned; durable: its position is stored already."""
        if not self.wanted:
            return
        chosen.lane.finish(chosen.found, hold=True)
        (self._ready if durable else self._given).append(chosen)

    def next_plan(self) -> None:
        """A plan begins. Those of plans before it that are still not durable never will be: `spark.read` only reads."""
        self._planned = len(self._given)

    def committed(self) -> None:
        """Everything returned so far is durable."""
        self._ready.extend(self._given)
        self._given, self._planned = [], 0

    def run(self, seconds: float) -> int:
        """Run actions for about this long. Returns the number of objects done.

        Raises:
            ConnectError: the store refuses.
            RetriableError: it failed temporarily; the objects are kept.
        """
        deadline = time.monotonic() + seconds
        done = 0
        while self._ready and self._pool is not None and time.monotonic() < deadline:
            some = [self._ready.popleft() for _ in range(min(len(self._ready), _AT_ONCE))]
            futures = [self._pool.submit(self._do, chosen) for chosen in some]
            errors = [future.exception() for future in futures]
            for chosen, error in zip(some, errors, strict=True):
                if error is not None:
                    self._ready.append(chosen)
                elif self._action == TAG:
                    chosen.lane.release(chosen.found)
                else:
                    chosen.lane.forget(chosen.found)
                done += error is None
            for error in errors:
                if error is not None:
                    raise error
        return done

    def close(self) -> None:
        """End its threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _do(self, chosen: Next) -> None:
        key, found = chosen.found.key, chosen.found
        try:
            now = self._store.look(key)
            if found.etag and now.etag != found.etag:
                raise Changed(key)
            if self._action == TAG:
                self._add_tag(key)
            if self._action == MOVE:
                self._copy(key, now.etag)
            if self._action in (MOVE, DELETE):
                self._store.send(f"deleting {key}", "delete_object", Key=key)
        except Gone:
            log.debug("%s is already gone.", key)
        except Changed:
            log.warning('"%s" was replaced since it was read. It stays as it is.', key)

    def _add_tag(self, key: str) -> None:
        doing = f"tagging {key}"
        tags = self._store.send(doing, "get_object_tagging", Key=key).get("TagSet") or []
        kept = [tag for tag in tags if tag["Key"] != self._tag["Key"]]
        if len(kept) < len(tags) and self._tag in tags:
            return
        self._store.send(doing, "put_object_tagging", Key=key, Tagging={"TagSet": [*kept, self._tag]})

    def _copy(self, key: str, etag: str) -> None:
        """Copy an object of any size within the store: boto3 does it in parts if necessary."""
        bucket, settings = self._store.bucket, self._store.bucket.settings
        extra: dict[str, Any] = {"CopySourceIfMatch": f'"{etag}"', **settings.to_write()}
        if reading := settings.to_read():
            extra |= {f"CopySource{name}": value for name, value in reading.items()}
        source = {"Bucket": bucket.name, "Key": key}

        def copy() -> None:
            with bucket.times.measure("copy_object"):
                bucket.client.copy(source, self._bucket, self._prefix + key, ExtraArgs=extra)

        self._store.guarded(f"copying {key} to {self._prefix}{key}", copy)
