"""How rows get into a table, and out of it, in one database's own way.

One `Statements` exists for each task and connection's kind; `connectors.jdbc.sink.postgresql` and others are made of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from sqlalchemy import Connection

from connectors.jdbc.sink.target import Target, TargetColumn


@dataclass(frozen=True)
class Layout:
    """The columns that rows have: those of the key first. The same object for all batches of a kind.

    Attributes:
        kinds: what each column's values mean, see `Meaning.kind`.
    """

    target: Target
    columns: tuple[TargetColumn, ...]
    keys: int
    kinds: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns as they stand in a statement."""
        return [self.target.quote(column.name) for column in self.columns]


class Statements(Protocol):
    """Writes rows. Every method runs within a transaction of the caller's; errors are the driver's, or SQLAlchemy's.

    Rows come sorted by key, each key once, but to `insert`.
    """

    def begin(self, connection: Connection) -> None:
        """A transaction begins, perhaps on a new connection."""

    def forget(self) -> None:
        """A transaction, or a part of it, was rolled back."""

    def insert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """New rows."""

    def upsert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """New rows, or what is in the rows of these keys changed."""

    def update(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """The rows of these keys changed, as far as they are there."""

    def delete(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """The rows of these keys gone. The layout has keys only."""

    def truncate(self, connection: Connection, target: Target) -> None:
        """All rows gone."""


Change = Callable[[Any], Any] | None


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items in parts of at most this size."""
    return [items[at : at + size] for at in range(0, len(items), size)]
