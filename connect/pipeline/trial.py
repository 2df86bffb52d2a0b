"""Runs single records through a chain step by step and records the result of each. Nothing else happens.

No record is written, no offset moves, nothing is retried. The converters, transformations and predicates of the chain
are plug-in code and run in the process that calls this: a command's own, or one that a worker starts for it
(`connect.worker.trial_process`), never a worker's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connect.api.transformation import Predicate, StoppedAt
from connect.data.batch import Batch, SinkBatch, SourceBatch
from connect.data.record import Record, SinkRecord
from connect.errors import ConfigError, RetriableError
from connect.pipeline.chain import Chain, Step
from connect.pipeline.outcome import Outcome, StepFailure, StepResult, raw_after, title
from connect.pipeline.seen import PARTS, Part, Snapshot, changes
from connect.pipeline.steps import Transform


class Trial:
    """Tries records on a chain, one after another, as one task would see them. For one thread.

    Args:
        chain: of a connector; from now on used by this trial alone.
        dead_letters: the topic for records that are given up, for advice.
        retry_topic: the first retry topic, likewise.
        begins: called before each step with its title: for who wants to know which one does not return.
    """

    def __init__(
        self,
        chain: Chain,
        dead_letters: str | None = None,
        retry_topic: str | None = None,
        begins: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._chain = chain
        self._dead_letters = dead_letters
        self._retry_topic = retry_topic
        self._begins = begins
        self._answers: dict[int, _Answered] = {}
        for number, step in enumerate(chain.steps):
            if isinstance(step, Transform) and step.predicate is not None:
                self._answers[number] = step.predicate = _Answered(step.predicate)

    def run(self, record: Record) -> Outcome:
        """Try one record.

        Args:
            record: of a sink with bytes for key and value, and pairs of key and bytes for headers; of a source with
                values.
        """
        raw: frozenset[Part] = PARTS if isinstance(record, SinkRecord) else frozenset()
        before = now = Snapshot(record, raw)
        batch: Batch[Any] = SinkBatch.of([record]) if isinstance(record, SinkRecord) else SourceBatch.of([record])
        done: list[StepResult] = []
        for number, step in enumerate(self._chain.steps):
            self._begins(title(step.stage, step.operation, getattr(step, "alias", None)))
            result, batch = self._step(number, step, batch, now)
            done.append(result)
            if result.after is None:
                break
            now = result.after
        return Outcome(before, done)

    def close(self) -> None:
        """Close the chain."""
        self._chain.close()

    def _step(self, number: int, step: Step, batch: Batch[Any], before: Snapshot) -> tuple[StepResult, Batch[Any]]:
        alias = getattr(step, "alias", None)
        answered = self._answers.get(number)

        def result(verdict: Any, after: Snapshot | None, **more: Any) -> StepResult:
            return StepResult(step.stage, step.operation, alias, verdict, after, **more)

        try:
            one: Callable[[Any], Any] | None = step.apply_one
            batch = step.run(batch) if one is None else batch.with_records([one(batch.records()[0])])
            if not len(batch):
                return result("dropped", None), batch
            after = Snapshot(batch.records()[0], raw_after(step.stage, before.raw))
            changed = changes(before, after)
        except (Exception, SystemExit) as error:  # plug-ins raise anything
            own = error.error if isinstance(error, StoppedAt) else error
            return result("failed", None, failure=self._failure(step, own)), batch
        if answered is not None and answered.last is getattr(step, "negate", False):
            return result("passed by", after), batch
        return result("changed" if changed else "unchanged", after, changes=changed), batch

    def _failure(self, step: Step, error: BaseException) -> StepFailure:
        return StepFailure.of(step.stage, error, self._advice(error))

    def _advice(self, error: BaseException) -> str:
        if isinstance(error, ConfigError):
            return "The task would fail, whatever errors.tolerance says: every record would meet this."
        again = ""
        if isinstance(error, RetriableError):
            again = "A task would retry it, as long as errors.retry.timeout allows. "
        if self._retry_topic:
            again += f"The record would wait in topic {self._retry_topic} and be retried. After the last such topic: "
        letter = f"sent to topic {self._dead_letters}" if self._dead_letters else None
        if not self._chain.policy.tolerate:
            first = f"The record would be {letter}, and the" if letter else "The"
            advice = 'correct the record or the configuration, or set "errors.tolerance": "all".'
            return f"{again}{first} task would fail: {advice}"
        return f"{again}The record would be {letter or 'skipped'}, and the task would go on (errors.tolerance=all)."


class _Answered(Predicate):
    """A predicate that remembers its last answer."""

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate
        self.last: bool | None = None

    def test(self, record: Any) -> bool:
        self.last = bool(self._predicate.test(record))
        return self.last

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        answers = self._predicate.test_batch(batch)
        self.last = bool(answers[-1]) if answers else None
        return answers

    def close(self) -> None:
        self._predicate.close()
