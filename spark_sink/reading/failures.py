"""Records that fail in an executor: written to the dead letter topic, or kept to become rows of their own."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any, Final

from connect.data.batch import SinkBatch
from connect.delivery.error_outputs import ErrorOutputs, NoErrorOutputs, TaskConfigs
from connect.errors import SchemaError
from connect.pipeline import ErrorPolicy, Failure, Stage
from connect.pipeline.dead_letters import original
from connect.pipeline.failure import exception_name
from connect.plugins import Plugins
from connect.telemetry.redaction import names_a_secret, redactor
from spark_sink.reading.plan import ReadPlan

_TOLERATED: Final = '"errors.tolerance": "all"'
_QUARANTINE: Final = '"schema.evolution.on.mismatch": "quarantine"'


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that the error policy gave up, as it was consumed; `failure` has the fields of the column."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    failure: dict[str, Any]


class Failures:
    """The error output of one plan's chain. For one thread."""

    def __init__(self, plan: ReadPlan, policy: ErrorPolicy, plugins: Plugins) -> None:
        self._plan = plan
        self._policy = policy
        self._kept: list[FailedRecord] = []
        self._fixed = plan.rows is not None and plan.rows.unknown == "ignore"  # a DataFrame's columns, not a table's
        # What is said of a failed record is redacted, and this process knows no secret by itself.
        config = {**plan.worker, **plan.config}
        redactor.remember(value for key, value in config.items() if names_a_secret(key))
        self._outputs = NoErrorOutputs()
        if plan.rows is not None and plan.rows.failures:
            policy.dead_letter = self._keep
        else:
            task = TaskConfigs(plan.connector, 0, plan.worker, plan.config)
            self._outputs = ErrorOutputs(task, policy, plugins, lambda: None)

    @property
    def tolerates_misfits(self) -> bool:
        """Whether records that do not fit the table go to the error policy, rather than end the query."""
        return (self._plan.config.get("schema.evolution.on.mismatch") or "fail") != "fail"

    def reject(self, one: SinkBatch, reason: str) -> None:
        """This record does not fit the table, for this reason.

        Raises:
            SchemaError: the connector does not continue without it.
            RecordError: the error policy does not tolerate it.
        """
        if not self.tolerates_misfits:
            origin = f"{one.original_topics[0]}-{one.original_partitions[0]}@{one.offsets[0]}"
            what, key = ("columns", _TOLERATED) if self._fixed else ("table", _QUARANTINE)
            raise SchemaError(
                f"The record {origin} does not fit the {what}: {reason} Fix it, or have such records go to the error"
                f" policy with {key}."
            )
        error = SchemaError(f"The record does not fit the table: {reason}")
        self._policy.reject(Failure(Stage.TASK_PUT, "SparkSink", error, one.records()[0], one))

    def taken(self) -> list[FailedRecord]:
        """The records given up since the last call, where they become rows."""
        kept, self._kept = self._kept, []
        return kept

    def settle(self) -> None:
        """Return when all dead letters are acknowledged. Raises ConnectError when one is refused."""
        self._outputs.settle()

    def close(self) -> None:
        """Close the producer."""
        self._outputs.close()

    def _keep(self, failure: Failure) -> None:
        assert isinstance(failure.batch, SinkBatch)
        found = original(failure.batch, 0)
        error = failure.error
        self._kept.append(
            FailedRecord(
                found.topic,
                found.partition,
                found.offset,
                found.letter.timestamp,
                {
                    "stage": failure.stage.value,
                    "class": failure.class_name or failure.operation,
                    "exception": exception_name(error),
                    "message": redactor.hide(str(error)),
                    "trace": redactor.hide("".join(traceback.format_exception(error))),
                    "key": found.letter.key,
                    "value": found.letter.value,
                    "headers": [{"key": key, "value": value} for key, value in found.letter.headers] or None,
                },
            )
        )
