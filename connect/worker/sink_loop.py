"""The loop of a sink task: consume, convert, transform, put, commit.

A batch's offsets are committed only when the task has said that they are durable (P1). A batch that `put` refused for
now is held and put again, while the consumer stays in its group with all partitions paused.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.delivery.retrying_consumer import SinkConsumer
from connect.delivery.sink import NO_RECORDS, SinkDelivery
from connect.delivery.traced_meters import sink_meter
from connect.errors import ConnectError, RetriableError
from connect.kafka.reading.consume import RebalanceListener
from connect.plugins.lifetime import Lifetime
from connect.worker.control import Control
from connect.worker.loop import Loop
from connect.worker.progress import ProgressReport
from connect.worker.sink_offsets import SinkOffsets
from connect.worker.sink_partitions import SinkPartitions

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long a quiet consumer that cannot be woken waits before it looks at what the worker wants.
_POLL_S = 0.2
#: How long after a put an empty one comes: a share of the time since the last record, so that a topic that is quiet for
#: long costs little.
_EMPTY_PUT_SHARE = 0.1
_EMPTY_PUT_S = (1.0, 5.0)
#: How long a commit waits for records that went to error topics.
_SETTLE_S = 2.0


class SinkLoop(Loop):
    """Runs one sink task. See `Loop`.

    Args:
        delivery: has the task, with its context set, not started.
        config: the task's configuration.
        make_consumer: called once with this loop as listener, after the task has started.
        control, report: see `Loop`.
        commit_interval: seconds between commits.
    """

    log = logging.getLogger("connect.worker.sink")
    offsets_wait = "offsets are not committed"

    def __init__(
        self,
        delivery: SinkDelivery,
        config: Mapping[str, str],
        make_consumer: Callable[[RebalanceListener], SinkConsumer],
        control: Control,
        report: ProgressReport,
        commit_interval: float,
    ) -> None:
        super().__init__(control, report)
        self._delivery = delivery
        self._task = delivery.task
        self._life = Lifetime(delivery.task)
        self._config = config
        self._make_consumer = make_consumer
        self._commit_interval = commit_interval
        self._offsets = SinkOffsets()
        self.partitions = SinkPartitions(control, self._offsets)
        self._held: SinkBatch | None = None
        self._refusal = ""
        self._lag_seen = (-1, 0)  # records taken, and how many waited when that was looked at
        self._commit_due = 0.0
        self._longest_poll = _POLL_S
        self._put_due = 0.0
        self._moved_at = 0.0  # when a record came last
        self._meter = sink_meter(report.registry, report.labels, report.traces)
        self._meter.watch(delivery.chain)

    # What others look at.

    def measure(self, report: ProgressReport) -> None:
        counts = self._delivery.chain.policy.counts
        report.errors = counts.errors
        self._meter.errors(counts)
        if self.partitions.there:
            report.lag = self.partitions.consumer.lag()
            behind = self._offsets.uncommitted()
            self._meter.progress(len(self.partitions.assignment), sum(behind), max(behind, default=0))

    def moved(self) -> object:
        return self._report.records

    def waiting(self) -> str:
        held, lag = self._held, self._report.lag
        if self._report.records != self._lag_seen[0]:
            self._lag_seen = (self._report.records, lag)
        if held is not None:
            return f"put refuses the {len(held)} records that it got: {self._refusal}"
        if self.partitions.paused_by_task and lag > 0:
            return f"{lag} records wait and the task has paused their partitions"
        # The end of a partition may be markers of transactions, which are not records: only what came since counts.
        return f"{lag} records wait" if lag > max(0, self._lag_seen[1]) else ""

    # The loop.

    def _start(self) -> bool:
        self._life.start(self._config)
        consumer = self.partitions.consumer = self._make_consumer(self)
        if consumer.can_be_woken:
            self._control.wake_by(consumer.wake)
            self._longest_poll = _EMPTY_PUT_S[1]
        self._moved_at = time.monotonic()
        self._commit_due = self._moved_at + self._commit_interval
        self._paused = self._control.paused
        self._follow_state()
        return self._paused

    def _turn(self) -> None:
        now = time.monotonic()
        if self._delivery.commit_wanted or now >= self._commit_due:
            self._commit(list(self.partitions.assignment))
        if self._held is not None:
            self._deliver_held(self._held)
            return
        put_due = self._next_put()
        due = self._commit_due if self._paused else min(put_due, self._commit_due)
        self._control.set_activity("poll")
        polled_at = time.monotonic()
        batch = self.partitions.consumer.poll(min(self._longest_poll, max(0.0, due - now)))
        if not self.partitions.assignment:
            self.partitions.tell_membership()
        if batch is not None:
            self._offsets.consumed(batch, self.partitions.consumer.positions())
            self._report.read += len(batch)
            self._meter.consumed(batch, time.monotonic() - polled_at)
            self._report.used(batch.topics)
            self._control.set_activity("The pipeline")
            self._deliver(self._delivery.convert(batch))
        elif now >= put_due and not self._paused:
            self._offsets.nothing_in_hand()
            self._control.await_lease()
            self._deliver(NO_RECORDS)

    def _next_put(self) -> float:
        """The latest time of the next put, on the monotonic clock."""
        return min(self._put_due, self._delivery.put_by)

    def _deliver(self, batch: SinkBatch) -> None:
        began = time.monotonic()
        if len(batch):
            self._moved_at = began
        least, most = _EMPTY_PUT_S
        self._put_due = began + min(max(least, (began - self._moved_at) * _EMPTY_PUT_SHARE), most)
        refused = self._delivery.put(batch)
        if refused is not None:
            self._hold(*refused)
            return
        self._waiter.goes_on()
        if len(batch):
            self._report.records += len(batch)
            self._meter.put(len(batch), time.monotonic() - began)
        self._offsets.taken()

    def _hold(self, batch: SinkBatch, error: RetriableError) -> None:
        wait = self._delivery.wait
        self.log.debug("%s Trying again in %.3g s; consumption is paused.", error, wait)
        self._refusal = str(error)
        self._waiter.waits(self._refusal, what=error.waits_for)
        self._held = batch
        self._put_due = time.monotonic() + wait
        self._follow_state()

    def _deliver_held(self, batch: SinkBatch) -> None:
        left = self._next_put() - time.monotonic()
        if left > 0:
            # All partitions are paused: this only keeps us in the group.
            self.partitions.consumer.poll(min(self._longest_poll, left))
            return
        self._control.await_lease()  # a commit in this turn may have outlasted the lease
        self._held = None
        self._deliver(batch)
        self._follow_state()

    def _pause(self) -> bool:
        self._follow_state()
        self._commit(list(self.partitions.assignment))
        return True

    def _resume(self) -> bool:
        self._follow_state()
        return True

    def _follow_state(self) -> None:
        """Consume unless the task is paused or has refused a batch."""
        self.partitions.consume(not self._paused and self._held is None)

    # Committing.

    def _commit(self, partitions: Sequence[TopicPartition]) -> None:
        """Ask the task what is durable and commit that. A commit that fails is tried again next time."""
        self._delivery.commit_wanted = False
        self._commit_due = time.monotonic() + self._commit_interval
        offsets = self._offsets
        given = offsets.to_ask(partitions)
        if not given or not self._settled():
            return
        if not self._control.holds_lease():
            self._meter.commit_skipped()
            return
        self._meter.active(sum(offsets.uncommitted()))
        began = time.monotonic()
        try:
            durable = self._delivery.pre_commit(given, offsets.committed)
        except RetriableError as error:
            self._offsets_failed(str(error))
            return
        self._meter.pre_committed(time.monotonic() - began)
        changed = offsets.to_commit(given, durable)
        if not changed or not self._settled():
            return
        if not self._control.holds_lease():
            self._meter.commit_skipped()
            return
        began = time.monotonic()
        try:
            self.partitions.consumer.commit(changed)
        except ConnectError as error:
            self._meter.committed("failure", time.monotonic() - began)
            self._offsets_failed(str(error))
            return
        self._meter.committed("success", time.monotonic() - began, changed)
        self._offsets_stored()
        offsets.committed.update(changed)
        self._delivery.committed({p: offsets.committed.get(p, 0) for p in offsets.given})

    def _settled(self) -> bool:
        """Whether everything for error topics is durable. If not, offsets are committed next time."""
        if self._delivery.settled(_SETTLE_S):
            return True
        self._offsets_failed("The broker has not yet acknowledged records that failed.")
        return False

    # The consumer's listener.

    def assigned(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        """Open partitions; begin at the position that the task's target knows, if it does."""
        self._control.set_activity("")  # the task's own work, in the consumer's poll
        known = self.partitions.open_by(self._task, partitions)
        self._offsets.known({p: offset for p, offset in (known or {}).items() if p in partitions})
        self.partitions.came(partitions)
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
        """Close partitions and forget their offsets."""
        self._control.set_activity("")
        self.partitions.went(partitions)
        if self._held is not None:
            self._held = self._held.without(set(partitions))
        self._task.close(partitions)

    # The end.

    def _last_steps(self) -> Sequence[Callable[[], object]]:
        """Commit what is durable and give the partitions back, then end the task."""
        last = (self.partitions.leave, self._life.end, self._delivery.chain.close, self._delivery.close)
        return (*last, self._meter.ends)

    def _fails(self, error: BaseException) -> None:
        self._meter.ends(type(error).__name__)
