"""The tasks: they check at intervals what is new in their shards, and read one after another."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, ClassVar, Final, TypeVar

from connect import ConnectError, ReadPlan, RetriableError, SourceBatch, SplitSourceTask
from connect.api.splits import Split
from connectors.elasticsearch.cluster import Cluster, failure
from connectors.elasticsearch.cluster.client import quoted
from connectors.elasticsearch.source import offsets, shards, splits
from connectors.elasticsearch.source.following import Followed, Limits, Reach
from connectors.elasticsearch.source.keys import ElasticsearchSourceOptions, OpenSearchSourceOptions
from connectors.elasticsearch.source.offsets import Position
from connectors.elasticsearch.source.pages import Page, Pages, What, highest, last
from connectors.elasticsearch.source.records import Records
from connectors.elasticsearch.source.shards import Checkpoint, Shard
from connectors.elasticsearch.source.splits import Part

log = logging.getLogger(__name__)

T = TypeVar("T")

_WAIT_S: Final = 0.9
_SLICE_S: Final = 0.05
#: A plan has at most so many operations of shards for each split, and so many shards.
_SPLIT_OPERATIONS: Final = 250_000
_PLAN_SHARDS: Final = 1000


class ElasticsearchSourceTask(SplitSourceTask):
    """Reads some shards. The next page is requested, on a thread, while the runtime processes the one before."""

    options: ClassVar[type[ElasticsearchSourceOptions | OpenSearchSourceOptions]] = ElasticsearchSourceOptions
    settings = ElasticsearchSourceOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = self._open(config)
        self._refreshes = options.refresh
        self._limits = Limits(
            self._field,
            options.delay,
            self._refreshes,
            self._kind,
            lambda shard: highest(self._cluster, self._what, shard),
        )
        self._kinds: dict[str, str] = {}
        self._lacking: set[str] = set()  # indices that are known to have no field of that name
        self._interval = options.poll_interval
        self._followed = self._begun(shards.read(options.shards), options.initial)
        self._due: deque[tuple[Followed, Checkpoint]] = deque()
        self._look_at = 0.0
        self._reading: tuple[Followed, Checkpoint, bool, Pages] | None = None
        self._ahead: Future[Page] | None = None
        self._held: Page | None = None
        self._planned: list[tuple[Followed, Checkpoint, Reach, bool, Position]] = []
        self._away: set[Shard] = set()

    def poll(self) -> SourceBatch | None:
        until = time.monotonic() + _WAIT_S
        if not self._wait(self._retries.due, until):
            self._retries.check()
            return None
        try:
            # A page is held until records are made of it, for which the mapping may have to be asked for.
            self._held = self._held or self._page(until)
            page = self._held
            batch = self._records.batch(page) if page is not None and page.hits else None
            self._held = None
        except Exception as error:
            self._failed(error)
            return None
        if page is not None:
            self._retries.worked()
        if batch is not None:
            self._tell(batch)
        return batch

    def plan(self, most: int) -> ReadPlan | None:
        """See `SplitSourceTask.plan`. What is new in the shards, each up to a document that is known."""
        until = time.monotonic() + _WAIT_S
        if not self._wait(self._retries.due, until):
            self._retries.check()
            return None
        try:
            self._find(until)
        except Exception as error:
            self._failed(error)
            return None
        if not self._planned:
            return None
        self._retries.worked()
        found = self._parts(most * _SPLIT_OPERATIONS)
        shares = splits.by_shard(found, most) if self._field else splits.by_number(found, most)
        ends = [(part.shard, offsets.stored(part.shard.uuid, self._field, part.end.search_after)) for part in found]
        return ReadPlan([splits.split(share) for share in shares], [(shard.partition, end) for shard, end in ends])

    def read(self, config: Mapping[str, str], split: Split) -> Iterator[SourceBatch]:
        """See `SplitSourceTask.read`."""
        self._open(config)
        for part in splits.parts(split):
            yield from self._read(part)

    def stop(self) -> None:
        if self._reading is not None and (self._ahead is None or self._ahead.done()):
            self._reading[3].close()

    def _open(self, config: Mapping[str, str]) -> ElasticsearchSourceOptions | OpenSearchSourceOptions:
        """Prepare for reading pages, which a reader of splits does as well."""
        options = self.options.parse(config)
        options.check()
        self._cluster = Cluster(options)
        self.context.exit_stack.callback(self._cluster.close)
        self._metrics = options.product.lower()
        self._field = options.cursor
        self._records = Records(options, self._properties)
        fields, excluded = options.fields, options.excluded
        self._what = What(
            cursor=self._field,
            query=options.query,
            source={"includes": fields, "excludes": excluded} if fields or excluded else True,
            more=self._records.asked_for,
            most_rows=options.most_rows,
            most_bytes=options.most_bytes,
            keep_alive=options.keep_alive_ms,
        )
        self._retries = self._cluster.retries()
        return options

    # What is read.

    def _begun(self, own: list[Shard], initial: str | None) -> list[Followed]:
        first = Position(offsets.BEHIND_ALL, initial) if initial is not None else Position()
        followed = []
        for shard, offset in zip(own, self.context.offsets([each.partition for each in own]), strict=True):
            position, why = offsets.of(offset, shard.uuid, self._field)
            if why:
                log.warning("%s: %s. It is read from the beginning.", shard, why)
            followed.append(Followed(shard, position if offset and not why else first))
        return followed

    def _page(self, until: float) -> Page | None:
        """The next page, if it arrives in time."""
        if self._reading is None and not self._begin(until):
            return None
        assert self._reading is not None
        followed, checkpoint, pending, pages = self._reading
        if self._ahead is None:
            self._ahead = _in_a_thread(pages.next)
        try:
            page = self._finished(self._ahead, until)
        except Exception:
            self._ahead = None
            raise
        if page is None:
            return None
        self._ahead = None
        if page.hits:
            followed.position = pages.position
        if page.last:
            self._reading = None
            followed.read_up_to(checkpoint, pending=pending)
            _in_a_thread(pages.close)
        else:
            self._ahead = _in_a_thread(pages.next)
        return page

    def _finished(self, ahead: Future[Page], until: float) -> Page | None:
        while not self.context.stopping():
            try:
                return ahead.result(min(_SLICE_S, max(0.001, until - time.monotonic())))
            except NotYet:
                if ahead.done():
                    raise
                if time.monotonic() >= until:
                    return None
        return None

    def _begin(self, until: float) -> bool:
        """Begin with the next shard that is due. False when there is none for now."""
        looked = False
        while not self.context.stopping():
            while self._due:
                followed, checkpoint = self._due[0]
                reach = self._limits.of(followed, checkpoint)
                self._due.popleft()
                if reach.anything:
                    shard, position = followed.shard, followed.position
                    pages = Pages(self._cluster, self._what, shard, position, reach.limit, self._observe)
                    self._reading = (followed, checkpoint, reach.pending, pages)
                    return True
                followed.read_up_to(checkpoint, pending=reach.pending)
            if looked or not self._wait(self._look_at, until):
                return False
            self._look()
            looked = True
        return False

    # What executors read.

    def _find(self, until: float) -> None:
        """Find the shards that have something new, and where it ends."""
        looked = False
        while not self.context.stopping():
            while self._due and len(self._planned) < _PLAN_SHARDS:
                followed, checkpoint = self._due[0]
                reach = self._limits.of(followed, checkpoint)
                settled = self._limits.settled(followed, checkpoint)
                end = self._end(followed, reach, settled)
                pending = reach.pending or settled != checkpoint.seq_no
                self._due.popleft()
                if end is not None:
                    self._planned.append((followed, checkpoint, reach, pending, end))
                else:
                    followed.read_up_to(checkpoint, pending=pending)
            if self._planned or looked or not self._wait(self._look_at, until):
                return
            self._look()
            looked = True

    def _end(self, followed: Followed, reach: Reach, settled: int | None) -> Position | None:
        """The position up to which a shard is read now, None if there is nothing.

        By a field it is that of a document. Of later ones with the same value those are behind it that were written
        later, so only one counts that every reader finds, with all before it: one that is settled.
        """
        if not reach.anything or settled is None:
            return None
        if not self._field:
            return Position(settled)
        visible = {"range": {"_seq_no": {"lte": settled}}}
        limits = [reach.limit, visible] if reach.limit else [visible]
        return last(self._cluster, self._what, followed.shard, followed.position, limits)

    def _parts(self, most: int) -> list[Part]:
        """What was found, by sequence numbers at most so many operations; the next plan goes on behind it."""
        parts = []
        for followed, checkpoint, reach, pending, found in self._planned:
            end, after = found, followed.position
            if not self._field:
                end = Position(min(found.seq_no, after.seq_no + most))
                most -= end.seq_no - after.seq_no
            if end != found:
                self._due.append((followed, checkpoint))
            else:
                followed.read_up_to(checkpoint, pending=pending)
            if end != after:
                followed.position = end
                parts.append(Part(followed.shard, after, end, reach.limit))
        self._planned = []
        return parts

    def _read(self, part: Part) -> Iterator[SourceBatch]:
        """Read a part to its end. Transient failures are retried; what was deleted since is left out."""
        shard = part.shard
        pages = Pages(self._cluster, self._what, shard, part.after, part.limit, self._observe)
        page: Page | None = None
        begun = False
        while True:
            try:
                if not begun and self._is_another(shard):
                    log.warning("%s was deleted and made again before it was read.", shard)
                    return
                begun = True
                page = page or part.within(pages.next())
                batch = self._records.batch(page) if page.hits else None
            except Exception as error:
                kind, passing, sentence = self._classified(error)
                if kind == "missing":
                    log.warning("%s was deleted before it was read.", shard)
                    return
                problem = self._problem(passing, sentence)
                if not isinstance(problem, RetriableError) or not self._wait(self._retries.due, math.inf):
                    raise problem from error
                continue
            self._retries.worked()
            if batch is not None:
                self._tell(batch)
                yield batch
            if page.last:
                pages.close()
                return
            page = None

    def _is_another(self, shard: Shard) -> bool:
        """Whether the index of this name is not the one that was looked at."""
        checkpoint = shards.checkpoints(self._cluster, {shard.index}).get((shard.index, shard.number))
        return checkpoint is not None and checkpoint.uuid != shard.uuid

    # What is new.

    def _look(self) -> None:
        """Check which shards have something new, and make it visible to searches."""
        began = time.monotonic()
        found = shards.checkpoints(self._cluster, {each.shard.index for each in self._followed})
        self._observe("stats", time.monotonic() - began)
        due = []
        for index, followed in enumerate(self._followed):
            shard = followed.shard
            checkpoint = found.get((shard.index, shard.number))
            self._tell_away(shard, away=checkpoint is None)
            if checkpoint is not None and checkpoint.uuid != shard.uuid:
                log.warning("%s was deleted and made again. It is read from the beginning.", shard)
                self._kinds.pop(shard.index, None)
                followed = Followed(Shard(shard.index, checkpoint.uuid, shard.number), Position())  # noqa: PLW2901
                self._followed[index] = followed
            elif checkpoint is not None and followed.went_back(checkpoint):
                log.warning("%s has less than was read of it. It is read again from there.", shard)
                followed.position, followed.done = Position(value=followed.position.value), -2
            if checkpoint is not None and followed.due(checkpoint):
                due.append((followed, checkpoint))
        if due and self._refreshes:
            began = time.monotonic()
            for name in sorted({followed.shard.index for followed, _ in due}):
                shards.refresh(self._cluster, name)
            self._observe("refresh", time.monotonic() - began)
        self._due.extend(due)
        # Nothing was asked for in vain: what failed above is looked at again at once.
        self._look_at = began + self._interval
        self._retries.worked()

    def _tell_away(self, shard: Shard, *, away: bool) -> None:
        if away and shard not in self._away:
            log.warning("%s is not there, or has no primary. It is looked for again.", shard)
            self._away.add(shard)
        elif not away:
            self._away.discard(shard)

    def _kind(self, index: str) -> str:
        """The type of the cursor's field."""
        if not self._kinds.get(index):
            answer = self._cluster.request("GET", f"/{quoted(index)}/_mapping/field/{quoted(self._field)}")
            told = answer.get(index, {}).get("mappings", {}).get(self._field, {}).get("mapping", {})
            self._kinds[index] = next((str(each["type"]) for each in told.values() if "type" in each), "")
            self._tell_lacking(index)
        return self._kinds[index]

    def _tell_lacking(self, index: str) -> None:
        if self._kinds[index]:
            self._lacking.discard(index)
        elif index not in self._lacking:
            self._lacking.add(index)
            log.warning(
                'The index %s has no field "%s" (incrementing.field.name): only documents that have it are read.',
                index,
                self._field,
            )

    def _properties(self, index: str) -> Mapping[str, Any]:
        answer = self._cluster.request("GET", f"/{quoted(index)}/_mapping")
        properties: Mapping[str, Any] = answer[index]["mappings"].get("properties", {})
        return properties

    # What goes wrong.

    def _failed(self, error: Exception) -> None:
        """Raise errors for the runtime. Deleted indices and lost views are handled here."""
        kind, passing, sentence = self._classified(error)
        if kind == "missing" and (self._held is not None or self._reading is not None):
            shard = self._held.shard if self._held is not None else self._reading[0].shard  # type: ignore[index]
            log.warning("%s was deleted while it was read.", shard)
            self._away.add(shard)
            self._held = self._reading = self._ahead = None
            return
        if kind == "missing" and self._due:
            self._due.popleft()  # deleted since it was looked at
            return
        raise self._problem(passing, sentence) from error

    def _classified(self, error: Exception) -> tuple[str, bool, str]:
        """Its kind, whether it passes, and a sentence. Raises errors that are for the runtime as they are."""
        if isinstance(error, RetriableError):
            kind, passing, sentence = "unreachable", True, str(error)
        elif isinstance(error, ConnectError):
            self._count("other")
            raise error
        else:
            kind, passing, sentence = failure(error)
        self._count(kind)
        return kind, passing, sentence

    def _problem(self, passing: bool, sentence: str) -> ConnectError:
        """The error for the runtime."""
        where = self._cluster.where
        if not passing:
            return ConnectError(f"{where}: {sentence}{self._advice(sentence)}")
        return self._retries.failed(f"{where}: {sentence}")

    def _advice(self, sentence: str) -> str:
        if "indices:admin/refresh" in sentence:
            return " Or set refresh=false."
        if "ielddata" in sentence:
            return " incrementing.field.name must be a date, a number or a keyword."
        return ""

    def _tell(self, batch: SourceBatch) -> None:
        name = f"{self._metrics}_records_read_total"
        self.context.metrics.count(name, len(batch), index=batch.source_partitions[0]["index"])

    def _count(self, kind: str) -> None:
        self.context.metrics.count(f"{self._metrics}_errors_total", 1, **{"class": kind})

    def _observe(self, operation: str, seconds: float) -> None:
        self.context.metrics.observe(f"{self._metrics}_request_seconds", seconds, operation=operation)

    def _wait(self, moment: float, until: float) -> bool:
        """Wait for a moment. False when it is not reached in time, or the task has to stop."""
        while (now := time.monotonic()) < moment:
            if now >= until or self.context.stopping():
                return False
            time.sleep(min(_SLICE_S, max(0.001, min(moment, until) - now)))
        return True


def _in_a_thread(work: Callable[[], T]) -> Future[T]:
    """Run something on a thread beside others. The process does not wait for it when it ends."""
    promised: Future[T] = Future()

    def run() -> None:
        try:
            promised.set_result(work())
        except BaseException as error:
            promised.set_exception(error)

    threading.Thread(target=run, name="elasticsearch-source", daemon=True).start()
    return promised


class OpenSearchSourceTask(ElasticsearchSourceTask):
    """The same for OpenSearch."""

    options = OpenSearchSourceOptions
    settings = OpenSearchSourceOptions.definition()
