"""The batches that a producer has sent and that are not acknowledged.

Each delivery report counts its batch down. The mark of a batch is returned when it and all before it are through (P1).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from connect.kafka.writing.refusals import DeliveryError

#: What the client calls with an error or None, and its message.
Report = Callable[[Any, Any], None]


class Delivery:
    """One unacknowledged batch.

    Attributes:
        mark: what `acknowledged` returns for the batch (its source offsets).
        rows: the number of records.
        size: the memory that they take, as far as it counts against the limit.
        bytes: those of their keys and values.
        began: when they were passed to the client, by `time.monotonic()`.
        timestamp: of the first record, in ms since the epoch, if it has one.
        waiting: the number of records that are neither acknowledged nor given up. A refused one that must not be given
            up waits forever, so that no offset behind it is stored (P1).
    """

    __slots__ = ("_refused", "began", "bytes", "mark", "rows", "size", "timestamp", "waiting")

    def __init__(
        self,
        mark: Any,
        rows: int,
        bytes_of: int,
        refused: Callable[[DeliveryError, Any], bool],
        size: int | None = None,
    ) -> None:
        self.mark = mark
        self.rows = rows
        self.size = bytes_of if size is None else size
        self.bytes = bytes_of
        self.began = time.monotonic()
        self.timestamp: int | None = None
        self.waiting = rows
        self._refused = refused

    def report(self, error: Any, message: Any) -> None:
        """Called by the client for each record, from within `poll`."""
        self._settle(error, message)

    def _settle(self, error: Any, message: Any) -> bool:
        """Whether the record is acknowledged or given up."""
        through = error is None or self._refused(DeliveryError(message.topic(), error.name(), error.str()), message)
        self.waiting -= through
        return through

    def report_and_tell(self, tell: Report | None) -> Report:
        """As `report`, for one record, and then `tell`, if any; not for a record that fails the task."""
        if tell is None:
            return self.report

        def report(error: Any, message: Any) -> None:
            if self._settle(error, message):
                tell(error, message)

        return report


class Unsent(NamedTuple):
    """Replaces the client's message where the client did not even accept the record."""

    name: str

    def topic(self) -> str:
        return self.name


class Deliveries:
    """The unacknowledged batches of one producer, oldest first. For one thread.

    Args:
        refused, settled: see `BatchProducer`.

    Attributes:
        rows: records of all unfinished batches.
        bytes: the memory of records that were passed to the client and are not acknowledged, as far as that was
            checked.
        errors: of the producer. The first is raised by `check`: the client swallows what a report raises.
    """

    def __init__(
        self, refused: Callable[[DeliveryError, Any], None], settled: Callable[[Delivery], None] = lambda _: None
    ) -> None:
        self.rows = 0
        self.bytes = 0
        self.errors: list[BaseException] = []
        self._under_way: deque[Delivery] = deque()
        self._refused = refused
        self._settled = settled

    @property
    def outstanding(self) -> int:
        """Records that are neither acknowledged nor given up."""
        return sum(delivery.waiting for delivery in self._under_way)

    def add(self, delivery: Delivery) -> None:
        """A batch is sent."""
        self._under_way.append(delivery)
        self.bytes += delivery.size
        self.rows += delivery.rows

    def withdraw(self) -> None:
        """The batch that was added last is not sent after all."""
        delivery = self._under_way.pop()
        self.bytes -= delivery.size
        self.rows -= delivery.rows

    def give_up(self, error: DeliveryError, message: Any) -> bool:
        """Give up a refused record, unless `refused` raises. Returns whether it is given up."""
        try:
            self._refused(error, message)
        except BaseException as raised:
            self.errors.append(raised)
            return False
        return True

    def check(self) -> None:
        """Raise the first error."""
        if self.errors:
            raise self.errors[0]

    def acknowledged(self) -> list[Any]:
        """The marks of finished batches, oldest first, up to the first unfinished one. Each is returned once."""
        marks = []
        while self._under_way and not self._under_way[0].waiting:
            delivery = self._under_way.popleft()
            self.bytes -= delivery.size
            self.rows -= delivery.rows
            marks.append(delivery.mark)
            if delivery.rows:
                self._settled(delivery)
        return marks

    def release(self) -> None:
        """Free the bytes of finished batches even before the sender asks for their marks."""
        for delivery in self._under_way:
            if delivery.waiting:
                break
            self.bytes -= delivery.size
            delivery.size = 0

    def clear(self) -> None:
        """Stop waiting for unacknowledged records."""
        self._under_way.clear()
        self.bytes = self.rows = 0
