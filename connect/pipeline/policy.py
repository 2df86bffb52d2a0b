"""What happens to a record that a converter or a transformation refuses: retry, skip, log, or fail the task.

`errors.retry.timeout`, `errors.retry.delay.max.ms`, `errors.tolerance`, `errors.log.enable` and
`errors.log.include.messages` as in Kafka Connect (KIP-298).
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect.data.record import Record, SinkRecord
from connect.errors import ConfigError, ConnectError, RetriableError
from connect.pipeline.failure import Failure
from connect.settings.connector_keys import ERRORS

log = logging.getLogger("connect.pipeline")

_FIRST_DELAY_S = 0.3


class RecordError(ConnectError):
    """A refused record, and where. The cause is the plug-in's error."""


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
        dead_letters_failed: those that it refused.
        parked: records that were written to a retry topic.
        last_error_ms: when a record was last given up, since the epoch; 0 for never.
    """

    failures: int = 0
    errors: int = 0
    skipped: int = 0
    retries: int = 0
    logged: int = 0
    dead_letters: int = 0
    dead_letters_failed: int = 0
    parked: int = 0
    last_error_ms: int = 0


def _whole(batch: Any) -> Any:
    return batch


@dataclass(slots=True)
class ErrorPolicy:
    """One connector's handling of bad records.

    Attributes:
        retry_timeout_ms, retry_delay_max_ms, tolerate, log_errors, log_messages: the settings.
        pause: waits for some seconds; raises when the task has to stop, which ends all retries.
        counts: see `ErrorCounts`.
        park: writes a record to a retry topic, unless it has been through all tiers; else returns False.
        hold_back: the remaining records of a batch after some were parked; those behind them are parked as well.
        dead_letter: writes a record that is given up to the dead letter topic.
    """

    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    tolerate: bool = False
    log_errors: bool = False
    log_messages: bool = False
    pause: Callable[[float], None] = time.sleep
    counts: ErrorCounts = field(default_factory=ErrorCounts)
    park: Callable[[Failure], bool] | None = None
    hold_back: Callable[[Any], Any] = _whole
    dead_letter: Callable[[Failure], None] | None = None

    @classmethod
    def from_config(cls, connector: Mapping[str, str], pause: Callable[[float], None]) -> ErrorPolicy:
        """Read the `errors.*` keys of a connector. Raises `ConfigError`."""
        config = ERRORS.parse(connector)
        return cls(
            retry_timeout_ms=config["errors.retry.timeout"],
            retry_delay_max_ms=config["errors.retry.delay.max.ms"],
            tolerate=config["errors.tolerance"] == "all",
            log_errors=config["errors.log.enable"],
            log_messages=config["errors.log.include.messages"],
            pause=pause,
        )

    def attempt(self, run: Callable[[], Any], failed: Exception, give_up: Callable[[Exception], None]) -> Any:
        """An operation failed on one record: retry it, as the settings allow.

        Args:
            run: the operation on this record alone.
            failed: its error for this record.
            give_up: called with the last error, when there are no retries left.

        Returns:
            the operation's result; None when the record was given up.
        """
        deadline = None if self.retry_timeout_ms < 0 else time.monotonic() + self.retry_timeout_ms / 1000
        retries = 0
        while True:
            self.counts.failures += 1
            left = math.inf if deadline is None else deadline - time.monotonic()
            if not isinstance(failed, RetriableError) or left <= 0:
                return give_up(failed)
            self.pause(min(self._delay(retries), left))
            self.counts.retries += 1
            retries += 1
            try:
                return run()
            except Exception as error:  # plug-ins raise anything
                failed = error

    def reject(self, failure: Failure) -> None:
        """A record is refused: park it, or give it up. Then it is skipped, or the task fails.

        As in Kafka Connect a dead letter is also written where errors are not tolerated.

        Raises:
            RecordError: errors are not tolerated, or it is not an error of the record.
        """
        error = failure.error
        message = f"{_place(failure.record)}: {failure.stage.words} {failure.operation} failed: {_said(error)}"
        if isinstance(error, ConfigError):
            # A login that is refused, an address that is wrong: skipping would lose every record there is.
            self.counts.errors += 1
            self.counts.last_error_ms = int(time.time() * 1000)
            raise RecordError(f"{message} Correct the configuration; no record is skipped for it.") from error
        parked = self.park is not None and self.park(failure)
        if parked:
            self.counts.parked += 1
        else:
            self.counts.errors += 1
            self.counts.last_error_ms = int(time.time() * 1000)
        if self.log_errors:
            self._log(message, failure, " It will be retried later." if parked else "")
        if parked:
            return
        if self.dead_letter is not None:
            self.dead_letter(failure)
        if not self.tolerate:
            advice = 'Correct the record or the configuration, or skip such records with "errors.tolerance": "all".'
            raise RecordError(f"{message} {advice}") from error
        self.counts.skipped += 1

    def _log(self, message: str, failure: Failure, then: str) -> None:
        self.counts.logged += 1
        record = failure.record
        content = f" (key {record.key!r}, value {record.value!r})" if self.log_messages else ""
        log.error("%s%s%s", message, content, then, exc_info=failure.error)

    def _delay(self, retries: int) -> float:
        """Seconds before the next try, after this many."""
        cap = self.retry_delay_max_ms / 1000
        doubled: float = _FIRST_DELAY_S * 2 ** min(retries, 32)
        return doubled if doubled <= cap else cap * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


def _place(record: Record) -> str:
    if isinstance(record, SinkRecord):
        return f"record {record.original_topic}-{record.original_partition}@{record.original_offset}"
    return f"record for topic {record.topic} from {dict(record.source_partition)} at {dict(record.source_offset)}"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
