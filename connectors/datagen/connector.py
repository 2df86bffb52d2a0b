"""DatagenConnector: random records of a schema, distributed among its tasks.

Positions: a task's source partition is `{"task.id": 0}`, as in Confluent's connector. In its offset `current.iteration`
is the number of its next record (records are numbered across all tasks), `random.seed` the seed, and two more keys,
`tasks` and `first`, are the number of tasks and the record from which on they were distributed.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from connect import (
    ConfigError,
    ConnectError,
    ExactlyOnceSupport,
    Header,
    Headers,
    SourceBatch,
    SourceConnector,
    SourceTask,
    Values,
    __version__,
    schema,
)
from connect.data import Constant, Deferred, Plain
from connect.settings import ConfigValue
from connectors.datagen import keys
from connectors.datagen.pace import Pace, Pauses, Steady, Unbounded
from connectors.datagen.rows import BLOCK, Rows, Share

log = logging.getLogger(__name__)

_SEED: Final = "random.seed"
_TASKS: Final = "tasks"
_FIRST: Final = "first"
_WAIT_S: Final = 0.5
_SLICE_S: Final = 0.05
#: The bytes that one poll may bring, roughly.
_POLL_BYTES: Final = 2 << 20


class DatagenTask(SourceTask):
    """Generates its share of the records."""

    settings = keys.DatagenOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = keys.DatagenOptions.parse(config)
        number, count, first = options.task_id, options.task_count, options.task_first
        self._partition = {keys.TASK: number}
        stored = self.context.offset(self._partition) or {}
        # An offset that says nothing of how records were shared out is a user's, or of Confluent's connector.
        mine = bool(stored) and (stored.get(_TASKS), stored.get(_FIRST)) in ((count, first), (None, None))
        seed = options.random_seed
        if seed is None:
            seed = stored.get(_SEED) if mine else None  # whatever the connector has chosen since
        self._seed = options.task_seed if seed is None else seed
        self._generation = int(stored.get(keys.GENERATION, 0))
        self._told = {keys.GENERATION: self._generation + 1, _SEED: self._seed, _TASKS: count, _FIRST: first}
        end = options.iterations * count if options.iterations >= 1 else None
        self._share = Share(number, count, end)
        self._at = int(stored[keys.ITERATION]) if mine else first
        self._rows = Rows(options, self._seed)
        self._topic = options.kafka_topic
        self._most = options.batch_size
        self._fill = min(self._most, BLOCK)  # until it is known how big records are
        self._pace = _pace(options)
        self._began = options.timestamp_start
        self._step = options.timestamp_step_ms
        self._headers = [each for each in options.headers if each not in keys.OWN_HEADERS]
        self._own_headers = [each for each in options.headers if each in keys.OWN_HEADERS]
        self._held: SourceBatch | None = None
        self._given = 0
        self._ended = False

    def poll(self) -> SourceBatch | None:
        if self._held is None and not self._make():
            return None
        assert self._held is not None
        count = self._due(min(self._fill, len(self._held) - self._given))
        if not count:
            return None
        start, stop = self._given, self._given + count
        batch = self._held[start:stop]
        self._given = stop
        if stop == len(self._held):
            self._held = None
        self.context.metrics.count("datagen_records_total", count, topic=self._topic)
        return batch

    def _due(self, most: int) -> int:
        """The number of records that are due, after waiting a little for the first one."""
        until = time.monotonic() + _WAIT_S
        while not self.context.stopping():
            count, wait = self._pace.due(most)
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
            if not self._ended:
                log.info("All %s records are made.", self._share.end)
                self._ended = True
            return False
        self._held = self._batch(runs)
        self._given = 0
        some = self._held.values.between(0, min(20, made)).encoded_texts()
        self._fill = max(1, min(self._most, _POLL_BYTES // max(1, sum(map(len, some)) // len(some))))
        return True

    def _batch(self, runs: list[range]) -> SourceBatch:
        made, values = self._rows.made(runs)
        numbers = runs[0] if len(runs) == 1 else list(chain.from_iterable(runs))
        told, share = self._told, self._share

        def offset(row: int) -> dict[str, Any]:
            following = share.at_or_after(numbers[row] + 1)
            end = numbers[row] + 1 if following is None else following
            return {keys.ITERATION: end, **told}

        alive = self._rows.alive(runs)
        if alive is not None:
            schemas = Plain([self._rows.schema if living else None for living in alive])
            items = [value if living else None for living, value in zip(alive, values, strict=True)]
            values = Values(items, schemas)
        began, step = self._began, self._step
        return SourceBatch(
            self._topic,
            values,
            keys=made,
            timestamps=None if began is None else [began + step * number for number in numbers],
            headers=self._made_headers(numbers),
            source_partitions=self._partition,
            source_offsets=Deferred(len(numbers), lambda: list(map(offset, range(len(numbers)))), offset),
        )

    def _made_headers(self, numbers: Any) -> Any:
        named = [each.split("=", 1) for each in self._headers]
        constant = [Header(name.strip(), text.strip(), schema.STRING) for name, text in named]
        own = {keys.GENERATION: self._generation, keys.TASK: self._partition[keys.TASK]}
        fixed = [Header(name, own[name], schema.INT64) for name in self._own_headers if name in own]
        same = Headers([*fixed, *constant])
        if keys.ITERATION not in self._own_headers:
            return Constant(same, len(numbers)) if len(same) else None
        return [same.add(keys.ITERATION, number, schema.INT64) for number in numbers]


class DatagenConnector(SourceConnector):
    """Distributes records among its tasks."""

    settings = keys.DatagenOptions.definition()
    version = __version__
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
            if set(dict(partition)) != {keys.TASK}:
                raise ConnectError(f'A source partition of made-up records reads {{"{keys.TASK}": 0}}.')
            number = None if offset is None else offset.get(keys.ITERATION)
            if offset is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
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
            if offset and offset.get(_TASKS):
                stored.append(offset)
                most = max(most, offset[_TASKS])
            task += 1
        if not stored:
            return 0, random.getrandbits(62)
        newest = max(stored, key=lambda offset: int(offset[_FIRST]))
        if newest[_TASKS] == count:
            return newest[_FIRST], newest[_SEED]
        return max(offset[keys.ITERATION] for offset in stored), newest[_SEED]


def _pace(options: keys.DatagenOptions) -> Pace:
    if options.rate:
        return Steady(options.rate / options.task_count)
    return Pauses(options.max_interval / 1000) if options.max_interval >= 1 else Unbounded()
