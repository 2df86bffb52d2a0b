"""Reads objects one after another, as batches of columns, whoever says which; and what goes wrong with one of them."""

from __future__ import annotations

import logging
import time
from typing import Final, Protocol

from connect import ConnectError, DataError, RetriableError, SourceBatch
from connect.api.source import SourceTaskContext
from connectors.objects.formats.reading import OnBad
from connectors.s3.source import keys
from connectors.s3.source.body import Ahead
from connectors.s3.source.keys import S3SourceOptions
from connectors.s3.source.opened import OpenObject, Part, batch_of
from connectors.s3.source.store import Changed, Gone, Store
from connectors.s3.source.walk import Next

log = logging.getLogger(__name__)

#: How many bytes, records and seconds of small objects make one batch.
_SMALL_BYTES: Final = 512 << 10
_SMALL_RECORDS: Final = 5000
_SMALL_S: Final = 0.2


class Queue(Protocol):
    """Which objects are read, in their order, and what became of each."""

    def next(self, deadline: float | None) -> Next | None:
        """The next object; None if there is none now.

        Args:
            deadline: until when names may be listed; None for not at all.
        """

    def coming(self, count: int) -> list[Next]:
        """The objects that `next` returns next, if all goes well."""

    def put_back(self, chosen: Next) -> None:
        """Return this one next."""

    def finish(self, chosen: Next, *, empty: bool) -> None:
        """An object was read to its end; empty: it had no records."""

    def leave(self, chosen: Next) -> None:
        """An object is gone, or cannot be read, or not to its end. Nothing happens to it."""


