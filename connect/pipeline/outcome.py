"""What a chain makes of single records: each step's changes and the outcome, with values or in plain JSON."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from connect.errors import one_line
from connect.pipeline.failure import Stage, exception_name, qualified_name
from connect.pipeline.seen import Change, Part, SeenRecord, Snapshot
from connect.telemetry.redaction import redactor

#: "passed by" means that the step's predicate did not select the record.
StepVerdict = Literal["changed", "unchanged", "passed by", "dropped", "failed"]
Verdict = Literal["kept", "dropped", "failed"]

_PARTS: Final[Mapping[Stage, Part]] = {
    Stage.KEY_CONVERTER: "key",
    Stage.VALUE_CONVERTER: "value",
    Stage.HEADER_CONVERTER: "headers",
}


def raw_after(stage: Stage, raw: frozenset[Part]) -> frozenset[Part]:
    """The parts that are bytes after a step of this kind: a converter makes values of bytes, or bytes of values."""
    part = _PARTS.get(stage)
    return raw if part is None else raw ^ {part}


def title(stage: Stage, operation: str, alias: str | None) -> str:
    """A step in words, as `value converter JsonConverter` or `transformation cast (Cast)`."""
    return f"{stage.words} {operation if alias is None else f'{alias} ({operation})'}"


class StepFailure(msgspec.Struct):
    """A step's error.

    Attributes:
        stage: in Kafka Connect's words.
        class_name: of the error, with its module.
        reported_as: its name in a dead letter: Java's if it is one of the runtime's.
        message: of the error, on one line, without secrets.
        advice: what would happen to the record, and what to do.
        trace: the traceback, without secrets.
    """

    stage: str
    class_name: str
    reported_as: str
    message: str
    advice: str
    trace: str

    @classmethod
    def of(cls, stage: Stage, error: BaseException, advice: str) -> StepFailure:
        """Of what a step raised."""
        return cls(
            stage.value,
            qualified_name(type(error)),
            exception_name(error),
            redactor.redact(one_line(error)),
            advice,
            redactor.redact("".join(traceback.format_exception(error))),
        )


class SeenStep(msgspec.Struct, omit_defaults=True):
    """The result of one step in plain values; see `StepResult`. `stage` in Kafka Connect's words."""

    stage: str
    operation: str
    alias: str | None
    verdict: StepVerdict
    changes: list[Change]
    error: StepFailure | None = None

    @property
    def title(self) -> str:
        """The step in words."""
        return title(Stage(self.stage), self.operation, self.alias)


class SeenOutcome(msgspec.Struct, omit_defaults=True):
    """An outcome in plain values. `after` is None when the record was dropped or failed."""

    verdict: Verdict
    before: SeenRecord
    steps: list[SeenStep]
    after: SeenRecord | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one step for one record.

    Attributes:
        stage: the kind of step.
        operation: the class.
        alias: of a transformation, its name in the configuration.
        verdict: "passed by" means that its predicate did not select the record.
        after: the record then; None when it was dropped, or the step failed.
        changes: the differences from before.
    """

    stage: Stage
    operation: str
    alias: str | None
    verdict: StepVerdict
    after: Snapshot | None
    changes: Sequence[Change] = ()
    failure: StepFailure | None = None

    def seen(self) -> SeenStep:
        """The step in plain values."""
        return SeenStep(self.stage.value, self.operation, self.alias, self.verdict, list(self.changes), self.failure)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one record."""

    before: Snapshot
    steps: Sequence[StepResult] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """In a word."""
        last = self.steps[-1].verdict if self.steps else "unchanged"
        return last if last in ("dropped", "failed") else "kept"

    @property
    def after(self) -> Snapshot | None:
        """The record at the end; None when it was dropped or failed."""
        return self.steps[-1].after if self.steps else self.before

    def seen(self) -> SeenOutcome:
        """The outcome in plain values."""
        after = None if self.after is None else SeenRecord.of(self.after)
        return SeenOutcome(self.verdict, SeenRecord.of(self.before), [step.seen() for step in self.steps], after)

    def plain(self) -> dict[str, Any]:
        """For programs: see `SeenOutcome`."""
        found: dict[str, Any] = msgspec.to_builtins(self.seen())
        return found
