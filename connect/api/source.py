"""Source tasks: they read one part of a system and return records to the runtime."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, NamedTuple, Protocol

from connect.api.metrics import PluginMetrics
from connect.api.plugin import Plugin
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord


class RecordMetadata(NamedTuple):
    """The topic partition and offset of a written record; -1 where brokers do not tell the offset (acks=0)."""

    topic: str
    partition: int
    offset: int


class TransactionContext(Protocol):
    """Defines where transactions end, with `transaction.boundary=connector` (KIP-618)."""

    def commit(self, record: SourceRecord | None = None) -> None:
        """End the transaction after this record of the batch being polled, or after the whole batch."""

    def abort(self, record: SourceRecord | None = None) -> None:
        """Discard the transaction up to this record, or the whole batch. Its offsets still advance."""


class SourceTaskContext(Protocol):
    """The runtime's services for a source task."""

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
    def transaction(self) -> TransactionContext | None:
        """None unless the task defines its transactions' boundaries."""

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The last stored offset of a source partition, None when there is none. Asks the worker: some milliseconds."""

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """The same for several at once, in one request."""

    def stopping(self) -> bool:
        """Whether the runtime wants `poll` to return soon. Thread-safe."""


class SourceTask(Plugin):
    """Reads one part of a system.

    One instance lives in one process of its own and is called from one thread, in this order:

        start -> (poll | commit | commit_record)* -> stop

    `poll` is called again as soon as the broker can accept more; while the connector is paused it is not called.

    Delivery: a record's source offset is stored only when every record before it, in the order of `poll`, is
    acknowledged by all in-sync replicas. After a crash reading continues at stored offsets, so later records are read
    again.

    Attributes:
        context: see `SourceTaskContext`; set before `start`.
        acknowledges_records: whether `commit_record` is called, which costs about 0.5 us a record; see
            `acknowledged_rows`.

    Source: Kafka Connect's SourceTask (KIP-26, KIP-89).
    """

    context: SourceTaskContext
    acknowledges_records: ClassVar[bool] = False

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Open resources and read `self.context.offset(...)`.

        Raising fails the task; what was opened by then is closed by `context.exit_stack`.
        """

    @abstractmethod
    def poll(self) -> SourceBatch | Iterable[SourceRecord] | None:
        """Return the next records, or None when there are none yet.

        May wait for them for about a second, checking `context.stopping()`; the runtime waits a little itself after
        None. After a `RetriableError` it is called again after a pause; any other error fails the task.
        """

    def commit(self) -> None:
        """Everything returned so far is acknowledged and its offsets are durable: the upstream may forget it (P2)."""

    def acknowledged_rows(self, batch: SourceBatch) -> Sequence[int] | None:
        """The rows of a batch just polled for which `commit_record` is called; None for all.

        For a task with `acknowledges_records` that needs only some: the others cost nothing then.
        """
        return None

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """A record was acknowledged; or dropped by a transformation or the error policy, then metadata is None."""

    def stop(self) -> None:
        """Release what is not on `context.exit_stack`; `poll` is not running.

        Called once, if `start` returned, also after a later error.
        """
