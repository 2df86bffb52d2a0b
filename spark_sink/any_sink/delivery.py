"""Handing batches to a sink task: again after a pause, in halves where asked for, and asking what is durable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.errors import ConfigError, ConnectError, RetriableError
from connect.pipeline import Failure, RecordError, Stage
from connect.pipeline.errant import Handed
from connect.pipeline.error_topics import UnwrittenError
from connect.pipeline.failure import qualified_name
from connect.pipeline.put_halving import Refused, halves_puts, put_in_parts
from spark_sink.any_sink import notes
from spark_sink.any_sink.context import SinkContext, said
from spark_sink.any_sink.liveness import Orphaned
from spark_sink.any_sink.plan import WritePlan
from spark_sink.any_sink.resources import Resources

log = logging.getLogger(__name__)

#: As in the worker: how long before a put that was refused comes again, unless its task says.
_RETRY_S: Final = 3.0
_NO_RECORDS: Final = SinkBatch("", Values([]), offsets=[])


class Delivery:
    """The puts and pre_commits of one sink task. Called from one thread.

    Args:
        plan: see there.
        task: made, with its context set.
        context: that context.
        mine: the chain with its error policy, dead letters.

    Attributes:
        written: records that puts took.
        refusals: how often the task said that it cannot do something now.

    Raises:
        ConfigError: puts are to be halved, and the task does not say that it can bear it.
    """

    def __init__(self, plan: WritePlan, task: SinkTask, context: SinkContext, mine: Resources) -> None:
        self.written = 0
        self.refusals = 0
        self._plan = plan
        self._task = task
        self._context = context
        self._resources = mine
        self._halve_puts = halves_puts(plan.connector_config, task)
        self._handed: Handed | None = None
        reporter = context.errant_records
        if mine.error_outputs is not None and reporter is not None:
            reporter.handed = self._handed = Handed(context.request_commit)
        self._waits = False  # and it is noted

    def put(self, batch: SinkBatch) -> None:
        """Put a batch, as often as the task says that it may work later.

        Raises:
            ConnectError: it does not, and where.
        """
        self.written += len(batch)
        refused = self._put(batch)
        while refused is not None:
            self.wait(refused.error, f"put {len(refused.rest)} records")
            refused = self._put(refused.rest)
        self.waits_no_more()

    def put_nothing(self) -> None:
        """Give the task its turn, for work that waits for its time."""
        self.put(_NO_RECORDS)

    def ask(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int] | RetriableError:
        """Ask the task up to where all is durable.

        Args:
            offsets: for each partition the offset after the last record that was handed over.

        Returns:
            what the task says; or why it cannot say now.
        """
        self.settle()
        self._context.commit_wanted = False
        self._context.wait = None
        with self.within("pre_commit"):
            try:
                durable = self._task.pre_commit(dict(offsets)) or {}
            except RetriableError as error:
                return error
        if self._handed is not None:
            self._handed.committed({partition: durable.get(partition, 0) for partition in offsets})
        return durable

    def settle(self) -> None:
        """Return when all that went to error topics is durable there (P1)."""
        if self._resources.error_outputs is not None:
            self._resources.error_outputs.settle()

    def wait(self, error: RetriableError, what: str) -> None:
        """Wait before the task is asked again, as long as it wants. Spark ends the process when nobody waits for it."""
        self.refusals += 1
        seconds = _RETRY_S if self._context.wait is None else self._context.wait
        log.warning("%s: %s Trying again in %.3g s; nothing is lost.", self._plan.connector, error, seconds)
        name = type(self._task).__qualname__
        notes.waiting(self._plan.notes, self._context.task_id, f"{name} cannot {what} now: {error}")
        self._waits = True
        self._resources.alive.pause(seconds)

    def waits_no_more(self) -> None:
        """Take the note back that `wait` made."""
        if self._waits:
            notes.waiting(self._plan.notes, self._context.task_id, "")
            self._waits = False

    @contextmanager
    def within(self, what: str) -> Iterator[None]:
        """Have an error of the task say where it came from, unless it does so itself."""
        try:
            yield
        except (ConfigError, RecordError, UnwrittenError, Orphaned):
            raise
        except Exception as error:  # plug-ins raise anything
            kind = "" if isinstance(error, ConnectError) else f"{type(error).__name__}: "
            raise ConnectError(f"{type(self._task).__qualname__}.{what} failed: {kind}{error}") from error

    def _put(self, batch: SinkBatch) -> Refused | None:
        """Put a batch once; returns what is to come again."""
        self._context.wait = None
        if self._handed is not None:
            self._handed.take(batch)
        with self.within(f"put{_extent(batch)}"):
            try:
                self._task.put(batch)
            except RetriableError as error:
                return Refused(batch, error)
            except Exception:  # plug-ins raise anything
                if not self._halve_puts or not len(batch):
                    raise
            else:
                return None
            return put_in_parts(self._put_part, batch, self._give_up)

    def _put_part(self, part: SinkBatch) -> None:
        self._resources.alive.check()
        self._task.put(part)

    def _give_up(self, one: SinkBatch, error: Exception) -> None:
        """`put` does not take this record."""
        self.written -= 1
        policy, task = self._resources.chain.policy, type(self._task)
        policy.counts.failures += 1
        policy.reject(Failure(Stage.TASK_PUT, task.__name__, error, one.records()[0], one, qualified_name(task)))
        self.settle()


def quietly(step: Callable[[], None]) -> None:
    """Do a step of which an error changes nothing any more: it is logged."""
    try:
        step()
    except Exception as error:  # plug-ins raise anything
        log.error("While stopping: %s: %s", type(error).__name__, error, exc_info=error)


def _extent(batch: SinkBatch) -> str:
    """Which records a batch holds, for a message."""
    begin, end = batch.first_offsets(), batch.next_offsets()
    return "".join(f" of {said([partition])}@{begin[partition]}-{end[partition] - 1}" for partition in sorted(begin))
