"""ObjectSinkTask: writes records to files, and files to objects."""

from __future__ import annotations

import datetime as dt
import importlib.util
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from connect import ConnectError, DataError, Offsets, RetriableError, SinkBatch, SinkTask, TopicPartition
from connect.converters.lru_cache import LruCache
from connect.kit import RetryBudget
from connectors.objects.formats.parquet import Parquet
from connectors.objects.sink.bad_rows import BadRows
from connectors.objects.sink.compatibility import Unfit
from connectors.objects.sink.progress import PartitionProgress, Stretch
from connectors.objects.sink.rotation import Append, Close, End, Part, Rotation, Step
from connectors.objects.store import OTHER, raised

if TYPE_CHECKING:
    from connectors.objects.formats.format import Payload
    from connectors.objects.sink.batches import Prepared
    from connectors.objects.sink.files import File, Files
    from connectors.objects.sink.plan import SinkPlan
    from connectors.objects.store import Store

log = logging.getLogger(__name__)

#: How long `put` waits for memory before it reports a slow store, so that the task can be stopped.
_ROOM_S: Final = 20.0
#: How long a commit waits for uploads if it ends files itself.
_COMMIT_S: Final = 60.0
_LONGEST_BACKOFF_S: Final = 60.0


class _Plan(NamedTuple):
    """What to do with a batch's records of a partition, and the rotation afterwards."""

    partition: TopicPartition
    rotation: Rotation
    steps: list[Step]
    payloads: list[list[list[Payload]]]
    last: int


