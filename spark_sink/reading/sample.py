"""Samples some records before a query begins: what schema they have, and how large they are.

Runs in the task's process, with the same converters and transformations that the executors run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from connect.data.record import TopicPartition
from connect.data.schema import Schema
from connect.data.tables import Unfit, schema_of
from connect.data.values import Values
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.range_consumer import RangeConsumer
from connect.kafka.reading.topic_ends import TopicEnds
from connect.pipeline import Chain, Failure, sink_chain
from connect.plugins import Plugins
from spark_sink.cdc import ChangeEvents, marks_of, unsent
from spark_sink.reading.plan import ReadPlan
from spark_sink.reading.sizes import bytes_of

_ROWS: Final = 500
_PLACES: Final = 40
#: Records of a partition that are looked at from one that brought new fields on.
MORE_ROWS: Final = 5_000
#: So many records of a partition are looked at where those before them say nothing: they are broken, or tombstones.
_MOST_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of sampling.

    Attributes:
        values, keys: the schemas that they need; None while unknown.
        record_bytes: the average size of keys and values together; 0 where none was seen.
        records: the number of sampled ones.
        declared: the names of the fields of each schema that values had.
        unsent: whether an event had no value of a field: see `spark_sink.cdc`.
        waiting: whether there are unread offsets: of records, or of what is left of them (compaction, retention and
            aborted transactions remove records, and leave their offsets).
    """

    values: Schema | None
    keys: Schema | None
    record_bytes: float
    records: int
    waiting: bool = False
    declared: frozenset[frozenset[str]] = frozenset()
    unsent: bool = False

    @property
    def known(self) -> tuple[object, ...]:
        """What the shape of rows follows from."""
        return self.values, self.keys, self.partial

    @property
    def partial(self) -> bool:
        """Whether records lack columns."""
        names = {field.name for field in self.values.fields} if self.values is not None else set()
        return self.unsent or any(not names <= declared for declared in self.declared)


class Sampler:
    """Samples records of one plan's topics. For one thread; close it.

    Args:
        plan: its topics, configurations and shape; the rest does not matter.
        wrap, wrap_key, events: see `RowShape`.

    Attributes:
        failed: why the first record that converters or transformations refused was refused; empty while there is none.
    """

    def __init__(self, plan: ReadPlan, wrap: str, wrap_key: str, *, events: bool = False) -> None:
        self._plan = plan
        self._wrap = wrap
        self._wrap_key = wrap_key
        clients = task_client_settings("consumer", plan.worker, plan.config)
        self._consumer = RangeConsumer(clients.librdkafka, fail_on_data_loss=False, fetch_ahead_kb=1024)
        self._ends = TopicEnds(plan.worker, plan.config, plan.subscription())
        # Errors are for the executors to meet: here a record that fails says nothing.
        config = {key: value for key, value in plan.config.items() if not key.startswith("errors.")}
        config |= {"errors.tolerance": "all"}
        plugins = Plugins.discover([Path(folder) for folder in plan.plugin_path])
        self._make_chain = partial(sink_chain, plugins, plan.worker, config, time.sleep)
        self.failed = ""
        self._chain = self._new_chain()
        self._events = ChangeEvents.of(plan.config) if events else None

    def look(
        self,
        positions: Mapping[TopicPartition, int],
        known: Sample | None,
        keep_going: Callable[[], None],
        rows: int = _ROWS,
        first: TopicPartition | None = None,
    ) -> Sample:
        """Sample the next records.

        Args:
            positions: where partitions continue; the others begin with their first record.
            known: the sample so far, to extend.
            keep_going: called before each partition; raises to end it.
            rows: the number for a partition, and more while those show no values.
            first: a partition that is sampled in any case. Of the others only some are, where there are many.

        Raises:
            ConnectError: the brokers refuse, or the first record of a schema contradicts what is known.
        """
        ends = self._ends.ends(self._ends.partitions())
        begins = {partition: positions[partition] for partition in ends if partition in positions}
        begins |= self._ends.begins([partition for partition in ends if partition not in positions])
        ranges = {partition: (begins[partition], end) for partition, end in ends.items() if end > begins[partition]}
        if first in ranges:
            ranges = {first: ranges[first], **ranges}
        return self.look_at(ranges, known, keep_going, rows)

    def look_at(
        self,
        ranges: Mapping[TopicPartition, tuple[int, int]],
        known: Sample | None,
        keep_going: Callable[[], None] = lambda: None,
        rows: int = _ROWS,
    ) -> Sample:
        """Sample the first records of ranges of offsets, each from the first to before the second. See `look`."""
        if not self._chain.keeps_nothing:  # in executors no transformation remembers records of batches before
            self._chain.close()
            self._chain = self._new_chain()
        known = known or _NOTHING
        values, keys, size, count = known.values, known.keys, known.record_bytes, known.records
        declared, lacking = set(known.declared), known.unsent
        for partition, (begin, end) in list(ranges.items())[:_PLACES]:
            keep_going()
            looked = 0
            for batch in self._consumer.read(partition, begin, end, rows):
                size = (size * count + bytes_of(batch)) / (count + len(batch))
                count += len(batch)
                changed = self._chain.run(batch)
                if self._events is not None:
                    changed = self._events.changed(changed).batch
                values = grown(changed.values, values, self._wrap)
                keys = grown(changed.keys, keys, self._wrap_key)
                for _, group in changed.values.groups():
                    if (own := group.schemas[0]) is not None:
                        declared.add(frozenset(field.name for field in own.fields) or frozenset({self._wrap}))
                    lacking |= self._events is not None and any(map(unsent, marks_of(group)))
                looked += len(batch)
                if looked >= (rows if if_any(values) is not None else _MOST_ROWS):
                    break
                keep_going()
        return Sample(if_any(values), if_any(keys), size, count, bool(ranges), frozenset(declared), lacking)

    def close(self) -> None:
        """Close what was opened."""
        self._consumer.close()
        self._chain.close()

    def _new_chain(self) -> Chain:
        chain = self._make_chain()
        chain.policy.dead_letter = self._note
        return chain

    def _note(self, failure: Failure) -> None:
        error = failure.error
        said = f"{failure.stage.words} {failure.operation} failed: {type(error).__name__}: {error}"
        self.failed = self.failed or said.rstrip(".")


_NOTHING: Final = Sample(None, None, 0.0, 0)


def grown(values: Values, known: Schema | None, wrap: str) -> Schema | None:
    """The known schema extended by these rows; executors refuse rows that contradict it."""
    while len(values):
        try:
            return schema_of(values, known, wrap=wrap)
        except Unfit as unfit:
            wrong = set(unfit.rows)
            values = values.take([row for row in range(len(values)) if row not in wrong])
    return known


def if_any(schema: Schema | None) -> Schema | None:
    """A schema that has fields; None for one without."""
    return schema if schema is not None and schema.fields else None
