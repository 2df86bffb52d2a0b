"""One write: a connector's sink task, from start to stop, writes the rows of one Spark task of a micro-batch."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, Self

from connect.api.sink import Offsets, SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.delivery.context import SinkContext
from connect.errors import ConfigError, ConnectError, RetriableError
from connect.plugins.lifetime import Lifetime
from connect.plugins.loading import load_class
from connect.telemetry.metrics import Registry
from spark_sink.connector_sink import resources
from spark_sink.connector_sink.delivery import Delivery, quietly, said
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.progress_files import Done, Span, Tally
from spark_sink.connector_sink.rows import Order

log = logging.getLogger(__name__)

#: How long between two questions whether all is durable: at first, and at most.
_ASK_S: Final = (0.02, 1.0)
#: How long between two looks whether a task that paused a partition has resumed it.
_PAUSED_S: Final = 0.1


def write(plan: WritePlan, number: int, rows: Iterable[Any]) -> Done:
    """Deliver rows to the connector's task, and return when all of them are durable.

    Args:
        plan: see there.
        number: of the sink task: the number of the Spark task.
        rows: pyarrow.RecordBatches of the plan's rows.

    Raises:
        ConnectError: they cannot be written; says where and why. The whole write does not count then.
    """
    filled = (batch for batch in rows if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return Done()  # no task is started for nothing
    mine = resources.take(plan, number)
    try:
        with Write(plan, number, mine) as one:
            for batch in chain([first], filled):
                one.take(batch)
            done = one.finish()
    except BaseException:
        mine.close()
        raise
    resources.give_back(plan, number, mine)
    return done


class Write:
    """The life of one sink task. Called from one thread: `take` for each of Spark's batches, then `finish`.

    A context manager: starts the task; at the end closes and stops a task that was started.

    Args:
        plan, number: see `write`.
        mine: converters, transformations, dead letters.
    """

    def __init__(self, plan: WritePlan, number: int, mine: resources.Resources) -> None:
        self._plan = plan
        self._resources = mine
        self._before = replace(mine.chain.policy.counts)
        self._task = _task(plan)
        self._life = Lifetime(self._task)
        self._delivery = Delivery(plan, number, self._task, mine)
        self._registry = Registry()
        metrics = self._registry.labelled()  # they are labelled as the connector's where they are added up
        context = SinkContext(plan.connector, number, plan.task_config, metrics, self._delivery, one_batch=True)
        context.owner = self
        self._task.context = context
        self.assignment: frozenset[TopicPartition] = frozenset()
        self._paused: set[TopicPartition] = set()  # of which the task wants nothing for now
        self._batches = plan.rows.batches(number, mine.most)
        self._order = Order()
        self._begins: dict[TopicPartition, int] = {}  # where this micro-batch begins
        self._known: dict[TopicPartition, int] = {}  # where the target says that it goes on
        self._first: dict[TopicPartition, int] = {}
        self._next: dict[TopicPartition, int] = {}  # after the last record that was handed over or is settled
        self._rows: dict[TopicPartition, int] = {}
        self._known_rows = 0

    def __enter__(self) -> Self:
        with self._delivery.within("start"):
            self._life.start(self._plan.task_config)
        return self

    def __exit__(self, *_: object) -> None:
        self._delivery.waits_no_more()
        if opened := list(self.assignment):
            quietly(lambda: self._task.close(opened))
        quietly(self._life.end)

    # As a `connect.delivery.context.PartitionOwner`.

    def committed(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The offsets of the query's checkpoint, which the consumer group follows: all before this micro-batch."""
        return {partition: self._begins[partition] for partition in partitions if partition in self._begins}

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> Offsets:
        """None: where the query begins is decided."""
        return {}

    def rewind(self, offsets: Offsets) -> None:
        raise ConnectError(
            f'Connector "{self._plan.connector}" wants to go back to an earlier record, which it cannot do on Spark: a'
            " micro-batch is read once, from its beginning. Raise RetriableError to be handed the same records again,"
            " or run the connector with engine=worker."
        )

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.update(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)

    # The write.

    def take(self, rows: Any) -> None:
        """Put the records of one pyarrow.RecordBatch.

        Raises:
            ConnectError: a record cannot be written, or records are out of order.
        """
        for batch in self._batches(rows):
            self._order.check(batch)
            self._open(batch)
            self._count(batch)
            after = batch.next_offsets()
            new = self._unknown(batch)
            if len(new):
                changed = self._delivery.convert(new)
                self._await_resumed(changed)
                self._delivery.put(changed)
            self._next.update(after)
            if self._delivery.commit_wanted:
                self._delivery.ask(self._next)

    def finish(self) -> Done:
        """Wait until everything that was put is durable, and return what was written.

        Raises:
            ConfigError: the task holds back records. It would do so again, so a restart is no use.
        """
        pause, longest = _ASK_S
        seen, until = None, 0.0
        while True:
            durable = self._delivery.ask(self._next)
            if isinstance(durable, RetriableError):
                self._delivery.wait_for(durable, "make its records durable")
                continue
            behind = self._behind(durable)
            if not behind:
                return self._done()
            now, state = time.monotonic(), (behind, self._delivery.refusals)
            if state != seen:
                seen, until = state, now + self._plan.flush_within
            elif now > until:
                raise ConfigError("engine", self._kept_back(behind))
            self._resources.alive.pause(pause)
            pause = min(pause * 2, longest)
            self._delivery.put_nothing()

    def _open(self, batch: SinkBatch) -> None:
        """Open partitions that are new to the task, and learn which of their records the target has already."""
        begin = {partition: at for partition, at in batch.first_offsets().items() if partition not in self.assignment}
        if not begin:
            return
        self.assignment |= begin.keys()
        self._begins |= begin
        with self._delivery.within(f"open of {said(list(begin))}"):
            known = self._task.open(list(begin))
        self._resources.error_outputs.at_once = known is not None
        for partition, offset in (known or {}).items():
            if partition in begin:
                self._known[partition] = offset
                if offset < begin[partition]:
                    log.info(
                        "%s: the target of %s would continue at %d, the query is at %d. What lies between was dropped"
                        " by compaction or is not a record; or the target has lost it.",
                        *(self._plan.connector, said([partition]), offset, begin[partition]),
                    )

    def _count(self, batch: SinkBatch) -> None:
        self._first = {**batch.first_offsets(), **self._first}
        if batch.topics.constant and batch.partitions.constant:
            rows = {TopicPartition(batch.topics[0], batch.partitions[0]): len(batch)}
        else:
            rows = Counter(map(TopicPartition, batch.topics, batch.partitions))
        for partition, count in rows.items():
            self._rows[partition] = self._rows.get(partition, 0) + count

    def _unknown(self, batch: SinkBatch) -> SinkBatch:
        """The records that the target does not have yet."""
        if all(self._known.get(partition, 0) <= offset for partition, offset in batch.first_offsets().items()):
            return batch
        partitions = map(TopicPartition, batch.topics, batch.partitions)
        from_here = [self._known.get(partition, 0) for partition in partitions]
        new = [row for row, (at, begin) in enumerate(zip(batch.offsets, from_here, strict=True)) if at >= begin]
        self._known_rows += len(batch) - len(new)
        return batch.take(new)

    def _await_resumed(self, batch: SinkBatch) -> None:
        """Hold back the records of paused partitions; meanwhile put empty batches."""
        while self._paused and self._paused.intersection(batch.first_offsets()):
            self._resources.alive.pause(_PAUSED_S)
            self._delivery.put_nothing()

    def _behind(self, durable: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """For partitions with records that are not durable, the offset of the first such record."""
        at = {
            partition: durable.get(partition, self._known.get(partition, self._first[partition]))
            for partition in self._next
        }
        return {partition: offset for partition, offset in at.items() if offset < self._next[partition]}

    def _kept_back(self, behind: Mapping[TopicPartition, int]) -> str:
        partitions = ", ".join(f"{said([partition])} from offset {behind[partition]}" for partition in sorted(behind))
        return (
            f"{type(self._task).__qualname__} cannot run on Spark as it is: it holds back records, and there each"
            " micro-batch has to be durable. Write engine=worker; or have the task write everything where"
            " context.one_batch says so; or, if it only needs longer, raise sink.flush.timeout.ms. Its pre_commit has"
            f" said for {self._plan.flush_within:g} s that this is not durable: {partitions}."
        )

    def _done(self) -> Done:
        before, now = self._before, self._resources.chain.policy.counts
        tally = Tally(
            read=sum(self._rows.values()),
            written=self._delivery.written,
            known=self._known_rows,
            errors=now.errors - before.errors,
            skipped=now.skipped - before.skipped,
            dead_letters=now.dead_letters - before.dead_letters,
            retries=now.retries - before.retries,
        )
        spans = [
            Span(*partition, self._first[partition], self._next[partition], self._rows[partition])
            for partition in sorted(self._next)
        ]
        return Done(tuple(spans), tally, self._registry.text())


def _task(plan: WritePlan) -> SinkTask:
    made = load_class(plan.task, plan.folder)()
    if not isinstance(made, SinkTask):
        raise ConnectError(f"{type(made).__qualname__} is not a SinkTask. A sink connector's task class extends it.")
    return made