class ObjectSinkTask(SinkTask):
    """Writes records to the objects of a store; a subclass says which.

    `put` encodes a batch and decides which file each record goes to; threads compress and upload in the background. A
    batch is taken as a whole or not at all. `pre_commit` returns the beginning of what is not durable yet. If a task
    lives for one batch, as on Spark, or no key says when files end, `pre_commit` ends all files and waits for them.
    """

    atomic: ClassVar[bool] = True
    #: The store, as the names of its metrics begin.
    kind: ClassVar[str]

    @staticmethod
    def plan(config: Mapping[str, str]) -> SinkPlan:
        """The options of the store with the plan mixed in."""
        raise NotImplementedError

    def store(self, options: SinkPlan, config: Mapping[str, str]) -> Store:
        """The store that these options, of `plan`, lead to. It connects when it is used.

        Raises:
            ConnectError: the client is not installed, or a key is wrong.
        """
        raise NotImplementedError

    def start(self, config: Mapping[str, str]) -> None:
        from connectors.objects.sink.batches import Batches
        from connectors.objects.sink.files import Files

        options = self.plan(config)
        if self.context.one_batch:
            # The end of a batch is not a rule that makes the same files again: each file has to say where it ends.
            options.at_commit, options.repeats = True, False
        self._options = options
        if isinstance(options.format, Parquet) and importlib.util.find_spec("pyarrow") is None:
            raise ConnectError("Parquet needs the package pyarrow. Install connect-runtime[arrow].")
        self._store = self.store(options, config)
        self.context.exit_stack.callback(self._store.close)
        self._files: Files = Files(options, self._store)
        self.context.exit_stack.callback(self._files.stop)
        self._batches = Batches(options)
        self._beside = options.keys_format is not None or options.headers_format is not None
        self._rules = replace(options.rules, by_schema=self._batches.by_schema)
        self._partitions: dict[TopicPartition, PartitionProgress] = {}
        self._owners: dict[File, TopicPartition] = {}
        self._topics: LruCache[str, str] = LruCache(10_000)  # patterns, and whose records have them
        self._rewound: dict[TopicPartition, int] = {}  # in the current call: where they continue
        self._in_hand = False  # whether a batch was delivered and is not taken yet
        self._stale: dict[TopicPartition, int] = {}  # rewound meanwhile; the last offsets taken of them
        self._retries = RetryBudget(
            options.max_retries,
            options.retry_backoff,
            longest=_LONGEST_BACKOFF_S,
            waits_for=self._store.where,
            timeout=self.context.timeout,
        )
        self._scheduled = self._next_schedule()

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        for partition in partitions:
            self._partitions[partition] = self._new_partition()
        if self._options.repeats:  # only then are objects sent in parts
            self._abort_left(partitions)
        return None

    def put(self, batch: SinkBatch) -> None:
        self._in_hand = self._in_hand or len(batch) > 0
        self._rewound.clear()
        self._settle()
        self._check()
        if len(batch):
            self._make_room()
            self._take(self._current(batch))
            self._in_hand = False
            self._stale.clear()
        self._end_by_clock()
        self._gauge()

    def pre_commit(self, offsets: Offsets) -> Offsets:
        self._rewound.clear()
        self._settle()
        if self._options.at_commit:
            self._end_all()
            self._await()
        if self._files.error is not None:
            raise self._files.error
        if self.context.one_batch and self._files.failure is None:  # the next put reports failures
            if self._owners:
                raise RetriableError(f"The uploads to {self._store.where} are not complete yet.")
            return offsets  # an existing object may go beyond the batch; nobody waits for the rest of it
        return {partition: self._durable(partition, offset) for partition, offset in offsets.items()}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            known = self._partitions.pop(partition, None)
            if known is not None:
                self._give_up(known)

    def stop(self) -> None:
        self._settle()
        for known in self._partitions.values():
            self._give_up(known)

    # Taking records.

    def _take(self, batch: SinkBatch) -> None:
        """Decide about every record, then pass them all on. Reports bad ones, and decides without them."""
        batch = self._without_nulls(batch)
        while len(batch):
            try:
                prepared = self._batches.prepare(batch)
                plans = [self._plan(partition, rows, prepared) for partition, rows in prepared.by_partition()]
                break
            except BadRows as bad:
                batch = self._report(batch, bad)
        else:
            return
        for plan in plans:
            known = self._partitions[plan.partition]
            known.rotation, known.last = plan.rotation, plan.last
            self._carry_out(plan.partition, plan.steps, prepared, plan.payloads)

    def _plan(self, partition: TopicPartition, rows: Sequence[int], prepared: Prepared) -> _Plan:
        known = self._partitions[partition]
        last = prepared.offset(rows[-1])
        if not self._options.conditional and not self._options.names.replaces:
            self._check_topics(partition.topic, prepared.patterns(rows))
        known.forget_behind(prepared.offset(rows[0]))
        if (known.fresh or self._beside) and self._options.conditional and not self._options.repeats:
            self._look(partition.topic, known, rows, prepared)
        if known.behind:
            known.since = known.oldest(prepared.offset(rows[0])) if known.since is None else known.since
            rows = prepared.beyond(rows, known.behind)
        rotation = known.rotation.copy()
        steps = rotation.take(prepared.rows(rows))
        # A file named by a key has its last record alone: the batch may have several.
        start = -1 if self._options.names.replaces else 0
        payloads = [prepared.payloads(step.part, step.rows[start:]) for step in steps if isinstance(step, Append)]
        return _Plan(partition, rotation, steps, payloads, last)

    def _check_topics(self, topic: str, patterns: Iterable[str]) -> None:
        """Check that records of two topics have no names in common. The store refuses those only where it is asked to.

        Raises:
            ConnectError: transformations give them the same name.
        """
        for pattern in patterns:
            other = self._topics.setdefault(pattern, topic)
            if other != topic:
                raise ConnectError(
                    f"Transformations give the topics {other} and {topic} the same name, and with "
                    "enable.conditional.writes=false they would replace each other's objects. Give each a name of its "
                    "own, or write them by two connectors with different topics.dir or file.name.prefix."
                )

    def _look(self, topic: str, known: PartitionProgress, rows: Sequence[int], prepared: Prepared) -> None:
        """Find the objects that an earlier task wrote of these rows without committing their offsets.

        Files that end by the clock end elsewhere this time: what exists already is left out. The store would refuse
        such a file by itself, but not the files of keys and headers that come before it.
        """
        patterns = prepared.patterns(rows) - known.seen - known.rotation.open.keys()
        if not patterns:
            return
        of = prepared.offsets_in(patterns, rows)
        # A pattern costs a request at least, and with names by keys there are many.
        with ThreadPoolExecutor(min(len(patterns), self._options.threads)) as threads:
            found = threads.map(lambda each: self._reached(topic, each, of[each], known.behind.get(each, -1)), patterns)
            for pattern, (behind, is_all) in zip(patterns, found, strict=True):
                if behind >= 0:
                    known.behind[pattern] = behind
                if known.fresh and not is_all:
                    known.seen.add(pattern)

    def _reached(self, topic: str, pattern: str, offsets: Sequence[int], behind: int) -> tuple[int, bool]:
        """Up to where objects that are there reach among these offsets behind another, and whether that is all."""
        for offset in offsets:
            if offset > behind:
                key = self._options.names.key(pattern, offset) + self._options.format.extension
                last = self._store.last_offset(key, topic)
                if last is None or last < offset:
                    return behind, False
                behind = last
        return behind, True

    def _without_nulls(self, batch: SinkBatch) -> SinkBatch:
        """The batch without its records that have no value, with behavior.on.null.values=ignore."""
        options = self._options
        if options.nulls != "ignore" or not (nulls := self._batches.nulls(batch)):
            return batch
        reporter = self.context.errant_records
        if options.report_nulls and reporter is not None:
            records = batch.records()
            for row in nulls:
                reporter.report(records[row], DataError("the record has no value (behavior.on.null.values=ignore)."))
        gone = set(nulls)
        return batch.take([row for row in range(len(batch)) if row not in gone])

    def _report(self, batch: SinkBatch, bad: BadRows) -> SinkBatch:
        reporter = self.context.errant_records
        records = batch.records()
        for row, error in sorted(bad.rows.items()):
            record = records[row]
            if reporter is None or isinstance(error, Unfit):
                where = f"topic {record.topic}, partition {record.partition}, offset {record.offset}"
                raise type(error)(f"The record at {where} cannot be written: {error}") from error
            reporter.report(record, error)
        return batch.take([row for row in range(len(batch)) if row not in bad.rows])

    def _carry_out(
        self,
        partition: TopicPartition,
        steps: Sequence[Step],
        prepared: Prepared | None = None,
        payloads: Sequence[list[list[Payload]]] = (),
    ) -> None:
        known, rest = self._partitions[partition], iter(payloads)
        for step in steps:
            match step:
                case Append(part, _):
                    assert prepared is not None
                    files = known.files.get(part.number) or self._begin(partition, part, prepared)
                    for file, parts in zip(files, next(rest), strict=True):
                        for payload in parts:
                            self._files.append(file, payload)
                case Close(part):
                    for file in known.files.pop(part.number):
                        self._files.close(file, part.last, part.records)
                case End():
                    known.stretches[-1].ended = True

    def _begin(self, partition: TopicPartition, part: Part, prepared: Prepared) -> list[File]:
        """Open the files of a part: those of keys and headers first."""
        known = self._partitions[partition]
        if not known.stretches or known.stretches[-1].ended:
            known.stretches.append(Stretch(part.first))
        stretch = known.stretches[-1]
        files = []
        name = self._options.names.key(part.pattern, part.first)
        for number, extension, form, schema in prepared.formats(part):
            of = name + self._options.format.extension if number else ""
            file = self._files.new(name + extension, part.pattern, form, schema, part.first, partition.topic, of)
            self._owners[file] = partition
            files.append(file)
        known.files[part.number] = files
        stretch.pending.update(files)
        return files

    # Ends that no record decides.

    def _end_by_clock(self) -> None:
        now = time.time() * 1000
        over = self._scheduled and now >= self._scheduled
        if over:
            self._scheduled = self._next_schedule()
        for partition, known in self._partitions.items():
            rotation = known.rotation
            if over or (self._options.live and rotation.is_over(int(now))):
                self._carry_out(partition, rotation.end())
                continue
            full = [part for part in rotation.open.values() if any(file.full for file in known.files[part.number])]
            for part in full:
                self._carry_out(partition, rotation.close(part))
        if self._scheduled:
            self.context.timeout(max(1, int(self._scheduled - now)))

    def _next_schedule(self) -> float:
        """The next moment, in milliseconds, at which rotate.schedule.interval.ms ends all files; 0: never."""
        interval = self._options.schedule_ms
        if not interval:
            return 0.0
        now = dt.datetime.now(self._options.zone)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        day = midnight.timestamp() * 1000
        passed = now.timestamp() * 1000 - day
        return day + (passed // interval + 1) * interval

    def _end_all(self) -> None:
        for partition, known in self._partitions.items():
            self._carry_out(partition, known.rotation.end())

    def _await(self) -> None:
        """Wait until all ended files are durable, something fails, or it takes too long."""
        until = time.monotonic() + _COMMIT_S
        while time.monotonic() < until and not self._files.failure and not self._files.error:
            if not self._owners:
                break
            self._files.memory.wait(0.05)
            self._settle()

    # What became of files.

    def _settle(self) -> None:
        """Take note of what became durable."""
        metrics, bucket, kind = self.context.metrics, self._store.name, self.kind
        for operation, seconds in self._store.measured():
            metrics.observe(f"{kind}_request_seconds", seconds, operation=operation)
        for file, conflict, lost in self._files.done():
            partition = self._owners.pop(file, None)
            if partition is None:
                continue  # its partition was revoked meanwhile
            if conflict is not None:
                self._go_behind(partition, file, conflict)
                continue
            if lost:
                log.warning("The upload of %s is gone: its records of %s-%d come again.", file.key, *partition)
                self._consume_again(partition, self._partitions[partition].behind)
                continue
            known = self._partitions[partition]
            for stretch in known.stretches:
                stretch.pending.discard(file)
            metrics.count(f"{kind}_objects_written_total", bucket=bucket)
            metrics.count(f"{kind}_bytes_written_total", file.bytes, bucket=bucket)
            if not file.of:
                metrics.count(f"{kind}_records_written_total", file.records, bucket=bucket)
            self._retries.worked()
            while known.stretches and known.stretches[0].ended and not known.stretches[0].pending:
                known.stretches.popleft()
                if not self.context.one_batch:  # an earlier attempt may have written all of one batch
                    known.fresh, known.seen = False, set()
                if not self._options.at_commit:  # a commit would end the open files
                    self.context.request_commit()

    def _go_behind(self, partition: TopicPartition, file: File, last: int) -> None:
        """Another object has the name of a file: begin again after the records that it holds."""
        known = self._partitions[partition]
        key = file.of or file.key
        log.warning("%s exists already, up to offset %d: %s-%d continues after it.", key, last, *partition)
        self.context.metrics.count(f"{self.kind}_errors_total", 1, **{"class": "conflict"})
        behind = {**known.behind, file.lane: max(last, known.behind.get(file.lane, -1))}
        self._consume_again(partition, behind)

    def _consume_again(self, partition: TopicPartition, behind: dict[str, int]) -> None:
        """Begin again with what is not durable, except what other objects hold."""
        known = self._partitions[partition]
        first = known.held_back(known.stretches[0].first)
        self._give_up(known)
        self._partitions[partition] = self._new_partition(behind, first if behind else None)
        self._rewound[partition] = first
        if self._in_hand:
            self._stale[partition] = known.last
        self.context.rewind({partition: first})

    def _give_up(self, known: PartitionProgress) -> None:
        files = [file for stretch in known.stretches for file in stretch.pending]
        for file in files:
            self._owners.pop(file, None)
        self._files.drop(files)

    def _new_partition(self, behind: dict[str, int] | None = None, since: int | None = None) -> PartitionProgress:
        return PartitionProgress(Rotation(self._rules, self._batches.adopt), behind=behind or {}, since=since)

    def _current(self, batch: SinkBatch) -> SinkBatch:
        """The batch without what was consumed before a partition was rewound: that comes again."""
        if not self._stale:
            return batch
        firsts = batch.first_offsets()
        stale = {partition for partition, last in self._stale.items() if firsts.get(partition, last) > last}
        return batch.without(stale) if stale else batch

    def _durable(self, partition: TopicPartition, offset: int) -> int:
        known = self._partitions.get(partition)
        if known is not None and known.stretches:
            return known.held_back(known.stretches[0].first)
        offset = min(offset, self._rewound.get(partition, offset))
        return offset if known is None else known.held_back(offset)

    # Trouble.

    def _check(self) -> None:
        """Raise what failed; or retry it, if the runtime was asked to wait and has waited."""
        error, found = self._files.error, self._files.failure
        metrics = self.context.metrics
        if error is not None:
            metrics.count(f"{self.kind}_errors_total", 1, **{"class": OTHER})
            raise error
        if found is None:
            return
        if self._retries.pending:
            self._retries.check()
            self._files.retry()
            return
        metrics.count(f"{self.kind}_errors_total", 1, **{"class": found.kind})
        renewed = found.kind == "credentials" and self._store.discard()
        if not found.passing and not renewed:
            raise raised(found)
        raise self._retries.failed(found.sentence, at_once=renewed)

    def _make_room(self) -> None:
        """Wait until there is memory for a batch."""
        until = time.monotonic() + _ROOM_S
        while not self._files.memory.room(0.2):
            self._settle()
            self._check()
            self._end_by_clock()
            if time.monotonic() > until:
                self.context.timeout(100)
                raise RetriableError(f"The uploads to {self._store.where} are slower than records arrive.")

    def _gauge(self) -> None:
        metrics = self.context.metrics
        metrics.gauge(f"{self.kind}_open_files", sum(len(known.rotation.open) for known in self._partitions.values()))
        metrics.gauge(f"{self.kind}_buffered_bytes", self._files.memory.used)
        metrics.gauge(f"{self.kind}_spilled_bytes", self._files.spilled)

    def _abort_left(self, partitions: Sequence[TopicPartition]) -> None:
        """Abort what an earlier task of these partitions has begun: nobody would ever complete it."""
        names = self._options.names
        for topic in {partition.topic for partition in partitions}:
            numbers = [partition.partition for partition in partitions if partition.topic == topic]
            self._store.abort_left(names.folder(topic), partial(self._is_of, topic, numbers))

    def _is_of(self, topic: str, numbers: Sequence[int], key: str) -> bool:
        """Whether an object of this key belongs to one of these partitions."""
        return any(self._options.names.belongs(key, topic, number) for number in numbers)
