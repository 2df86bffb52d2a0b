"""Watches single records on their way through a chain that runs: what each step makes of them. Nothing else happens.

The chain runs as it does otherwise: nothing is run twice. Between the steps of a watched batch the rows of the chosen
records are looked up and copied. While nobody watches, a batch costs one look at an attribute.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from connect.data.batch import Batch, SinkBatch
from connect.pipeline.failure import Failure, Stage
from connect.pipeline.outcome import Outcome, SeenOutcome, StepFailure, StepResult, raw_after
from connect.pipeline.seen import PARTS, Part, Snapshot, changes

log = logging.getLogger("connect.pipeline")

#: The most records that are watched of one batch: a tap shows what comes over a while, not one batch.
_OF_A_BATCH: Final = 3

Report = Callable[[SeenOutcome], None]


class WatchedStep(Protocol):
    """What a tap needs of a step; see `connect.pipeline.chain.Step`."""

    @property
    def stage(self) -> Stage: ...

    @property
    def operation(self) -> str: ...


@dataclass(slots=True)
class _Watch:
    report: Report
    left: int
    until: float

    def takes(self, count: int) -> int:
        """Of this many records of a batch it reports so many, and as many fewer later."""
        taken = min(count, self.left)
        self.left -= taken
        return taken


@dataclass(slots=True)
class _Watched:
    """One record on its way. `now` is None once it was dropped or failed."""

    row: int
    before: Snapshot
    now: Snapshot | None
    steps: list[StepResult] = field(default_factory=list)


class Tap:
    """Opened from any thread, used by the chain's."""

    def __init__(self) -> None:
        self._watches: list[_Watch] = []
        self._lock = threading.Lock()

    def open(self, records: int, seconds: float, report: Report) -> None:
        """Watch so many records, for at most this long.

        Args:
            report: called with each, on the chain's thread, once it has passed the chain.
        """
        with self._lock:
            self._watches.append(_Watch(report, records, time.monotonic() + seconds))

    def begin(self, batch: Batch[Any]) -> Watching | None:
        """Called by the chain with each batch. None if no record of it is watched."""
        if not self._watches:
            return None
        with self._lock:
            now = time.monotonic()
            self._watches = [watch for watch in self._watches if watch.left > 0 and now < watch.until]
            count = min(_OF_A_BATCH, len(batch), max((watch.left for watch in self._watches), default=0))
            reports = [(watch.report, watch.takes(count)) for watch in self._watches]
        if not count:
            return None
        try:
            return Watching(batch, [index * len(batch) // count for index in range(count)], reports)
        except Exception as error:  # what is shown to nobody must not fail a task
            log.debug("A record is not watched: %s", error)
            return None


class Watching:
    """The watched records of one batch. An error of a look ends it, and never reaches the chain.

    Args:
        batch: before the first step.
        indices: of the watched records.
        reports: see `Tap.open`, each with the number of records that it gets.
    """

    def __init__(self, batch: Batch[Any], indices: list[int], reports: list[tuple[Report, int]]) -> None:
        self._raw: frozenset[Part] = PARTS if isinstance(batch, SinkBatch) else frozenset()
        found = [(batch.rows[index], _snapshot(batch, index, self._raw)) for index in indices]
        self._records = [_Watched(row, snapshot, snapshot) for row, snapshot in found]
        self._reports = reports

    def after(self, step: WatchedStep, batch: Batch[Any], failed: list[tuple[int, Failure]]) -> None:
        """Look at the result of a step.

        Args:
            failed: the rows that failed in any step until now.
        """
        try:
            self._raw = raw_after(step.stage, self._raw)
            index_of = {row: index for index, row in enumerate(batch.rows)}
            failures = dict(failed)
            for record in self._records:
                if record.now is not None:
                    record.steps.append(self._result(step, record, batch, index_of, failures))
                    record.now = record.steps[-1].after
        except Exception as error:
            log.debug("Records are not watched any longer: %s", error)
            self._records = []

    def end(self) -> None:
        """The batch has passed the chain."""
        try:
            for number, record in enumerate(self._records):
                seen = Outcome(record.before, record.steps).seen()
                for report, count in self._reports:
                    if number < count:
                        report(seen)
        except Exception as error:
            log.debug("Watched records are not shown: %s", error)

    def _result(
        self,
        step: WatchedStep,
        record: _Watched,
        batch: Batch[Any],
        index_of: Mapping[int, int],
        failures: Mapping[int, Failure],
    ) -> StepResult:
        alias = getattr(step, "alias", None)
        index, failure = index_of.get(record.row), failures.get(record.row)
        if index is not None and record.now is not None:
            after = _snapshot(batch, index, self._raw)
            changed = changes(record.now, after)
            return StepResult(step.stage, step.operation, alias, "changed" if changed else "unchanged", after, changed)
        if failure is None:
            return StepResult(step.stage, step.operation, alias, "dropped", None)
        why = StepFailure.of(step.stage, failure.error, "")
        return StepResult(step.stage, step.operation, alias, "failed", None, failure=why)


def _snapshot(batch: Batch[Any], index: int, raw: frozenset[Part]) -> Snapshot:
    """A copy: a transformation may change a value in place."""
    record = batch.slice(index, index + 1).records()[0]
    return Snapshot(record.replace(key=copy.deepcopy(record.key), value=copy.deepcopy(record.value)), raw)
