"""How rows are written to a table, in one database's own way.

Each task has one `Statements` for its kind of database; see `connectors.jdbc.sink.postgresql` and others.
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
    """The columns of rows: those of the key first. The same object for all batches of a kind.

    Attributes:
        kinds: of each column's values, see `Meaning.kind`.
        kept: the names of columns whose values are for new rows: those that are there keep their content.
    """

    target: Target
    columns: tuple[TargetColumn, ...]
    keys: int
    kinds: tuple[str, ...]
    kept: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """The columns in the form of a statement."""
        return [self.target.quote(column.name) for column in self.columns]

    @property
    def changed(self) -> list[int]:
        """Which columns of a row that is there are set."""
        return [at for at, column in enumerate(self.columns) if at >= self.keys and column.name not in self.kept]


class Statements(Protocol):
    """Writes rows. Every method runs within the caller's transaction; errors are the driver's, or SQLAlchemy's.

    Rows are sorted by key, each key once, except for `insert`.
    """

    def begin(self, connection: Connection) -> None:
        """A transaction begins, perhaps on a new connection."""

    def forget(self) -> None:
        """A transaction, or a part of it, was rolled back."""

    def insert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """Insert new rows."""

    def upsert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """Insert rows, or update those of existing keys."""

    def update(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """Update the rows of these keys, if they exist."""

    def delete(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        """Delete the rows of these keys. The layout has keys only."""

    def truncate(self, connection: Connection, target: Target) -> None:
        """Delete all rows."""

    def check(self, connection: Connection) -> None:
        """Check now, and from now on at once, what would be checked at the end of the transaction."""


Change = Callable[[Any], Any] | None


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items in parts of at most this size."""
    return [items[at : at + size] for at in range(0, len(items), size)]
