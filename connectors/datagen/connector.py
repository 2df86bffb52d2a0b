"""DatagenConnector: random records of a schema, distributed among its tasks.

Positions: a task's source partition is `{"task.id": 0}`, as in Confluent's connector. In its offset `current.iteration`
is the number of its next record (records are numbered across all tasks), `random.seed` the seed, and two more keys,
`tasks` and `first`, are the number of tasks and the record from which on they were distributed.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from connect import (
    ConfigError,
    ConnectError,
    ExactlyOnceSupport,
    ReadPlan,
    SourceBatch,
    SourceConnector,
    SplitSourceTask,
    __version__,
)
from connect.api.engine import WORKER
from connect.api.splits import Split
from connect.settings import ConfigValue
from connectors.datagen import keys
from connectors.datagen.batches import FIRST, SEED, TASKS, Batches, fitting, size_of_record
from connectors.datagen.pace import CAUGHT_UP_S, Pace, Pauses, Steady, Unbounded
from connectors.datagen.rows import BLOCK, Rows

log = logging.getLogger(__name__)

_WAIT_S: Final = 0.5
_SLICE_S: Final = 0.05
#: The most records of a split, and the bytes that it may bring, roughly.
_SPLIT_RECORDS: Final = 100_000
_SPLIT_BYTES: Final = 64 << 20
#: Fewer records are not split.
_LEAST: Final = 20_000
#: A plan takes a while to be carried out: so many seconds of records that were due meanwhile are caught up on.
_ROUND_S: Final = 60.0


class DatagenTask(SplitSourceTask):
    """Generates its share of the records."""

    settings = keys.DatagenOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = keys.DatagenOptions.parse(config)
        count, first = options.task_count, options.task_first
        stored = self.context.offset({keys.TASK: options.task_id}) or {}
        # An offset that says nothing of how records were shared out is a user's, or of Confluent's connector.
        mine = bool(stored) and (stored.get(TASKS), stored.get(FIRST)) in ((count, first), (None, None))
        seed = options.random_seed
        if seed is None:
            seed = stored.get(SEED) if mine else None  # whatever the connector has chosen since
        seed = options.task_seed if seed is None else seed
        self._batches = Batches(options, seed, int(stored.get(keys.GENERATION, 0)))
        self._share = self._batches.share
        self._at = int(stored[keys.ITERATION]) if mine else first
        self._most = options.batch_size
        self._fill = min(self._most, BLOCK)  # until it is known how big records are
        self._pace = _pace(options)
        self._plan_pace = _pace(options, _ROUND_S)
        self._of_split = 0  # until it is known how big records are
        self._held: SourceBatch | None = None
        self._given = 0
        self._ended = False

    def poll(self) -> SourceBatch | None:
        if self._held is None and not self._make():
            return None
        assert self._held is not None
        count = self._due(self._pace, min(self._fill, len(self._held) - self._given))
        if not count:
            return None
        start, stop = self._given, self._given + count
        batch = self._held[start:stop]
        self._given = stop
        if stop == len(self._held):
            self._held = None
        self._tell(batch, self._batches.topic)
        return batch

    def plan(self, most: int) -> ReadPlan | None:
        """See `SplitSourceTask.plan`. As many records as are due, or fill the splits."""
        if self._share.at_or_after(self._at) is None:
            self._end()
            return None
        if not self._of_split:
            sample = self._batches.of(self._share.runs(self._at, 1))
            self._of_split = max(1, min(_SPLIT_RECORDS, _SPLIT_BYTES // size_of_record(sample)))
        count = self._due(self._plan_pace, most * self._of_split)
        if not count:
            return None
        runs = self._share.runs(self._at, count)
        # Small ones are not worth what a split costs, and each but the last ends with a block.
        each = max(-(-sum(map(len, runs)) // most), min(_LEAST, self._of_split))
        splits: list[Split] = []
        begun, made = runs[0].start, 0
        for run in runs:
            made += len(run)
            if made >= each * (len(splits) + 1) or run is runs[-1]:
                splits.append(self._batches.split(begun, run.stop))
                begun = run.stop
        self._at = runs[-1].stop
        return ReadPlan(splits, [(self._batches.partition, self._batches.offset(self._at - 1))])

    def read(self, config: Mapping[str, str], split: Split) -> Iterator[SourceBatch]:
        """See `SplitSourceTask.read`."""
        options = keys.DatagenOptions.parse(config)
        batches = Batches.of_split(options, split)
        fill = min(options.batch_size, BLOCK)
        at, stop = split["start"], split["stop"]
        while (following := batches.share.at_or_after(at)) is not None and following < stop:
            runs = batches.share.runs(following, fill, stop)
            batch = batches.of(runs)
            self._tell(batch, batches.topic)
            yield batch
            at = runs[-1].stop
            fill = fitting(batch, options.batch_size)

    def _due(self, pace: Pace, most: int) -> int:
        """The number of records that are due, after waiting a little for the first one."""
        until = time.monotonic() + _WAIT_S
        while not self.context.stopping():
            count, wait = pace.due(most)
            if count:
                return count
            left = until - time.monotonic()
            if left <= 0:
                return 0
            time.sleep(min(wait, left, _SLICE_S))
        return 0

    def _make(self) -> bool:
        """Generate the next blocks. False when there are no more."""
        runs: list[range] = []
        made = 0
        # As many as go into a poll; few where they are given slowly, and wait to be given.
        wanted = self._fill if isinstance(self._pace, Unbounded) else 1
        while made < wanted and (following := self._share.at_or_after(self._at)) is not None:
            runs.append(self._share.run(following))
            made += len(runs[-1])
            self._at = runs[-1].stop
        if not runs:
            self._end()
            return False
        self._held = self._batches.of(runs)
        self._given = 0
        self._fill = fitting(self._held, self._most)
        return True

    def _end(self) -> None:
        if not self._ended:
            log.info("All %s records are made.", self._share.end)
            self._ended = True

    def _tell(self, batch: SourceBatch, topic: str) -> None:
        self.context.metrics.count("datagen_records_total", len(batch), topic=topic)


class DatagenConnector(SourceConnector):
    """Distributes records among its tasks."""

    settings = keys.DatagenOptions.definition()
    version = __version__
    engines = (WORKER, "spark")
    task = DatagenTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        first, seed = self._shared_out(max_tasks)
        shared = {"task.count": str(max_tasks), "task.first": str(first), "task.seed": str(seed)}
        return [{**self.config, **shared, keys.TASK: str(task)} for task in range(max_tasks)]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        try:
            Rows(keys.DatagenOptions.parse(config), 0)
        except ConfigError as error:
            next(value for value in values if value.name == error.key).errors.append(error.message)
        return values

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for partition, offset in offsets.items():
            if offset is None:
                continue
            if set(dict(partition)) != {keys.TASK}:
                raise ConnectError(f'A source partition of made-up records reads {{"{keys.TASK}": 0}}.')
            number = offset.get(keys.ITERATION)
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise ConnectError(f'An offset of made-up records is null or reads {{"{keys.ITERATION}": <number>}}.')
        return True

    def _shared_out(self, count: int) -> tuple[int, int]:
        """The record from which on they are distributed among this many tasks, and the seed.

        As long as the number of tasks stays the same nothing changes. With another one all records that any task has
        generated are skipped: none is repeated, and those that slower tasks had not generated yet are left out.
        """
        stored: list[Mapping[str, Any]] = []
        most, task = count, 0
        while task < most:
            offset = self.context.offset({keys.TASK: task})
            if offset and offset.get(TASKS):
                stored.append(offset)
                most = max(most, offset[TASKS])
            task += 1
        if not stored:
            return 0, random.getrandbits(62)
        newest = max(stored, key=lambda offset: int(offset[FIRST]))
        if newest[TASKS] == count:
            return newest[FIRST], newest[SEED]
        return max(offset[keys.ITERATION] for offset in stored), newest[SEED]


def _pace(options: keys.DatagenOptions, caught_up: float = CAUGHT_UP_S) -> Pace:
    if options.rate:
        return Steady(options.rate / options.task_count, caught_up=caught_up)
    return Pauses(options.max_interval / 1000, caught_up=caught_up) if options.max_interval >= 1 else Unbounded()
