"""Transformations and predicates: change, drop or select records between converters and tasks (KIP-66, KIP-585)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from connect.api.plugin import Configurable
from connect.data.batch import Batch

B = TypeVar("B", bound=Batch[Any])


class StoppedAt(Exception):
    """A transformation has changed the rows before one of them, and failed at that one. It has not seen the others.

    Attributes:
        row: at which it failed.
        done: the batch that it made of the rows before.
        error: what a transformation raises for a single record.
    """

    def __init__(self, row: int, done: Any, error: Exception) -> None:
        super().__init__(row)
        self.row = row
        self.done = done
        self.error = error


class Transformation(Configurable):
    """Changes records one by one.

    One instance for each position in a connector's chain, in each task's process, called from one thread:

        configure -> (apply | apply_batch)* -> close

    A simple transformation implements `apply`. A fast one implements `apply_batch` as well, for a whole column at once.
    Both must give the same result.

    Attributes:
        pure: whether a record's result depends on that record alone, so that a failed batch may be run again in halves.
            The others are run record by record from the start.
        resumes: whether `apply_batch` raises `StoppedAt` at the first record that fails. Then a batch is run whole
            although the transformation has state.
    """

    pure: ClassVar[bool] = False
    resumes: ClassVar[bool] = False

    @abstractmethod
    def apply(self, record: Any) -> Any:
        """Return the record, a changed copy (`record.replace(...)`), or None to drop it. Never change the record.

        Raising passes the record to the connector's error policy (`errors.tolerance`, `errors.retry.timeout`).
        """

    def apply_batch(self, batch: B) -> B:
        """The same for a batch: keep the order, yield at most one row for each, never change the input."""
        apply = self.apply
        return batch.with_records([apply(record) for record in batch.records()])


class Predicate(Configurable):
    """Selects the records for a transformation (`transforms.<alias>.predicate`, `.negate`).

    Called like a transformation, on the same thread.
    """

    @abstractmethod
    def test(self, record: Any) -> bool:
        """Whether the transformation applies to this record."""

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        """The same for each row of a batch."""
        test = self.test
        return [test(record) for record in batch.records()]
