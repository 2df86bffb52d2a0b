"""When a sink task writes the rows that wait, and when it accepts no more."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Final, Protocol

from connect.api.sink import SinkTaskContext
from connect.errors import RetriableError

_REFUSED_MS: Final = 1000
#: A commit costs as much for one row as for thousands: after it rows wait at least so many times as long as it took.
_REST: Final = 4.0


class Rows(Protocol):
    """Rows that wait for one table."""

    @property
    def records(self) -> int:
        """Their number."""

    @property
    def bytes(self) -> int:
        """Their size in memory."""


class Pace:
    """Decides when a task asks for a commit, in which it writes.

    Args:
        context: of the task.
        interval_s: how long rows wait at most.
        most_bytes: how many bytes of memory they may take.
        most_records: how many they may be; 0 for any number.

    Attributes:
        rest_until: the moment, on the monotonic clock, until which the task rests from writing.
    """

    def __init__(self, context: SinkTaskContext, interval_s: float, most_bytes: int, most_records: int = 0) -> None:
        self._context = context
        self._interval_s = interval_s
        self._most_bytes = most_bytes
        self._most_records = most_records
        self._since: float | None = None  # when the first of the rows came that wait
        self.rest_until = 0.0

    def refuse_when_full(self, waiting: Collection[Rows]) -> None:
        """Accept no more records when a requested commit did not come, or failed (P7).

        Raises:
            RetriableError: as many rows wait as may.
        """
        if self.is_full(waiting):
            self._context.request_commit()
            self._context.timeout(_REFUSED_MS)
            raise RetriableError(
                f"{_records(waiting)} rows ({_bytes(waiting)} bytes) wait to be written; no more are accepted until "
                "then."
            )

    def ask_for_commit(self, waiting: Collection[Rows]) -> None:
        """Ask for a commit if it is time, else to be called again then. Call it after every `put`."""
        if self._since is None:
            if not _records(waiting):
                return
            self._since = time.monotonic()
        left = self._left()
        if left <= 0 or self.is_full(waiting):
            self._context.request_commit()
        else:
            self._context.timeout(int(left * 1000) + 1)

    def is_due(self, waiting: Collection[Rows]) -> bool:
        """Whether a commit that somebody else asked for is to write: rows have waited long enough, or are too many."""
        if self._since is None:
            return False
        return time.monotonic() >= self._since + self._interval_s or self.is_full(waiting)

    def is_full(self, waiting: Collection[Rows]) -> bool:
        """Whether no more rows should wait."""
        return _bytes(waiting) >= self._most_bytes or 0 < self._most_records <= _records(waiting)

    def wrote(self, began: float) -> None:
        """Everything that waited is written. `began`: when that began, on the monotonic clock."""
        now = time.monotonic()
        self._since, self.rest_until = None, now + (now - began) * _REST

    def _left(self) -> float:
        assert self._since is not None
        return max(self._since + self._interval_s, self.rest_until) - time.monotonic()


def _records(waiting: Collection[Rows]) -> int:
    return sum(each.records for each in waiting)


def _bytes(waiting: Collection[Rows]) -> int:
    return sum(each.bytes for each in waiting)
