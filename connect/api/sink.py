"""Sink tasks: they receive batches of consumed records and write them to one system."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import ClassVar, Protocol

from connect.api.metrics import PluginMetrics
from connect.api.plugin import Plugin
from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition

#: For topic partitions the offset of the next record: one after the last that is meant.
Offsets = Mapping[TopicPartition, int]


class ErrantRecordReporter(Protocol):
    """Passes single records to the error policy (KIP-610)."""

    def report(self, record: SinkRecord, error: Exception) -> None:
        """This record cannot be written.

        Returns when the policy has accepted it; raises when the policy fails the task.
        """


class SinkTaskContext(Protocol):
    """The runtime's services for a sink task. All methods are for the task's own thread."""

    @property
    def connector(self) -> str:
        """The connector's name."""

    @property
    def task_id(self) -> int:
        """The task's number, from 0."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration as it was when the task was started, with secrets filled in."""

    @property
    def metrics(self) -> PluginMetrics:
        """See `PluginMetrics`."""

    @property
    def exit_stack(self) -> ExitStack:
        """Closed at the end, whatever happens: `self.context.exit_stack.callback(connection.close)`.

        The runtime closes it in the task's process and thread, in reverse order: after `stop`; or as soon as `start`
        has raised, and then `stop` is not called. Its elements receive the error that ends the task, as at the end of a
        `with`. Errors of closing are logged; the rest is closed anyway, and the error of `start` stays the task's. A
        process that is killed closes nothing.
        """

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The task's current partitions."""

    @property
    def errant_records(self) -> ErrantRecordReporter | None:
        """None when the connector's error policy accepts no records: then raise from `put`."""

    @property
    def one_batch(self) -> bool:
        """Whether the task lives for one batch, as with `engine=spark`: then `pre_commit` must hold nothing back."""

    def committed(self, *partitions: TopicPartition) -> Offsets:
        """What the consumer group has committed of these partitions, if anything.

        For an `open` that compares it with the target. Raises `ConnectError` when Kafka does not answer.
        """

    def offsets_at(self, timestamp: int, *partitions: TopicPartition) -> Offsets:
        """For each partition the first offset whose record has this timestamp or a later one; else its end.

        For an `open` that begins elsewhere than the consumer group says. Raises `ConnectError` when Kafka does not
        answer. With `engine=spark` it knows nothing: the query has decided where it begins.

        Args:
            timestamp: in milliseconds since 1970 (UTC).
            partitions: of the assignment.
        """

    def rewind(self, offsets: Offsets) -> None:
        """Consume these partitions from these offsets next. Where `open` says where to begin, that counts."""

    def timeout(self, milliseconds: int) -> None:
        """Before `RetriableError` is raised from `put`: how long to wait.

        Otherwise: call `put` again after at most this time.
        """

    def pause(self, *partitions: TopicPartition) -> None:
        """Consume nothing of these partitions, until `resume`."""

    def resume(self, *partitions: TopicPartition) -> None:
        """Consume these partitions again."""

    def request_commit(self) -> None:
        """Commit offsets soon, not only at the next `offset.flush.interval.ms`."""


class SinkTask(Plugin):
    """Writes batches of records to one system.

    One instance lives in one process of its own and is called from one thread, in this order:

        start -> open -> (put | pre_commit)* -> close -> ... -> stop

    `open` and `close` come in pairs as partitions are assigned and revoked, before and after all other calls about
    them. `put` owns the batch until it returns. Returning means "accepted", not "durable": `pre_commit` says what is
    durable. After a `RetriableError` from `put` the same batch is put again after a pause; any other error fails the
    task, and the offsets of this batch are not committed.

    A sink that stores its consumed offsets with its data writes both atomically and returns from `open` what it finds
    in the target; the consumer is placed there, and Kafka's own committed offsets are only a report for lag tools. Its
    `open` also claims the partitions in the target so that a late write of an earlier owner is refused (P3, P10).

    Attributes:
        context: see `SinkTaskContext`; set before `start`.
        atomic: a `put` that raises has written nothing of its batch.
        idempotent: writing a record twice is the same as writing it once. With either, `errors.put.tolerance=all` may
            put parts of a batch again whose `put` raised, to find the bad record.
        records_at_once: the maximum number of records of a batch where `max.poll.records` is not set; None for the
            general default. More is for tasks with high costs for a batch, however many records it has.
        single: the target supports one task at a time, as a file does. Where `tasks.max` is not set, an engine that
            would run several, such as Spark, runs one.

    Source: Kafka Connect's SinkTask (KIP-26, KIP-89).
    """

    context: SinkTaskContext
    atomic: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    records_at_once: ClassVar[int | None] = None
    single: ClassVar[bool] = False

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Open resources. Raising fails the task; what was opened by then is closed by `context.exit_stack`."""

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        """These partitions now belong to the task.

        Returns:
            for the partitions that the target knows, where to continue; None leaves the position to the consumer group.
        """
        return None

    @abstractmethod
    def put(self, batch: SinkBatch) -> None:
        """Accept a batch. Called regularly with an empty batch, for time-based work."""

    def pre_commit(self, offsets: Offsets) -> Offsets:
        """Make accepted records durable and return up to where everything is, in the target.

        Called every `offset.flush.interval.ms`, before partitions are revoked and at the end. After a `RetriableError`
        it is called again at the next occasion; another error fails the task. The result is committed to Kafka.

        A task may hold records back, until a file is large enough or a time is over, and return where they begin. Not
        so with `context.one_batch`: then everything has to be durable, and a slow target raises `RetriableError`. A
        task that still returns less is called again for a while, between empty puts, and then failed as one that cannot
        run there.

        Args:
            offsets: for each partition the offset after the last record that was put.
        """
        self.flush(offsets)
        return offsets

    def flush(self, offsets: Offsets) -> None:
        """Make everything durable that was put. Enough for a sink that does not override `pre_commit`."""

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions no longer belong to the task; what was durable is committed. Forget the rest about them.

        Called as well when the partitions were lost: then another task may own them already. Write nothing.
        """

    def stop(self) -> None:
        """Release what is not on `context.exit_stack`. Called once, if `start` returned, also after a later error."""
