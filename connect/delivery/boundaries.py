"""Where the transactions of a source task end: `transaction.boundary` (KIP-618)."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from connect import settings
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.errors import ConnectError


class End(enum.Enum):
    """How a transaction ends. Offsets advance either way: an abort drops records."""

    COMMIT = "commit"
    ABORT = "abort"


class Boundary(ABC):
    """Decides where transactions end. For the task's thread, `within` and then `after` for each batch.

    Attributes:
        keeps_rest: whether an open transaction is committed when the task stops; otherwise it is dropped, and read
            again.
    """

    keeps_rest = True

    def within(self, batch: SourceBatch) -> list[tuple[int, End]]:
        """The transactions that end inside a batch, which has at least one row: after how many of its rows, and how."""
        return []

    @abstractmethod
    def after(self, moment: float) -> End | None:
        """How a transaction ends with the batch; None when it continues. Also called after a poll without records."""

    def due(self) -> float:
        """When a transaction has to end without further records, on the monotonic clock."""
        return math.inf

    def ended(self, moment: float) -> None:  # noqa: B027 - only an interval goes by it
        """A transaction was committed just now."""


class PollBoundary(Boundary):
    """With every batch."""

    def after(self, moment: float) -> End | None:
        return End.COMMIT


class IntervalBoundary(Boundary):
    """With the batch after which this many seconds have passed; or then, when there is none."""

    def __init__(self, seconds: float, moment: float) -> None:
        self.seconds = seconds
        self._due = moment + seconds

    def after(self, moment: float) -> End | None:
        return End.COMMIT if moment >= self._due else None

    def due(self) -> float:
        return self._due

    def ended(self, moment: float) -> None:
        self._due = moment + self.seconds


class TaskBoundary(Boundary):
    """Where the task says so: this is its `connect.api.source.TransactionContext`."""

    keeps_rest = False

    def __init__(self) -> None:
        self._batch: End | None = None
        self._records: list[tuple[SourceRecord, End]] = []

    # The task's side.

    def commit(self, record: SourceRecord | None = None) -> None:
        self._ask(record, End.COMMIT)

    def abort(self, record: SourceRecord | None = None) -> None:
        self._ask(record, End.ABORT)

    def _ask(self, record: SourceRecord | None, end: End) -> None:
        if record is None:
            before, self._batch = self._batch, end
        else:
            before = next((end for asked, end in self._records if asked is record), None)
            self._records.append((record, end))
        if before not in (None, end):
            raise ConnectError(
                "A task asked to commit and to abort the same transaction. It may do one of them for a record, and one"
                " for a batch."
            )

    # The loop's.

    def within(self, batch: SourceBatch) -> list[tuple[int, End]]:
        if not self._records:
            return []
        records = batch.records()
        rows = {id(record): row for row, record in enumerate(records)}
        ends: dict[int, End] = {}
        waiting: list[tuple[SourceRecord, End]] = []
        for record, end in self._records:
            row = rows.get(id(record), -1)
            if row < 0:  # rebuilt from columns, or by the task
                row = _equal(records, record)
            if row < 0:
                waiting.append((record, end))  # it may be in a later batch
            else:
                ends[row + 1] = end
        self._records = waiting
        return sorted(ends.items(), key=lambda item: item[0])

    def after(self, moment: float) -> End | None:
        end, self._batch = self._batch, None
        return end


def _equal(records: Sequence[SourceRecord], wanted: SourceRecord) -> int:
    return next((row for row, record in enumerate(records) if record == wanted), -1)


SETTINGS = settings.define(
    settings.String(
        "transaction.boundary",
        default="poll",
        validator=settings.one_of("INTERVAL", "POLL", "CONNECTOR", ignore_case=True),
    ),
    settings.Long("transaction.boundary.interval.ms", default=None, validator=settings.at_least(0)),
)


def boundary_of(connector: Mapping[str, str], flush_interval: float, moment: float) -> Boundary:
    """The boundary of a connector's configuration.

    Args:
        connector: see there.
        flush_interval: the worker's offset.flush.interval.ms, in seconds.
        moment: now, on the monotonic clock.

    Raises:
        ConfigError: a value is wrong.
    """
    config = SETTINGS.parse(connector)
    milliseconds = config["transaction.boundary.interval.ms"]
    match config["transaction.boundary"].lower():
        case "interval":
            return IntervalBoundary(flush_interval if milliseconds is None else milliseconds / 1000, moment)
        case "connector":
            return TaskBoundary()
        case _:
            return PollBoundary()
