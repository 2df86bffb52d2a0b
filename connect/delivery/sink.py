"""Puts batches to a sink task: converted, whole or in halves, repeated if needed; and asks it what is durable.

For a worker's loop and for Spark's executors. It neither waits nor consumes: that is for its callers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Final

from connect.api.sink import Offsets, SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.delivery.error_outputs import NoErrorOutputs
from connect.errors import FencedError, RetriableError
from connect.pipeline import Chain, Failure, Stage
from connect.pipeline.errant import NotHanded, PolicyReporter
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.pipeline.failure import qualified_name
from connect.pipeline.put_halving import Refused, put_in_parts

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long before a put that was refused comes again, unless its task says.
_RETRY_S: Final = 3.0

#: What the next record would meet as well: to give up one after another would lose all that come.
_OF_NO_RECORD: Final = frozenset({ErrorKind.PASSING, ErrorKind.ACCESS, ErrorKind.CONFIGURATION})

NO_RECORDS: Final = SinkBatch("", Values([]), offsets=[])


class SinkDelivery:
    """The puts and pre_commits of one sink task. For one thread.

    Args:
        task: created, not started.
        chain: bytes -> values -> transformations, with the error policy.
        may_go_on: called before each put; returns when it may begin, and raises to end the task.
        errors: the outputs for records that the policy accepts. Nothing is put after a record that is not durable there
            (P1).
        reporter: the task's, if it has one.
        halve: whether a put that fails for good is halved until its bad record is alone.

    Attributes:
        task, chain, reporter: see there.
        put_by: the latest time of the next put that the task wants, on the monotonic clock.
        commit_wanted: whether it wants its offsets committed soon.
        given_up: the number of records that its puts refused.
    """

    def __init__(
        self,
        task: SinkTask,
        chain: Chain,
        may_go_on: Callable[[], None],
        errors: NoErrorOutputs | None = None,
        reporter: PolicyReporter | None = None,
        *,
        halve: bool = False,
    ) -> None:
        self.task = task
        self.chain = chain
        self.reporter = reporter
        self.put_by = math.inf
        self.commit_wanted = False
        self.given_up = 0
        self._may_go_on = may_go_on
        self._errors = errors or NoErrorOutputs()
        self._halve = halve
        self._wait: float | None = None
        self._handed = NotHanded() if reporter is None else reporter.handed
        self._handed.commit_soon = self.request_commit

    def convert(self, batch: SinkBatch) -> SinkBatch:
        """The records for the task from a consumed batch. Returns when they may be put.

        Raises:
            RecordError: a record failed and errors are not tolerated.
        """
        changed = self.chain.run(batch)
        self._errors.settle()
        self._may_go_on()  # retries in the chain may have taken long
        return changed

    def put(self, batch: SinkBatch) -> Refused | None:
        """Put a batch.

        Returns:
            what to put again after `wait` seconds; None when everything was accepted or given up.
        """
        self._wait, self.put_by = None, math.inf
        batch = self._without_parked(batch)  # it may be the rest of one of which a record was parked
        self._handed.take(batch)
        try:
            self.task.put(batch)
        except RetriableError as error:
            return Refused(batch, error)
        except Exception as error:  # plug-ins raise anything
            if not self._halve or not len(batch) or _is_no_records_fault(error):
                raise
        else:
            return None
        return put_in_parts(self._put_part, batch, self._give_up, self._without_parked)

    @property
    def wait(self) -> float:
        """Seconds to wait after the task refused something."""
        return _RETRY_S if self._wait is None else self._wait

    def settled(self, seconds: float) -> bool:
        """Wait this long until all failed records are durable where they went (P1). Whether they are."""
        return self._errors.settled(seconds)

    def settle(self) -> None:
        """Wait for that."""
        self._errors.settle()

    def pre_commit(self, offsets: Offsets, committed: Offsets) -> Offsets:
        """Ask the task up to where all is durable. Raises RetriableError where it cannot answer now.

        Args:
            offsets: for each partition the offset after the last record that was put.
            committed: what is already committed.

        Returns:
            what may be committed, once all is settled.
        """
        self._wait = None
        return self._errors.in_order(offsets, self.task.pre_commit(dict(offsets)) or {}, committed)

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """All records before these offsets are done. A partition that is not named is not assigned."""
        self._handed.committed(offsets)

    def close(self) -> None:
        """Close the outputs for failed records."""
        self._errors.close()

    # The task's part, by its context.

    def timeout(self, milliseconds: int) -> None:
        """See `SinkTaskContext.timeout`."""
        self._wait = milliseconds / 1000
        self.put_by = min(self.put_by, time.monotonic() + self._wait)

    def request_commit(self) -> None:
        """See `SinkTaskContext.request_commit`."""
        self.commit_wanted = True

    def _without_parked(self, part: SinkBatch) -> SinkBatch:
        """The records that are not behind a parked one of their key. The others are parked, and durable (P1)."""
        left: SinkBatch = self.chain.policy.hold_back(part)
        self._errors.settle()
        return left

    def _put_part(self, part: SinkBatch) -> None:
        self._may_go_on()
        self.task.put(part)

    def _give_up(self, one: SinkBatch, error: Exception) -> None:
        """`put` refuses this record. Raises the error where the record is not at fault."""
        if _is_no_records_fault(error):
            raise error
        self.given_up += 1
        policy, task = self.chain.policy, type(self.task)
        policy.counts.failures += 1
        policy.reject(Failure(Stage.TASK_PUT, task.__name__, error, one.records()[0], one, qualified_name(task)))
        self._errors.settle()


def _is_no_records_fault(error: Exception) -> bool:
    return isinstance(error, FencedError) or kind_of(error) in _OF_NO_RECORD
