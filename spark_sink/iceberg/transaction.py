"""One attempt to commit: either what it is based on is still there, or nothing happens.

A transaction of pyiceberg repeats itself when another writer commits first, on top of what that has written. Ours must
not: the other may be a task that has taken over our partitions, or we ourselves, a lost answer ago.
"""

from __future__ import annotations

from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AssertTableUUID


class Attempt(Transaction):
    """A transaction whose commit is tried once."""

    _seen: tuple[object, TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The table's metadata with the changes so far.

        pyiceberg makes them again whenever it looks, a copy of all snapshots each time.
        """
        if self._seen is None or self._seen[0] is not self._updates:
            self._seen = self._updates, super().table_metadata
        return self._seen[1]

    def commit_transaction(self) -> Table:
        """Commit the changes, on the condition that the branch is where it was when they were made.

        Raises:
            CommitFailedException: it is not, or seems not to be: see `is_in`.
            Exception: whatever the catalog's client raises. Then the commit may have been made, or come to be made.
        """
        if not self._updates:
            return self._table
        requirements = (*self._requirements, AssertTableUUID(uuid=self.table_metadata.table_uuid))
        self._table._do_commit(updates=self._updates, requirements=requirements)
        return self._table

    def is_in(self, table: Table) -> bool:
        """Whether its snapshots are in a table: then it was made, though the catalog's answer said something else."""
        made = [table.snapshot_by_id(producer.snapshot_id) is not None for producer in self._snapshot_producers]
        return bool(made) and all(made)

    def discard(self) -> None:
        """Delete the manifests of an attempt that was certainly not made. Data files stay, for the next one."""
        for producer in self._snapshot_producers:
            producer._clean_all_uncommitted()
