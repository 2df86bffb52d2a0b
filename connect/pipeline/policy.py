"""What happens to a record that a converter or a transformation cannot take: retry, skip, log, or fail the task.

`errors.retry.timeout`, `errors.retry.delay.max.ms`, `errors.tolerance`, `errors.log.enable` and
`errors.log.include.messages` as in Kafka Connect (KIP-298).
"""

from __future__ import annotations

import enum
import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect.data.record import Record, SinkRecord
from connect.errors import ConnectError, RetriableError
from connect.settings.connector_keys import ERRORS

log = logging.getLogger("connect.pipeline")

_FIRST_DELAY_S = 0.3

SETTINGS = ERRORS


class Stage(enum.Enum):
    """Where in the pipeline a record failed. The names are Kafka Connect's."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"

    @property
    def words(self) -> str:
        """The stage as a message says it."""
        return self.value.lower().replace("_", " ")


class RecordError(ConnectError):
    """A record that could not be taken, and where. The cause is what the plug-in raised."""


@dataclass(slots=True)
class ErrorCounts:
    """Totals of one task (`task-error-metrics`).

    Attributes:
        failures: failed operations on a record, each try counted.
        errors: records that were given up: skipped, or the end of the task.
        skipped: those that were skipped.
        retries: operations that were tried again.
        logged: errors that `errors.log.enable` logged.
        dead_letters: records sent to the dead letter topic.
        dead_letters_failed: those that it did not take.
        last_error_ms: when a record was last given up, since the epoch; 0 for never.
    """

    failures: int = 0
    errors: int = 0
    skipped: int = 0
    retries: int = 0
    logged: int = 0
    dead_letters: int = 0
    dead_letters_failed: int = 0
    last_error_ms: int = 0


@dataclass(slots=True)
class ErrorPolicy:
    """One connector's answer to bad records.

    Attributes:
        retry_timeout_ms, retry_delay_max_ms, tolerate, log_errors, log_messages: the settings.
        pause: waits for some seconds; raises when the task is to stop, which ends all retries.
        counts: see `ErrorCounts`.
    """

    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    tolerate: bool = False
    log_errors: bool = False
    log_messages: bool = False
    pause: Callable[[float], None] = time.sleep
    counts: ErrorCounts = field(default_factory=ErrorCounts)

    @classmethod
    def from_config(cls, connector: Mapping[str, str], pause: Callable[[float], None]) -> ErrorPolicy:
        """Read the `errors.*` keys of a connector. Raises `ConfigError`."""
        config = SETTINGS.parse(connector)
        return cls(
            retry_timeout_ms=config["errors.retry.timeout"],
            retry_delay_max_ms=config["errors.retry.delay.max.ms"],
            tolerate=config["errors.tolerance"] == "all",
            log_errors=config["errors.log.enable"],
            log_messages=config["errors.log.include.messages"],
            pause=pause,
        )

    def attempt(
        self,
        stage: Stage,
        operation: str,
        record: Callable[[], Record],
        run: Callable[[], Any],
        failed: Exception,
    ) -> Any:
        """An operation failed on one record: try it again, as often as its retries allow.

        Args:
            stage: where in the pipeline.
            operation: the class that does it, for messages.
            record: gives the record, for messages.
            run: the operation on this record alone.
            failed: what the operation raised for this record.

        Returns:
            what the operation returns; None when the record is to be skipped.

        Raises:
            RecordError: errors are not tolerated.
        """
        deadline = None if self.retry_timeout_ms < 0 else time.monotonic() + self.retry_timeout_ms / 1000
        retries = 0
        while True:
            self.counts.failures += 1
            left = math.inf if deadline is None else deadline - time.monotonic()
            if not isinstance(failed, RetriableError) or left <= 0:
                return self.reject(stage, operation, record(), failed)
            self.pause(min(self._delay(retries), left))
            self.counts.retries += 1
            retries += 1
            try:
                return run()
            except Exception as error:  # plug-ins raise anything
                failed = error

    def reject(self, stage: Stage, operation: str, record: Record, error: Exception) -> None:
        """A record is given up: skip it, or raise `RecordError` when errors are not tolerated."""
        self.counts.errors += 1
        self.counts.last_error_ms = int(time.time() * 1000)
        message = f"{_place(record)}: {stage.words} {operation} failed: {type(error).__name__}: {error}"
        if self.log_errors:
            self.counts.logged += 1
            content = f" (key {record.key!r}, value {record.value!r})" if self.log_messages else ""
            log.error("%s%s", message, content, exc_info=error)
        if not self.tolerate:
            advice = 'Mend the record or the configuration, or skip such records with "errors.tolerance": "all".'
            raise RecordError(f"{message} {advice}") from error
        self.counts.skipped += 1

    def _delay(self, retries: int) -> float:
        """Seconds before the next try, after so many."""
        cap = self.retry_delay_max_ms / 1000
        doubled: float = _FIRST_DELAY_S * 2 ** min(retries, 32)
        return doubled if doubled <= cap else cap * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


def _place(record: Record) -> str:
    if isinstance(record, SinkRecord):
        return f"record {record.original_topic}-{record.original_partition}@{record.original_offset}"
    return f"record for topic {record.topic} from {dict(record.source_partition)} at {dict(record.source_offset)}"
