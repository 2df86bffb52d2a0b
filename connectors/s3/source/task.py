"""S3SourceTask: reads the objects of its lanes, one after another, as batches of columns."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Final, NoReturn

from connect import ConnectError, DataError, RetriableError, SourceBatch, SourceTask
from connect.kit import RetryBudget
from connectors.objects.formats.reading import OnBad
from connectors.s3.bucket import Bucket
from connectors.s3.source import keys
from connectors.s3.source.actions import Actions
from connectors.s3.source.body import Ahead
from connectors.s3.source.keys import S3SourceOptions
from connectors.s3.source.lanes import Lanes
from connectors.s3.source.layout import Layout
from connectors.s3.source.opened import OpenObject, Part, batch_of
from connectors.s3.source.store import Changed, Gone, Store
from connectors.s3.source.walk import Next, Share, Walk

log = logging.getLogger(__name__)

#: How long one poll lists names, and how long it waits for the next pass; beyond that the runtime waits.
_LIST_S: Final = 1.0
_WAIT_S: Final = 0.1
_SLICE_S: Final = 0.05
#: How many bytes, records and seconds of small objects make one batch.
_SMALL_BYTES: Final = 512 << 10
_SMALL_RECORDS: Final = 5000
_SMALL_S: Final = 0.2
_ACTIONS_S: Final = 0.5


class S3SourceTask(SourceTask):
    """Reads some of a bucket's objects. The timestamp is left to the producer."""

    settings = S3SourceOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = S3SourceOptions.parse(config)
        options.check()
        stack = self.context.exit_stack
        self._bucket = Bucket(options, config)
        stack.callback(self._bucket.close)
        self._store = Store(self._bucket, options.aws_s3_fetch_page_size)
        limit = options.read_retry_timeout_ms
        self._retries = RetryBudget(
            -1,
            options.backoff,
            longest=options.longest_backoff,
            within=limit / 1000 if limit >= 0 else -1,
            key="read.retry.timeout.ms",
            waits_for=options.where,
        )
        self._layout = Layout(options)
        number, tasks = map(int, options.task_number.split("/"))
        by_partition = options.distribution != keys.OBJECT_HASH
        share = Share(number, tasks, options.object_shares, by_partition)
        timed = self._layout.order == keys.BY_TIME
        lanes = Lanes(
            self.context.offsets,
            options.aws_s3_fetch_buffer_size,
            timed,
            "" if timed else options.native_start_key,
        )
        earliest = options.file_discovery_starting_timestamp
        self._walk = Walk(self._store, self._layout, share, lanes, self._bucket.name, earliest)
        self._actions = Actions(self._store, options)
        stack.callback(self._actions.close)
        self._options = options.reading()
        self._ahead = Ahead(self._store)
        stack.callback(self._ahead.close)
        self._key_is_object = options.record_key == keys.OBJECT
        self._interval = options.s3_poll_interval_ms / 1000
        self._most = options.max_poll_records if options.config.raw.get("max.poll.records") is not None else 0
        self._on_error = options.on_error
        if not self._on_error:
            tolerates = (config.get("errors.tolerance") or "").lower() == "all"
            self._on_error = keys.LOG if tolerates else keys.FAIL
        self._restarts = options.object_changed == keys.RESTART
        self._open: OpenObject | None = None
        self._due = 0.0
        self._held: SourceBatch | None = None  # read; `_given` of its records were returned
        self._given = 0
        self._refused: ConnectError | None = None  # what the next poll raises

    def poll(self) -> SourceBatch | None:
        try:
            return self._poll()
        finally:
            self._store.tell(self.context.metrics)

    def commit(self) -> None:
        if self._held is None:  # otherwise some of what was read is not returned yet, and so not durable
            self._actions.committed()

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()

    def _poll(self) -> SourceBatch | None:
        began = time.monotonic()
        if self._held is not None:
            return self._next_held()
        if not self._wait(self._retries.due, began + _WAIT_S):
            self._retries.check()
            return None
        while True:
            try:
                self._count_done(self._actions.run(_ACTIONS_S))
                parts = self._read(began + _LIST_S)
            except RetriableError as error:
                self._failed(error)
            self._retries.worked()
            if parts:
                return self._batch(parts)
            if self._actions.full or not self._wait(self._due, began + _WAIT_S):
                return None

    def _wait(self, until: float, deadline: float) -> bool:
        """Wait until a moment, but not beyond the deadline or a stop of the task. Returns whether it came."""
        while not self.context.stopping():
            now = time.monotonic()
            if now >= deadline:
                return False
            if now >= until:
                return True
            time.sleep(min(_SLICE_S, until - now, deadline - now))
        return False

    def _failed(self, error: RetriableError) -> NoReturn:
        """The store failed temporarily: reading continues where it was, after a pause."""
        if self._open is not None:
            opened, self._open = self._open, None
            opened.close()
            self._walk.put_back(opened.chosen._replace(record=opened.position))
        raise self._retries.failed(str(error)) from error

    # Reading.

    def _read(self, deadline: float) -> list[Part]:
        """Some records: of one large object, or of several small ones. Empty if there are none now."""
        parts: list[Part] = []
        taken = records = 0
        until = min(deadline, time.monotonic() + _SMALL_S)
        while taken < _SMALL_BYTES and records < _SMALL_RECORDS and not self.context.stopping():
            try:
                part = self._next_part(None if parts else deadline)
            except ConnectError as error:
                if not parts:
                    raise
                if isinstance(error, RetriableError) and self._open is not None:  # said again by the next poll
                    opened, self._open = self._open, None
                    opened.close()
                    self._walk.put_back(opened.chosen._replace(record=opened.position))
                elif not isinstance(error, RetriableError):
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
        """The next records of the open object, or of the next one.

        Args:
            deadline: until when names may be listed; None for not at all.
        """
        if self._refused is not None:
            raise self._refused
        while not self.context.stopping():
            if self._open is None:
                chosen = self._next_object(deadline)
                if chosen is None:
                    return None
                body = self._ahead.body(chosen.found)
                self._ahead.want(self._walk.coming(self._ahead.most))
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
                self._end(opened)
            if part is not None:
                return part._replace(begun=begun, after=lane.offset())
        return None

    def _next_object(self, deadline: float | None) -> Next | None:
        while not self.context.stopping():
            chosen = None if self._actions.full else self._walk.take()
            if chosen is not None or self._actions.full:
                return chosen
            if deadline is None or time.monotonic() >= deadline:
                return None
            if self._walk.over:
                if time.monotonic() < self._due:
                    return None
                self._walk.begin()
            self._walk.step()
            while self._walk.seen_done:
                self._actions.add(self._walk.seen_done.pop(), durable=True)
            if self._walk.over:
                self._due = time.monotonic() + (0 if self._walk.cut else self._interval)
                self.context.metrics.gauge("s3_objects_ignored", self._walk.ignored)
        return None

    def _end(self, opened: OpenObject) -> None:
        """Handle an object that was read to its end."""
        self._open = None
        opened.close()
        opened.chosen.lane.finish(opened.chosen.found)
        # An object without records moves no offset, and has nothing to lose.
        self._actions.add(opened.chosen, durable=not opened.position)
        self.context.metrics.count("s3_objects_read_total", topic=opened.chosen.place.topic)

    # What goes wrong with an object.

    def _on_bad(self, chosen: Next) -> OnBad:
        def on_bad(position: int, reason: str) -> None:
            said = f"record {position}: {reason}"
            if self._on_error == keys.FAIL:
                raise DataError(said)
            self.context.metrics.count("s3_bad_records_total", topic=chosen.place.topic)
            if self._on_error == keys.LOG:
                log.error('Skipped a record of object "%s", %s', chosen.found.key, said)

        return on_bad

    def _bad(self, opened: OpenObject, error: DataError) -> None:
        key, place = opened.chosen.found.key, self._bucket.settings.where
        self._store.count("malformed")
        self.context.metrics.count("s3_bad_objects_total", topic=opened.chosen.place.topic)
        said = f'Object "{key}" of {place} cannot be read as {self._options.format}: {error}'
        if self._on_error == keys.FAIL:
            raise ConnectError(
                f"{said} {opened.position} of its records were delivered. Fix or remove it, or set "
                "behavior.on.error=log."
            ) from error
        if self._on_error == keys.LOG:
            log.error("%s Skipped what follows its first %d records.", said, opened.position)
        self._open = None
        opened.close()
        opened.chosen.lane.finish(opened.chosen.found)  # without done.action: the object stays

    def _gone(self, opened: OpenObject, error: Gone) -> None:
        """It was removed since it was listed, perhaps by the done.action of an earlier task that then died."""
        self._open = None
        opened.close()
        if opened.position and not self._actions.wanted:
            log.warning('Object "%s" is gone, and only its first %d records were read.', opened.chosen.found.key,
                        opened.position)  # fmt: skip
        else:
            log.info('Object "%s" is gone: %s', opened.chosen.found.key, error)
        opened.chosen.lane.finish(opened.chosen.found)

    def _changed(self, opened: OpenObject, error: Changed) -> None:
        """It was replaced since it was listed."""
        self._open = None
        opened.close()
        chosen = opened.chosen
        if opened.position and not self._restarts:
            raise ConnectError(
                f'Object "{chosen.found.key}" of {self._bucket.settings.where} was replaced after '
                f"{opened.position} of its records were read. Set object.changed=restart to read it again from its "
                "first record."
            ) from error
        try:
            found = self._store.look(chosen.found.key)
        except Gone as gone:
            self._gone(opened, gone)
            return
        log.warning('Object "%s" was replaced. Reading it from its first record.', chosen.found.key)
        if chosen.lane.opened is not None and chosen.lane.opened.found.key == found.key:
            chosen.lane.opened = None
        self._walk.put_back(chosen._replace(found=found, record=0))

    # Batches.

    def _batch(self, parts: list[Part]) -> SourceBatch:
        batch = batch_of(parts, key_is_object=self._key_is_object)
        for topic, some in batch.by_topic().items():
            self.context.metrics.count("s3_records_read_total", len(some), topic=topic)
        if not self._most or len(batch) <= self._most:
            return batch
        self._held, self._given = batch, 0
        return self._next_held()

    def _next_held(self) -> SourceBatch:
        assert self._held is not None
        start, stop = self._given, self._given + self._most
        batch = self._held[start:stop]
        self._given = stop
        if stop >= len(self._held):
            self._held = None
        return batch

    def _count_done(self, count: int) -> None:
        if count:
            self.context.metrics.count("s3_objects_done_total", count)
