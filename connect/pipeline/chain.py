"""Runs a batch through converters and transformations, and finds the bad record when one of them fails.

Errors cost nothing on the good path: a batch runs whole. Only when a step raises is the batch halved until the bad
record is alone; that one goes to the error policy, the others continue. A step that is not pure (it may have state) is
run record by record from the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from connect.api.transformation import StoppedAt
from connect.data.batch import Batch
from connect.pipeline.failure import Failure, Stage
from connect.pipeline.policy import ErrorPolicy
from connect.pipeline.tap import Tap

B = TypeVar("B", bound=Batch[Any])


class Step(Protocol):
    """One operation on a batch.

    Attributes:
        stage: for messages and metrics.
        operation: the class that does the work, for messages.
        class_name: that class by its Java name, if it has one, for dead letters. Optional.
        apply_one: None when a part of the batch may be run again; else the operation on one record, which is called
            once for each.
    """

    @property
    def stage(self) -> Stage: ...

    @property
    def operation(self) -> str: ...

    @property
    def apply_one(self) -> Callable[[Any], Any] | None: ...

    def run(self, batch: B) -> B:
        """The batch changed: same order, at most one row for each. Raises when any row is bad."""

    def close(self) -> None:
        """Release the step's resources."""


class Chain:
    """Steps in order, with one error policy. For one thread.

    Attributes:
        watch: called after each step with the step and the seconds that it took for the batch.
        tap: shows single records on their way, while somebody looks.
    """

    watch: Callable[[Step, float], None] | None = None
    tap: Tap | None = None

    def __init__(self, steps: Sequence[Step], policy: ErrorPolicy) -> None:
        self.steps = list(steps)
        self.policy = policy
        self._failed: list[tuple[int, Failure]] = []  # rows of the batch in hand, with what became of them

    @property
    def keeps_nothing(self) -> bool:
        """Whether no step may remember records: it can have a record again, as where a failed write is repeated."""
        return all(step.apply_one is None for step in self.steps)

    def run(self, batch: B) -> B:
        """The result of the steps for a batch, without the records that were dropped or skipped.

        Failed records go to the policy at the end, in their order, whatever the steps at which they failed: as if one
        record after another had gone through all steps.

        Raises:
            RecordError: a record failed and errors are not tolerated.
        """
        self._failed = []
        watched = None if self.tap is None or not len(batch) else self.tap.begin(batch)
        for step in self.steps:
            if not len(batch):
                break
            one = step.apply_one
            began = time.perf_counter()
            batch = self._whole(step, batch) if one is None else self._one_by_one(step, one, batch)
            if self.watch is not None:
                self.watch(step, time.perf_counter() - began)
            if watched is not None:
                watched.after(step, batch, self._failed)
        if watched is not None:
            watched.end()
        for _, failure in sorted(self._failed, key=itemgetter(0)):
            self.policy.reject(failure)
        return self.policy.hold_back(batch) if self._failed else batch

    def close(self) -> None:
        """Close every step, whatever the others do."""
        errors = []
        for step in self.steps:
            try:
                step.close()
            except Exception as error:  # plug-ins raise anything
                errors.append(error)
        if errors:
            raise errors[0]

    def _whole(self, step: Step, batch: B) -> B:
        try:
            return step.run(batch)
        except Exception as error:  # plug-ins raise anything; the record alone will raise it again
            failed = error
        # Out of the handler: an error of a half is no consequence of this one, and its trace does not tell of it.
        if isinstance(failed, StoppedAt):
            return self._resumed(step, batch, failed)
        if len(batch) == 1:
            return self._alone(step, batch, failed)
        middle = len(batch) // 2
        return _joined(
            batch, [self._whole(step, batch.slice(0, middle)), self._whole(step, batch.slice(middle, len(batch)))]
        )

    def _resumed(self, step: Step, batch: B, stopped: StoppedAt) -> B:
        """The result of a step that says how far it came: the record at which it failed alone, then the others."""
        parts: list[B] = []
        begin = 0
        at: StoppedAt | None = stopped
        while at is not None:
            failed = begin + at.row
            parts += [at.done, self._alone(step, batch.slice(failed, failed + 1), at.error)]
            begin, at = failed + 1, None
            if begin == len(batch):
                break
            rest = batch.slice(begin, len(batch))
            try:
                parts.append(step.run(rest))
            except StoppedAt as again:
                at = again
            except Exception:  # of which it does not say where
                parts.append(self._whole(step, rest))
        return _joined(batch, parts)

    def _alone(self, step: Step, one: B, error: Exception) -> B:
        def again() -> B:
            try:
                return step.run(one)
            except StoppedAt as stopped:
                raise stopped.error from stopped.error.__cause__

        result: B | None = self.policy.attempt(again, error, self._give_up(step, one))
        return one.slice(0, 0) if result is None else result

    def _one_by_one(self, step: Step, apply: Callable[[Any], Any], batch: B) -> B:
        changed: list[Any] = []
        for row, record in enumerate(batch.records()):
            try:
                changed.append(apply(record))
            except Exception as error:  # plug-ins raise anything
                changed.append(self._again(step, apply, batch, row, error))
        return batch.with_records(changed)

    def _again(self, step: Step, apply: Callable[[Any], Any], batch: B, row: int, error: Exception) -> Any:
        record = batch.records()[row]
        one = batch.slice(row, row + 1)
        return self.policy.attempt(lambda: apply(record), error, self._give_up(step, one))

    def _give_up(self, step: Step, one: Batch[Any]) -> Callable[[Exception], None]:
        def note(error: Exception) -> None:
            name = getattr(step, "class_name", step.operation)
            failure = Failure(step.stage, step.operation, error, one.records()[0], one, name)
            rows: Any = getattr(one, "rows", (0,))
            self._failed.append((rows[0], failure))

        return note


def _joined(batch: B, parts: Sequence[B]) -> B:
    kept = [part for part in parts if len(part)]
    return type(batch).concat(kept) if kept else batch.slice(0, 0)
