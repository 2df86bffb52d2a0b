"""S3SourceTask: reads the objects of its lanes, one after another; or plans them, for others to read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from connect import ConnectError, ReadPlan, RetriableError, SourceBatch, SplitSourceTask
from connect.api.splits import Split
from connect.kit import RetryBudget
from connectors.s3.bucket import Bucket
from connectors.s3.source import keys
from connectors.s3.source.actions import Actions
from connectors.s3.source.keys import S3SourceOptions
from connectors.s3.source.lanes import Lanes
from connectors.s3.source.layout import Layout
from connectors.s3.source.listed import Listed
from connectors.s3.source.objects import Objects
from connectors.s3.source.splits import Draft, SplitQueue
from connectors.s3.source.store import Store
from connectors.s3.source.walk import Share, Walk

T = TypeVar("T")

#: How long one poll lists names, and how long it waits for the next pass; beyond that the runtime waits.
_LIST_S: Final = 1.0
_WAIT_S: Final = 0.1
_SLICE_S: Final = 0.05
_ACTIONS_S: Final = 0.5
#: How long a reader of a split waits for the store by itself, without read.retry.timeout.ms.
_READER_S: Final = 60.0


class S3SourceTask(SplitSourceTask):
    """Reads some of a bucket's objects. The timestamp is left to the producer."""

    settings = S3SourceOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = S3SourceOptions.parse(config)
        options.check()
        self._options = options
        stack = self.context.exit_stack
        bucket = Bucket(options, config)
        stack.callback(bucket.close)
        self._store = Store(bucket, options.aws_s3_fetch_page_size)
        limit = options.read_retry_timeout_ms
        self._retries = _retries(options, limit / 1000 if limit >= 0 else -1)
        layout = Layout(options)
        number, tasks = map(int, options.task_number.split("/"))
        by_partition = options.distribution != keys.OBJECT_HASH
        share = Share(number, tasks, options.object_shares, by_partition)
        timed = layout.order == keys.BY_TIME
        lanes = Lanes(
            self.context.offsets,
            options.aws_s3_fetch_buffer_size,
            timed,
            "" if timed else options.native_start_key,
        )
        walk = Walk(self._store, layout, share, lanes, bucket.name, options.file_discovery_starting_timestamp)
        self._actions = Actions(self._store, options)
        stack.callback(self._actions.close)
        self._listed = Listed(walk, self._actions, options.s3_poll_interval_ms / 1000, self.context, options.where)
        self._objects = Objects(self._listed, self._store, options, self.context)
        stack.callback(self._objects.close)

    def poll(self) -> SourceBatch | None:
        try:
            if self._objects.held:
                return self._objects.next(None)
            return self._try(self._objects.next)
        finally:
            self._store.tell(self.context.metrics)

    def commit(self) -> None:
        if not self._objects.held:  # otherwise some of what was read is not returned yet, and so not durable
            self._actions.committed()

    def plan(self, most: int) -> ReadPlan | None:
        self._options.check_splits()
        self._actions.next_plan()
        try:
            return self._try(lambda deadline: self._plan(most, deadline))
        finally:
            self._store.tell(self.context.metrics)

    def read(self, config: Mapping[str, str], split: Split) -> Iterator[SourceBatch]:
        options = S3SourceOptions.parse(config)
        stack = self.context.exit_stack
        bucket = Bucket(options, config)
        stack.callback(bucket.close)
        store = Store(bucket)
        queue = SplitQueue(split)
        anew = Layout(options).order == keys.BY_TIME
        objects = Objects(queue, store, options, self.context, anew=anew)
        stack.callback(objects.close)
        limit = options.read_retry_timeout_ms
        retries = _retries(options, limit / 1000 if limit >= 0 else _READER_S)
        while queue.left or objects.held:
            if self.context.stopping():  # the end of the batches would say that all was read
                raise RetriableError("Reading ends with the task.")
            try:
                batch = objects.next(None)
            except RetriableError as error:
                # It continues where it was: from the split's beginning records would be delivered twice. But a store
                # that is away for longer is for the task to tell, and keeps no executor.
                objects.put_back()
                given_up = retries.failed(str(error))
                if not isinstance(given_up, RetriableError):
                    if limit < 0:
                        raise
                    raise given_up from error
                self._wait(retries.due, retries.due + _SLICE_S)
                continue
            finally:
                store.tell(self.context.metrics)
            retries.worked()
            if batch is not None:
                yield batch

    def _try(self, work: Callable[[float], T | None]) -> T | None:
        """What `poll` or `plan` returns: of `work`, which may list names until a moment."""
        began = time.monotonic()
        if not self._wait(self._retries.due, began + _WAIT_S):
            self._retries.check()
            return None
        while True:
            try:
                self._count_done(self._actions.run(_ACTIONS_S))
                found = work(began + _LIST_S)
            except RetriableError as error:  # reading continues where it was, after a pause
                self._objects.put_back()
                raise self._retries.failed(str(error)) from error
            self._retries.worked()
            if found is not None:
                return found
            if self._actions.full or not self._wait(self._listed.due, began + _WAIT_S):
                return None

    def _plan(self, most: int, deadline: float) -> ReadPlan | None:
        draft = Draft(most)
        while True:
            try:
                chosen = self._listed.next(deadline)
            except ConnectError:
                if not draft:
                    raise
                break  # the next call asks for the same names, and says what is wrong
            if chosen is None:
                break
            if not draft.add(chosen):
                self._listed.put_back(chosen)
                break
            self._listed.finish(chosen, empty=False)  # nobody knows yet: it waits for `commit` as if it had records
        return draft.plan() if draft else None

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

    def _count_done(self, count: int) -> None:
        if count:
            self.context.metrics.count("s3_objects_done_total", count)


def _retries(options: S3SourceOptions, within: float) -> RetryBudget:
    """How long temporary errors may last, and the pauses between attempts; within: seconds, -1 for no limit."""
    return RetryBudget(
        -1,
        options.backoff,
        longest=options.longest_backoff,
        within=within,
        key="read.retry.timeout.ms",
        waits_for=options.where,
    )
