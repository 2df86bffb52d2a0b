"""The loop of a sink task: consume, convert, transform, put, commit.

A batch's offsets are committed only when the task said that they are durable (P1). A batch that `put` refused for now
is held and handed in again, while the consumer stays in its group with all partitions paused.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.delivery.retrying_consumer import SinkConsumer
from connect.errors import ConnectError, RetriableError
from connect.kafka.consume import RebalanceListener
from connect.pipeline import Chain, Failure, Stage
from connect.pipeline.errant import Handed, PolicyReporter
from connect.pipeline.error_topics import ErrorTopics
from connect.pipeline.failure import qualified_name
from connect.pipeline.put_halving import put_in_parts
from connect.worker.control import Control
from connect.worker.loop import Loop
from connect.worker.messages import LeftGroup, Membership
from connect.worker.meter import SinkMeter
from connect.worker.progress import ProgressReport

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long a quiet consumer that cannot be woken waits before it looks at what the worker wants.
_POLL_S = 0.2
#: How long after a put an empty one comes: a share of the time since the last record, so that a topic that is quiet for
#: long costs little.
_EMPTY_PUT_SHARE = 0.1
_EMPTY_PUT_S = (1.0, 5.0)
_RETRY_S = 3.0
#: How long a commit waits for records that went to error topics.
_SETTLE_S = 2.0
_NO_RECORDS = SinkBatch("", Values([]), offsets=[])

#: What may be committed, of: up to where the task was given everything, what is durable, what is committed already.
InOrder = Callable[
    [Mapping[TopicPartition, int], Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
    Mapping[TopicPartition, int],
]


class SinkLoop(Loop):
    """Runs one sink task. See `Loop`.

    Args:
        task: made, with its context set, not started.
        config: the task's configuration.
        chain: bytes -> values -> transformations.
        make_consumer: called once with this loop as listener, after the task has started.
        control, report: see `Loop`.
        commit_interval: seconds between commits.
        error_topics: where records go that the error policy takes, if anywhere. Nothing is put or committed
            behind a record that is not durable there (P1).
        reporter: the task's, if it has one.
        in_order: see `InOrder`.
        halve_puts: whether a put that fails for good is halved until its bad record is alone.
    """

    log = logging.getLogger("connect.worker.sink")
    offsets_wait = "offsets are not committed"

    def __init__(
        self,
        task: SinkTask,
        config: Mapping[str, str],
        chain: Chain,
        make_consumer: Callable[[RebalanceListener], SinkConsumer],
        control: Control,
        report: ProgressReport,
        commit_interval: float,
        error_topics: ErrorTopics | None = None,
        reporter: PolicyReporter | None = None,
        in_order: InOrder = lambda current, durable, committed: durable,  # noqa: ARG005 - none is kept
        *,
        halve_puts: bool = False,
    ) -> None:
        super().__init__(control, report)
        self._task = task
        self._config = config
        self._chain = chain
        self._make_consumer = make_consumer
        self._commit_interval = commit_interval
        self._error_topics = error_topics
        self._in_order = in_order
        self._halve_puts = halve_puts
        self._handed: Handed | None = None
        if error_topics is not None and reporter is not None:
            reporter.handed = self._handed = Handed(self.commit_soon)
        self._consumer: SinkConsumer | None = None
        self._member: str | None = None
        self._delivered: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._held: SinkBatch | None = None
        self._after: dict[TopicPartition, int] = {}  # where we are once the batch in hand is taken
        self._refusal = ""
        self._lag_seen = (-1, 0)  # records taken, and how many waited when that was looked at
        self._paused_by_task: set[TopicPartition] = set()
        self._commit_due = 0.0
        self._commit_soon = False
        self._longest_poll = _POLL_S
        self._put_due = 0.0
        self._moved_at = 0.0  # when a record came last
        self._retry_in: float | None = None
        self._meter = SinkMeter(report.registry, report.labels)
        self._meter.watch(chain)
        self._first: dict[TopicPartition, int] = {}  # where the first record of each partition was

    # The context's part.

    @property
    def consumer(self) -> SinkConsumer:
        """The consumer, once the task has started."""
        assert self._consumer is not None
        return self._consumer

    def rewind(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See `SinkTaskContext.rewind`."""
        self.consumer.seek(offsets)
        ours = {p: o for p, o in offsets.items() if p in self.consumer.assignment}
        self._delivered.update(ours)
        self._after.update(ours)  # it may come out of the `put` that takes the batch in hand
        for partition in ours:
            self._committed.pop(partition, None)

    def timeout(self, milliseconds: int) -> None:
        """See `SinkTaskContext.timeout`."""
        self._retry_in = milliseconds / 1000
        self._put_due = min(self._put_due, time.monotonic() + self._retry_in)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """See `SinkTaskContext.pause`."""
        self._paused_by_task.update(partitions)
        self.consumer.pause(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """See `SinkTaskContext.resume`."""
        self._paused_by_task.difference_update(partitions)
        self._consume_again(partitions)

    def _consume_again(self, partitions: Iterable[TopicPartition]) -> None:
        """Have partitions consumed again, but for those that somebody else wants paused."""
        if not self._paused and self._held is None:
            self.consumer.resume([partition for partition in partitions if partition not in self._paused_by_task])

    def measure(self, report: ProgressReport) -> None:
        report.errors = self._chain.policy.counts.errors
        self._meter.errors(self._chain.policy.counts)
        if self._consumer is not None:
            report.lag = self._consumer.lag()
            behind = self._uncommitted()
            self._meter.progress(len(self._consumer.assignment), sum(behind), max(behind, default=0))

    def _uncommitted(self) -> list[int]:
        """How many offsets of each partition the task was given and has not committed."""
        after = {**self._delivered, **self._after}
        return [
            max(0, offset - self._committed.get(partition, self._first.get(partition, offset)))
            for partition, offset in after.items()
        ]

    def moved(self) -> object:
        return self._report.records

    def waiting(self) -> str:
        held, lag = self._held, self._report.lag
        if self._report.records != self._lag_seen[0]:
            self._lag_seen = (self._report.records, lag)
        if held is not None:
            return f"put does not take the {len(held)} records that it was given: {self._refusal}"
        if self._paused_by_task and lag > 0:
            return f"{lag} records wait and the task has paused their partitions"
        # The end of a partition may be markers of transactions, which are no records: only what came since counts.
        return f"{lag} records wait" if lag > max(0, self._lag_seen[1]) else ""

    def commit_soon(self) -> None:
        """See `SinkTaskContext.request_commit`."""
        self._commit_soon = True

    # The loop.

    def _start(self) -> bool:
        self._task.start(self._config)
        self._consumer = self._make_consumer(self)
        if self._consumer.can_be_woken:
            self._control.wake_by(self._consumer.wake)
            self._longest_poll = _EMPTY_PUT_S[1]
        self._moved_at = time.monotonic()
        self._commit_due = self._moved_at + self._commit_interval
        self._paused = self._control.paused  # nothing is assigned yet that would have to be paused
        return self._paused

    def _turn(self) -> None:
        now = time.monotonic()
        if self._commit_soon or now >= self._commit_due:
            self._commit(list(self.consumer.assignment))
        if self._held is not None:
            self._deliver_held()
            return
        due = self._commit_due if self._paused else min(self._put_due, self._commit_due)
        self._control.set_activity("poll")
        batch = self.consumer.poll(min(self._longest_poll, max(0.0, due - now)))
        if not self.consumer.assignment:
            self._tell_membership()
        if batch is not None:
            self._after = self.consumer.positions()
            self._report.read += len(batch)
            self._meter.consumed(batch)
            if not self._after.keys() <= self._first.keys():
                self._first = {**batch.first_offsets(), **self._first}
            self._report.used(batch.topics)
            self._control.set_activity("The pipeline")
            batch = self._chain.run(batch)
            if self._error_topics is not None:
                self._error_topics.settle()
            self._control.await_lease()  # retries in the chain may have outlasted the lease
            self._deliver(batch)
        elif now >= self._put_due and not self._paused:
            self._after = {}
            self._control.await_lease()
            self._deliver(_NO_RECORDS)

    def _deliver(self, batch: SinkBatch) -> None:
        began = time.monotonic()
        if len(batch):
            self._moved_at = began
        least, most = _EMPTY_PUT_S
        self._put_due = began + min(max(least, (began - self._moved_at) * _EMPTY_PUT_SHARE), most)
        self._retry_in = None
        if self._handed is not None:
            self._handed.take(batch)
        try:
            self._task.put(batch)
        except RetriableError as error:
            self._hold(batch, error)
            return
        except Exception:
            if not self._halve_puts or not len(batch):
                raise
            refused = put_in_parts(self._put_part, batch, self._give_up, self._chain.policy.hold_back)
            if refused is not None:
                self._hold(*refused)
                return
        self._waiter.goes_on()
        if len(batch):
            self._report.records += len(batch)
            self._meter.put(len(batch), time.monotonic() - began)
        self._delivered.update(self._after)

    def _put_part(self, part: SinkBatch) -> None:
        self._control.await_lease()
        self._task.put(part)

    def _give_up(self, one: SinkBatch, error: Exception) -> None:
        """`put` does not take this record."""
        policy, task = self._chain.policy, type(self._task)
        policy.counts.failures += 1
        policy.reject(Failure(Stage.TASK_PUT, task.__name__, error, one.records()[0], one, qualified_name(task)))
        if self._error_topics is not None:
            self._error_topics.settle()

    def _hold(self, batch: SinkBatch, error: RetriableError) -> None:
        wait = _RETRY_S if self._retry_in is None else self._retry_in
        self.log.debug("%s Trying again in %.3g s; consumption is paused.", error, wait)
        self._refusal = str(error)
        self._waiter.waits(self._refusal, what=error.waits_for)
        self._held = batch
        self._put_due = time.monotonic() + wait
        self.consumer.pause(self.consumer.assignment)

    def _deliver_held(self) -> None:
        left = self._put_due - time.monotonic()
        if left > 0:
            # All partitions are paused: this only keeps us in the group.
            self.consumer.poll(min(self._longest_poll, left))
            return
        batch = self._held
        assert batch is not None
        self._held = None
        self._deliver(batch)
        if self._held is None:
            self._consume_again(self.consumer.assignment)

    def _pause(self) -> bool:
        self.consumer.pause(self.consumer.assignment)
        self._commit(list(self.consumer.assignment))
        return True

    def _resume(self) -> bool:
        self._consume_again(self.consumer.assignment)
        return True

    # Committing.

    def _commit(self, partitions: Sequence[TopicPartition]) -> None:
        """Ask the task what is durable and commit that. A commit that fails is tried again next time."""
        self._commit_soon = False
        self._commit_due = time.monotonic() + self._commit_interval
        current = {p: self._delivered[p] for p in partitions if p in self._delivered}
        if not any(self._committed.get(p) != offset for p, offset in current.items()) or not self._settled_aside():
            return
        self._meter.active(sum(self._uncommitted()))
        began = time.monotonic()
        try:
            durable = self._task.pre_commit(current) or {}
        except RetriableError as error:
            self._offsets_failed(str(error))
            return
        self._meter.pre_committed(time.monotonic() - began)
        durable = self._in_order(current, durable, self._committed)
        changed = {
            p: min(offset, current[p])
            for p, offset in durable.items()
            if p in current and self._committed.get(p) != offset
        }
        if not changed or not self._settled_aside():
            return
        if not self._control.holds_lease():
            self._meter.commit_skipped()
            return
        began = time.monotonic()
        try:
            self.consumer.commit(changed)
        except ConnectError as error:
            self._meter.committed("failure", time.monotonic() - began)
            self._offsets_failed(str(error))
            return
        self._meter.committed("success", time.monotonic() - began)
        self._offsets_stored()
        self._committed.update(changed)
        if self._handed is not None:
            self._handed.committed({p: self._committed.get(p, 0) for p in self._delivered})

    def _settled_aside(self) -> bool:
        """Whether all that went to error topics is durable. If not, offsets are committed next time."""
        if self._error_topics is None or self._error_topics.settled(_SETTLE_S):
            return True
        self._offsets_failed("The broker has not yet acknowledged records that failed.")
        return False

    # The consumer's listener.

    def assigned(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        """Open partitions; begin where the task's target says, if it does."""
        self._control.set_activity("")  # the task's own work, in the consumer's poll
        known = self._task.open(partitions)
        if known:
            self._delivered.update({p: o for p, o in known.items() if p in partitions})
        if self._paused or self._held is not None:
            self.consumer.pause(partitions)
        self._tell_membership()
        return known

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """Commit what is durable, then close."""
        self._control.set_activity("")
        try:
            if self._control.holds_lease():
                self._commit(partitions)
        finally:
            self.lost(partitions)

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """Close partitions and forget what was taken of them."""
        self._control.set_activity("")
        for partition in partitions:
            self._delivered.pop(partition, None)
            self._committed.pop(partition, None)
            self._after.pop(partition, None)
            self._first.pop(partition, None)
            self._paused_by_task.discard(partition)
        if self._held is not None:
            self._held = self._held.without(set(partitions))
        self._task.close(partitions)

    # The end.

    def _last_steps(self) -> Sequence[Callable[[], object]]:
        """Commit what is durable and give the partitions back, then stop the task."""
        return [self._leave, self._task.stop, self._chain.close, self._close_aside]

    def _close_aside(self) -> None:
        if self._error_topics is not None:
            self._error_topics.close(_SETTLE_S)

    def _leave(self) -> None:
        if self._consumer is not None:
            self._tell_membership()  # it may be joining, and have to stay
            if self._consumer.close():
                self._control.send(LeftGroup())

    def _tell_membership(self) -> None:
        """Tell the worker of our member of the group as soon as there is one."""
        consumer = self.consumer
        member = consumer.member_id or ("" if consumer.instance_id else None)
        if member is not None and member != self._member:
            self._member = member
            self._control.send(Membership(consumer.group, member, consumer.instance_id))
