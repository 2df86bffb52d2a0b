"""Batches of records by their numbers, with keys, timestamps, headers and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from connect import Header, Headers, SourceBatch, Values, schema
from connect.api.splits import Split
from connect.data import Constant, Deferred, Plain
from connectors.datagen import keys
from connectors.datagen.rows import Rows, Share

SEED: Final = "random.seed"
TASKS: Final = "tasks"
FIRST: Final = "first"
#: The bytes that one batch may bring, roughly.
_BATCH_BYTES: Final = 2 << 20


class Batches:
    """Makes batches of a task's records.

    Attributes:
        share: of the records, that is the task's.
        partition: the task's source partition.
        topic: where they go.

    Args:
        options: the task's keys.
        seed: of the random numbers.
        generation: how often the task was started before.
    """

    def __init__(self, options: keys.DatagenOptions, seed: int, generation: int) -> None:
        number, count, first = options.task_id, options.task_count, options.task_first
        self.share = Share(number, count, options.iterations * count if options.iterations >= 1 else None)
        self.partition = {keys.TASK: number}
        self._seed = seed
        self._generation = generation
        self._told = {keys.GENERATION: generation + 1, SEED: seed, TASKS: count, FIRST: first}
        self._rows = Rows(options, seed)
        self.topic = options.kafka_topic
        self._began = options.timestamp_start
        self._step = options.timestamp_step_ms
        self._headers = [each for each in options.headers if each not in keys.OWN_HEADERS]
        self._own_headers = [each for each in options.headers if each in keys.OWN_HEADERS]

    def offset(self, number: int) -> dict[str, Any]:
        """The offset behind this record."""
        following = self.share.at_or_after(number + 1)
        return {keys.ITERATION: number + 1 if following is None else following, **self._told}

    def split(self, start: int, stop: int) -> Split:
        """The records of the share from `start` to before `stop`, for a reader, which has no offsets."""
        return {"start": start, "stop": stop, "seed": self._seed, "generation": self._generation}

    @classmethod
    def of_split(cls, options: keys.DatagenOptions, split: Split) -> Batches:
        """What makes the records of a split as the task that planned it would."""
        return cls(options, split["seed"], split["generation"])

    def of(self, runs: Sequence[range]) -> SourceBatch:
        """The records of runs of numbers, each within one block."""
        made, values = self._rows.made(runs)
        numbers = runs[0] if len(runs) == 1 else list(chain.from_iterable(runs))

        def offset(row: int) -> dict[str, Any]:
            return self.offset(numbers[row])

        alive = self._rows.alive(runs)
        if alive is not None:
            schemas = Plain([self._rows.schema if living else None for living in alive])
            items = [value if living else None for living, value in zip(alive, values, strict=True)]
            values = Values(items, schemas)
        began, step = self._began, self._step
        return SourceBatch(
            self.topic,
            values,
            keys=made,
            timestamps=None if began is None else [began + step * number for number in numbers],
            headers=self._made_headers(numbers),
            source_partitions=self.partition,
            source_offsets=Deferred(len(numbers), lambda: list(map(offset, range(len(numbers)))), offset),
        )

    def _made_headers(self, numbers: Any) -> Any:
        named = [each.split("=", 1) for each in self._headers]
        constant = [Header(name.strip(), text.strip(), schema.STRING) for name, text in named]
        own = {keys.GENERATION: self._generation, keys.TASK: self.partition[keys.TASK]}
        fixed = [Header(name, own[name], schema.INT64) for name in self._own_headers if name in own]
        same = Headers([*fixed, *constant])
        if keys.ITERATION not in self._own_headers:
            return Constant(same, len(numbers)) if len(same) else None
        return [same.add(keys.ITERATION, number, schema.INT64) for number in numbers]


def size_of_record(batch: SourceBatch) -> int:
    """The bytes of a record, by the first ones of a batch."""
    some = batch.values.between(0, min(20, len(batch))).encoded_texts()
    return max(1, sum(map(len, some)) // len(some))


def fitting(batch: SourceBatch, most: int) -> int:
    """How many records like these go into a batch, at most so many."""
    return max(1, min(most, _BATCH_BYTES // size_of_record(batch)))
