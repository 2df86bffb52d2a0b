"""Delivers batches to a sink task in an executor: repeats what failed, and waits until all is durable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.delivery.sink import NO_RECORDS, SinkDelivery
from connect.errors import ConfigError, ConnectError, RetriableError
from connect.pipeline import RecordError
from connect.pipeline.errant import PolicyReporter
from connect.pipeline.error_topics import UnwrittenError
from connect.pipeline.put_halving import Refused, halves_puts
from spark_sink.connector_sink import progress_files
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.resources import Orphaned, Resources

log = logging.getLogger(__name__)


class Delivery(SinkDelivery):
    """The puts and pre_commits of one sink task; each waits until it is done. Called from one thread.

    Args:
        plan: see there.
        number: of the sink task.
        task: not started yet.
        mine: the converters and transformations with their error policy, and the dead letters.

    Attributes:
        written: records that were put.
        refusals: how often the task raised RetriableError.

    Raises:
        ConfigError: puts are to be halved, and the task does not declare that it supports that.
    """

    def __init__(self, plan: WritePlan, number: int, task: SinkTask, mine: Resources) -> None:
        config = plan.connector_config
        reporter = PolicyReporter.of(config, mine.chain.policy, type(task).__name__)
        halve = halves_puts(config, task)
        super().__init__(task, mine.chain, mine.alive.check, mine.error_outputs, reporter, halve=halve)
        self.refusals = 0
        self._put_rows = 0
        self._plan = plan
        self._number = number
        self._alive = mine.alive
        self._waits = True  # and it is noted, perhaps by a process that was killed meanwhile

    @property
    def written(self) -> int:
        return self._put_rows - self.given_up

    def put(self, batch: SinkBatch) -> Refused | None:
        """Put a batch, again as long as the task raises RetriableError: it has taken nothing of it then.

        Raises:
            ConnectError: the task failed; says at which records.
        """
        self._put_rows += len(batch)
        refused = self._put_once(batch)
        while refused is not None:
            self.wait_for(refused.error, f"put {len(refused.rest)} records")
            refused = self._put_once(refused.rest)
        self.waits_no_more()
        return None

    def put_nothing(self) -> None:
        """Put an empty batch, for the task's work by the clock."""
        self.put(NO_RECORDS)

    def ask(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int] | RetriableError:
        """Ask the task up to which offsets everything is durable.

        Args:
            offsets: for each partition the offset after the last record that was put.

        Returns:
            the task's offsets; or why it cannot give them now.
        """
        self.settle()
        self.commit_wanted = False
        with self.within("pre_commit"):
            try:
                durable = self.pre_commit(offsets, {})
            except RetriableError as error:
                return error
        self.committed({partition: durable.get(partition, 0) for partition in offsets})
        return durable

    def wait_for(self, error: RetriableError, what: str) -> None:
        """Wait before the next attempt, as long as the task asked. Spark ends the process when nobody waits for it."""
        self.refusals += 1
        log.warning("%s: %s Trying again in %.3g s; nothing is lost.", self._plan.connector, error, self.wait)
        name = type(self.task).__qualname__
        progress_files.waiting(self._plan.progress_folder, self._number, f"{name} cannot {what} now: {error}")
        self._waits = True
        self._alive.pause(self.wait)

    def waits_no_more(self) -> None:
        """Remove the note that `wait_for` made."""
        if self._waits:
            progress_files.waiting(self._plan.progress_folder, self._number, "")
            self._waits = False

    @contextmanager
    def within(self, what: str) -> Iterator[None]:
        """Add to an error of the task where it came from, unless it says so itself."""
        try:
            yield
        except (ConfigError, RecordError, UnwrittenError, Orphaned):
            raise
        except Exception as error:  # plug-ins raise anything
            kind = "" if isinstance(error, ConnectError) else f"{type(error).__name__}: "
            raise ConnectError(f"{type(self.task).__qualname__}.{what} failed: {kind}{error}") from error

    def _put_once(self, batch: SinkBatch) -> Refused | None:
        with self.within(f"put{_extent(batch)}"):
            return super().put(batch)


def quietly(step: Callable[[], None]) -> None:
    """Do a step whose error no longer matters: it is only logged."""
    try:
        step()
    except Exception as error:  # plug-ins raise anything
        log.error("While stopping: %s: %s", type(error).__name__, error, exc_info=error)


def said(partitions: Sequence[TopicPartition]) -> str:
    """Partitions as a message names them."""
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))


def _extent(batch: SinkBatch) -> str:
    """Which records a batch holds, for a message."""
    begin, end = batch.first_offsets(), batch.next_offsets()
    return "".join(f" of {said([partition])}@{begin[partition]}-{end[partition] - 1}" for partition in sorted(begin))
