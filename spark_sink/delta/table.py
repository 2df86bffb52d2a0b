"""One Delta table, which takes rows and their offsets in the same commit.

Delta's log keeps for an application id the highest version it has written (the action `txn`). For each topic partition
there are two such ids:

    connect/<connector>/<topic>-<partition>          the offset after the last record that is in the table
    connect/<connector>/<topic>-<partition>/owner    a number that grows whenever a task takes over the partition

Every commit carries both. Two commits with an application id in common conflict unless the second writer has seen the
first (Delta's protocol, held by deltalake's conflict check): so a replaced owner cannot add a row any more, however
late its commit comes. It has to look again, and then sees that it does not own the partition.

deltalake is imported when a table is opened, not before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.commit_notes import note
from spark_sink.delta.problems import is_beyond, is_missing, table_error
from spark_sink.rows.claims import Claims
from spark_sink.rows.conflicts import Conflict, until_committed
from spark_sink.table_properties import Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable

log = logging.getLogger(__name__)

#: The offset of a partition that somebody reset: as if there were none. (A transaction cannot be taken out of the log.)
UNKNOWN: Final = -1
#: How often a table is updated before it is opened anew: deltalake keeps about 60 KiB of each update (1.6).
_UPDATES: Final = 200


class Table:
    """A Delta table, which may not exist yet.

    Args:
        uri: a path, or a URL that deltalake supports.
        connector: its name; the table's offsets are its own.
        storage: options of the storage.
    """

    def __init__(self, uri: str, connector: str, storage: Mapping[str, str]) -> None:
        self.uri = uri
        self._connector = connector
        self._storage = dict(storage)
        self._table: DeltaTable | None = None
        self._updates = 0
        self._seen: tuple[int, pa.Schema] | None = None  # its columns as they are in a version
        self._latest: tuple[int, int | None] | None = None  # the version seen last, and when it was written
        self._claims = Claims(uri, connector, self._owner)
        self._firsts: Mapping[TopicPartition, int] = {}  # the offsets of the first rows of the next commit

    # Reading.

    @property
    def exists(self) -> bool:
        """Whether the table existed at the last look."""
        return self._table is not None

    def look(self) -> bool:
        """Open the table, or read what is new in it. Returns whether it exists.

        Raises:
            RetriableError: its storage does not answer.
            ConnectError: it cannot be read, not be written by deltalake, or is no longer the one that was opened.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        current = self._table is not None and self._updates < _UPDATES and self._is_current()
        try:
            if current:
                self._there.update_incremental()
                self._updates += 1
                self._note_latest()
                return True
            table = DeltaTable(self.uri, storage_options=self._storage or None)
        except TableNotFoundError as error:
            if self._table is not None:
                raise ConnectError(self._replaced) from error
            if not is_missing(error):
                raise table_error(error, self.uri, "be opened") from error
            return False
        except Exception as error:  # deltalake raises plain Exceptions as well
            raise table_error(error, self.uri, "be opened") from error
        if (mapping := table.metadata().configuration.get("delta.columnMapping.mode", "none")) != "none":
            raise ConnectError(
                f"Table {self.uri} has column mapping ({mapping}), which the deltalake package cannot write in full. "
                "Use engine=spark."
            )
        if self._table is not None and table.metadata().id != self._table.metadata().id:
            raise ConnectError(self._replaced)
        self._table = table
        self._updates = 0
        self._note_latest()
        return True

    @property
    def columns(self) -> pa.Schema:
        """The table's columns, as Arrow has them."""
        import pyarrow as pa

        version = self.version
        if self._seen is None or self._seen[0] != version:
            self._seen = version, pa.schema(self._there.schema().to_arrow())
        return self._seen[1]

    @property
    def partition_columns(self) -> list[str]:
        """What it is partitioned by."""
        return list(self._there.metadata().partition_columns)

    @property
    def properties(self) -> dict[str, str]:
        """Those that it stores."""
        return dict(self._there.metadata().configuration)

    @property
    def protocol(self) -> Protocol:
        """What its readers and writers must know."""
        found = self._there.protocol()
        features = (*(found.reader_features or ()), *(found.writer_features or ()))
        return Protocol(found.min_reader_version, found.min_writer_version, frozenset(features))

    @property
    def version(self) -> int:
        """The last version seen."""
        return int(self._there.version())

    def offset(self, partition: TopicPartition) -> int | None:
        """The offset after the last record of a partition that is in the table; None when it has none."""
        found = self._transaction(self._id(partition))
        return None if found == UNKNOWN else found

    def begins_with(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether one of these is the first partition of its topic that the table has records of."""
        firsts: dict[str, int] = {}
        for topic, number in sorted(partitions):
            if self.offset(TopicPartition(topic, number)) is not None:
                firsts.setdefault(topic, number)
        return any(
            all(self.offset(TopicPartition(topic, number)) is None for number in range(first))
            for topic, first in firsts.items()
        )

    def read(self, columns: Iterable[str], where: Any) -> pa.Table:
        """Rows of the version seen last, in its types.

        Args:
            columns: their names.
            where: a condition of pyarrow's on them.

        Raises:
            RetriableError: the storage does not answer.
            ConnectError: the table cannot be read.
        """
        import pyarrow as pa

        names = list(columns)
        try:
            found = self._there.to_pyarrow_dataset().to_table(columns=names, filter=where)
        except Exception as error:  # deltalake and pyarrow raise anything
            raise table_error(error, self.uri, "be read") from error
        return found.cast(pa.schema([self.columns.field(name) for name in names]))

    # Writing.

    def create(self, columns: pa.Schema, partition_by: Iterable[str], properties: Mapping[str, str]) -> None:
        """Create the table, unless another writer already has.

        Raises as `look`, and Conflict when another writer creates it at the same time.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import CommitFailedError

        # Only those of Delta's properties that deltalake knows: it would not keep the promise of others.
        own = {key: value for key, value in properties.items() if key.startswith("delta.")}
        others = {key: value for key, value in properties.items() if key not in own}
        try:
            table = DeltaTable.create(
                self.uri,
                columns,
                mode="ignore",
                partition_by=list(partition_by) or None,
                configuration=own or None,
                storage_options=self._storage or None,
                raise_if_key_not_exists=True,
            )
            if others and table.version() == 0:
                table.alter.set_table_properties(others, raise_if_not_exists=False)
        except CommitFailedError as error:  # somebody else was faster by a little
            raise Conflict(str(error)) from error
        except Exception as error:
            raise table_error(error, self.uri, "be created") from error
        self.look()

    def claim(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over partitions: from now on, commits of their earlier owners are refused.

        Errors as `look`.
        """
        partitions = list(partitions)

        def commit() -> None:
            self.look()
            self._claims.plan(partitions)
            self._commit(self._empty_commit, partitions, {})

        until_committed(self.uri, commit)

    def expect_nobody(self, partitions: Iterable[TopicPartition]) -> None:
        """Note partitions to take over in a table that does not exist yet: whoever writes first will own them."""
        self._claims.expect_nobody(partitions)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that this task no longer owns."""
        self._claims.forget(partitions)

    def check_owned(self, partitions: Iterable[TopicPartition]) -> None:
        """Raise FencedError if another task has taken over one of these partitions since this one did.

        Partitions not yet taken over in this table are taken over by the next commit. ConnectError: the table is no
        longer the one that was opened.
        """
        if not self._is_current():
            self.look()
        self._claims.check(partitions)

    def expect_rows(self, firsts: Mapping[TopicPartition, int]) -> None:
        """Note the first offset of each partition's rows in the next commit, for its note."""
        self._firsts = dict(firsts)

    def commit(
        self, write: Callable[[DeltaTable, CommitProperties], object], offsets: Mapping[TopicPartition, int]
    ) -> None:
        """Commit a write together with offsets.

        The commit is based on what `look` saw last; call `check_owned` on that first.

        Raises:
            Conflict: another writer committed first: `look` and decide again.
            RetriableError: the storage does not answer. `offset` tells whether the commit was made.
            ConnectError: the table cannot be written.
        """
        ranges = {partition: (self._firsts.get(partition), offset - 1) for partition, offset in offsets.items()}
        said = note(self._connector, ranges)
        self._commit(lambda properties: write(self._there, properties), offsets, offsets, said)

    def commit_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets without rows. Raises as `commit`."""
        self.commit(lambda _, properties: self._empty_commit(properties), offsets)

    def change(
        self, write: Callable[[DeltaTable, CommitProperties], object], partitions: Iterable[TopicPartition]
    ) -> None:
        """Commit a change of the table itself, for the rows of partitions that come next. Raises as `commit`.

        Args:
            write: makes the commit.
            partitions: this task has to own them.
        """
        self._commit(lambda properties: write(self._there, properties), partitions, {})

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Set the offsets that a user asked for, and fence all tasks that still write."""
        wanted = {partition: UNKNOWN if offset is None else offset for partition, offset in offsets.items()}

        def commit() -> None:
            self.claim(wanted)
            self._commit(self._empty_commit, wanted, wanted)

        until_committed(self.uri, commit)
        self.forget(wanted)

    # Internals.

    @property
    def _there(self) -> DeltaTable:
        assert self._table is not None, "look first"
        return self._table

    @property
    def _replaced(self) -> str:
        return (
            f"Table {self.uri} was deleted, or made again, since this task opened it. Restart the task: it begins "
            "where the table there says, or the consumer group."
        )

    def _is_current(self) -> bool:
        """Whether the log has the version seen last, as it was then. Else the table has to be opened anew.

        deltalake does not look back: it would mix the columns and rows of two tables.
        """
        try:
            return self._latest is not None and self._latest == self._written_at(self._latest[0])
        except Exception as error:
            raise table_error(error, self.uri, "be read") from error

    def _note_latest(self) -> None:
        try:
            self._latest = self._written_at(self.version)
        except Exception as error:  # the storage does not answer any more: the next look opens the table anew
            log.debug("Table %s: %s", self.uri, error)
            self._latest = None

    def _written_at(self, version: int) -> tuple[int, int | None]:
        """A version, and when it was written (ns since 1970): None if it is not in the log."""
        from deltalake.fs import DeltaStorageHandler

        files = DeltaStorageHandler.from_table(self._there._table, self._storage or None)
        return version, files.get_file_info([f"_delta_log/{version:020}.json"])[0].mtime_ns

    def _id(self, partition: TopicPartition) -> str:
        return f"connect/{self._connector}/{partition.topic}-{partition.partition}"

    def _owner_id(self, partition: TopicPartition) -> str:
        return f"{self._id(partition)}/owner"

    def _owner(self, partition: TopicPartition) -> int:
        return self._transaction(self._owner_id(partition)) or 0

    def _transaction(self, identity: str) -> int | None:
        if self._table is None:
            return None
        try:
            return self._table.transaction_version(identity)
        except Exception as error:
            raise table_error(error, self.uri, "be read") from error

    def _commit(
        self,
        write: Callable[[CommitProperties], Any],
        partitions: Iterable[TopicPartition],
        offsets: Mapping[TopicPartition, int],
        said: str | None = None,
    ) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError

        owners = self._claims.numbers(partitions)
        properties = CommitProperties(
            app_transactions=[
                *(Transaction(self._owner_id(partition), number) for partition, number in owners.items()),
                *(Transaction(self._id(partition), offset) for partition, offset in offsets.items()),
            ],
            custom_metadata={"connector": self._connector} | ({} if said is None else {"userMetadata": said}),
        )
        try:
            write(properties)
        except CommitFailedError as error:
            if is_beyond(error):
                raise table_error(error, self.uri, "be written") from error
            log.debug("Table %s: %s", self.uri, error)
            raise Conflict(str(error).partition("\n")[0]) from error
        except Exception as error:
            raise table_error(error, self.uri, "be written") from error
        self._claims.made(owners)
        self._note_latest()

    def _empty_commit(self, properties: CommitProperties) -> None:
        table = self._there
        table.create_write_transaction([], "append", table.schema(), commit_properties=properties)
        table.update_incremental()