class Objects:
    """Reads the objects of a queue. For one thread.

    Args:
        queue: which objects.
        store: gives their bytes.
        options: the connector's keys.
        context: of the task.
        anew: whether the source finds an object that was replaced again, as a new one, so that reading it now would be
            once too often.
    """

    def __init__(
        self, queue: Queue, store: Store, options: S3SourceOptions, context: SourceTaskContext, *, anew: bool = False
    ) -> None:
        self._queue = queue
        self._store = store
        self._context = context
        self._anew = anew
        self._where = options.where
        self._options = options.reading()
        self._ahead = Ahead(store)
        self._key_is_object = options.record_key == keys.OBJECT
        self._most = options.max_poll_records if options.config.raw.get("max.poll.records") is not None else 0
        self._on_error = options.policy
        self._restarts = options.object_changed == keys.RESTART
        self._goes_away = options.action != keys.NONE
        self._open: OpenObject | None = None
        self._held: SourceBatch | None = None  # read; `_given` of its records were returned
        self._given = 0
        self._refused: ConnectError | None = None  # what the next call raises

    @property
    def held(self) -> bool:
        """Whether some of what was read is not returned yet; `next` returns that then, and asks nobody."""
        return self._held is not None

    def next(self, deadline: float | None) -> SourceBatch | None:
        """The next records: of one large object, or of several small ones. None if there are none now.

        Args:
            deadline: as of `Queue.next`.

        Raises:
            RetriableError: the store fails temporarily. After `put_back`, the next call continues.
            ConnectError: an object cannot be read, or the store refuses. Its records before were returned.
        """
        if self._held is None:
            parts = self._read(deadline)
            if not parts:
                return None
            batch = batch_of(parts, key_is_object=self._key_is_object)
            for topic, some in batch.by_topic().items():
                self._context.metrics.count("s3_records_read_total", len(some), topic=topic)
            if not self._most or len(batch) <= self._most:
                return batch
            self._held, self._given = batch, 0
        start, stop = self._given, self._given + self._most
        portion = self._held[start:stop]
        self._given = stop
        if stop >= len(self._held):
            self._held = None
        return portion

    def put_back(self) -> None:
        """Have the open object opened again, at the record where it is."""
        if self._open is not None:
            opened = self._closed(self._open)
            self._queue.put_back(opened.chosen._replace(record=opened.position))

    def close(self) -> None:
        """Close connections and end threads."""
        if self._open is not None:
            self._open.close()
        self._ahead.close()

    def _read(self, deadline: float | None) -> list[Part]:
        parts: list[Part] = []
        taken = records = 0
        until = time.monotonic() + _SMALL_S
        if deadline is not None:
            until = min(deadline, until)
        while taken < _SMALL_BYTES and records < _SMALL_RECORDS and not self._context.stopping():
            try:
                part = self._next_part(None if parts else deadline)
            except ConnectError as error:
                if not parts:
                    raise
                if isinstance(error, RetriableError):  # said again by the next call
                    self.put_back()
                else:
                    self._refused = error
                break
            if part is None:
                break
            parts.append(part)
            records += len(part.chunk.ends)
            taken += max(0, part.chosen.found.size)
            if not part.last or time.monotonic() >= until:
                break
        return parts

    def _next_part(self, deadline: float | None) -> Part | None:
        """The next records of the open object, or of the next one."""
        if self._refused is not None:
            raise self._refused
        while not self._context.stopping():
            if self._open is None:
                chosen = self._queue.next(deadline)
                if chosen is None:
                    return None
                body = self._ahead.body(chosen.found)
                self._ahead.want(self._queue.coming(self._ahead.most))
                self._open = OpenObject(chosen, body, self._options, self._on_bad)
            opened = self._open
            try:
                part = opened.next()
            except RetriableError:
                raise
            except Gone as error:
                self._gone(opened, error)
                continue
            except Changed as error:
                self._changed(opened, error)
                continue
            except DataError as error:
                self._bad(opened, error)
                continue
            lane, found = opened.chosen.lane, opened.chosen.found
            begun = lane.offset(found)
            if opened.ended:
                self._queue.finish(self._closed(opened).chosen, empty=not opened.position)
                self._context.metrics.count("s3_objects_read_total", topic=opened.chosen.place.topic)
            if part is not None:
                return part._replace(begun=begun, after=lane.offset())
        return None

    def _closed(self, opened: OpenObject) -> OpenObject:
        self._open = None
        opened.close()
        return opened

    # What goes wrong with an object.

    def _on_bad(self, chosen: Next) -> OnBad:
        def on_bad(position: int, reason: str) -> None:
            said = f"record {position}: {reason}"
            if self._on_error == keys.FAIL:
                raise DataError(said)
            self._context.metrics.count("s3_bad_records_total", topic=chosen.place.topic)
            if self._on_error == keys.LOG:
                log.error('Skipped a record of object "%s", %s', chosen.found.key, said)

        return on_bad

    def _bad(self, opened: OpenObject, error: DataError) -> None:
        key = opened.chosen.found.key
        self._store.count("malformed")
        self._context.metrics.count("s3_bad_objects_total", topic=opened.chosen.place.topic)
        said = f'Object "{key}" of {self._where} cannot be read as {self._options.format}: {error}'
        if self._on_error == keys.FAIL:
            raise ConnectError(
                f"{said} {opened.position} of its records were delivered. Fix or remove it, or set "
                "behavior.on.error=log."
            ) from error
        if self._on_error == keys.LOG:
            log.error("%s Skipped what follows its first %d records.", said, opened.position)
        self._queue.leave(self._closed(opened).chosen)

    def _gone(self, opened: OpenObject, error: Gone) -> None:
        """It was removed since it was listed, perhaps by the done.action of an earlier task that then died."""
        chosen = self._closed(opened).chosen
        if opened.position and not self._goes_away:
            log.warning('Object "%s" is gone, and only its first %d records were read.', chosen.found.key,
                        opened.position)  # fmt: skip
        else:
            log.info('Object "%s" is gone: %s', chosen.found.key, error)
        self._queue.leave(chosen)

    def _changed(self, opened: OpenObject, error: Changed) -> None:
        """It was replaced since it was listed."""
        chosen = self._closed(opened).chosen
        if opened.position and not self._restarts:
            raise ConnectError(
                f'Object "{chosen.found.key}" of {self._where} was replaced after {opened.position} of its records '
                "were read. Set object.changed=restart to read it again from its first record."
            ) from error
        if self._anew:
            log.warning('Object "%s" was replaced. The next pass finds it as a new one.', chosen.found.key)
            self._queue.leave(chosen)
            return
        try:
            found = self._store.look(chosen.found.key)
        except Gone as gone:
            self._gone(opened, gone)
            return
        log.warning('Object "%s" was replaced. Reading it from its first record.', chosen.found.key)
        self._queue.put_back(chosen._replace(found=found, record=0))
