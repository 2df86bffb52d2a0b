"""One Iceberg table, which takes rows and their offsets in the same commit.

For each topic partition there is a property of the table:

    connect.offsets.<connector>.<topic>-<partition> = <offset after the last record in the table>/<owner>

In the connector's name all but letters, digits, "-", "_" and "~" are written as in a URL, a dot as %2E: names of topics
have dots as well.

`owner` is a number that grows whenever a task takes over the partition. Properties stay when snapshots expire, and when
others compact the table. Every commit of ours adds a snapshot, if need be one without files, on the condition that the
branch still is where it was at the last look: so a replaced owner cannot add a row any more, however late its commit
comes. It has to look again, and then sees that it does not own the partition.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.iceberg.keys import MAIN
from spark_sink.iceberg.problems import table_error
from spark_sink.rows.claims import Claims
from spark_sink.rows.conflicts import Conflict, until_committed

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.table import Table as IcebergTable

    from spark_sink.iceberg.evolution import Change
    from spark_sink.iceberg.transaction import Attempt

log = logging.getLogger(__name__)

_PROPERTY: Final = re.compile(r"(\d{0,19})/(\d{1,19})")
#: Between two tries: grows from the first to the second, in seconds, and is cut by chance.
_PAUSE_S: Final = (0.02, 1.0)


def pause(tried: int) -> None:
    """Wait before another try, so that tasks of one table do not go on meeting each other."""
    least, most = _PAUSE_S
    time.sleep(random.uniform(0, min(most, least * 2**tried)))  # noqa: S311 - no secret


def _part(name: str) -> str:
    """A name as a part of another, which dots divide."""
    return quote(name, safe="").replace(".", "%2E")


class Table:
    """An Iceberg table, which may not exist yet.

    Args:
        catalog: that knows it.
        name: with its namespace.
        connector: its name; the table's offsets are its own.
        branch: that is written.
    """

    def __init__(self, catalog: Catalog, name: str, connector: str, branch: str = MAIN) -> None:
        self.name = name
        self.branch = branch
        self._catalog = catalog
        self._connector = connector
        self._table: IcebergTable | None = None
        self._claims = Claims(name, connector, self._owner)

    # Reading.

    @property
    def exists(self) -> bool:
        """Whether the table existed at the last look."""
        return self._table is not None

    @property
    def there(self) -> IcebergTable:
        """The table of pyiceberg, as last seen."""
        assert self._table is not None, "look first"
        return self._table

    @property
    def schema(self) -> IcebergSchema:
        """Its columns."""
        return self.there.schema()

    def look(self) -> bool:
        """Read the table's metadata from the catalog. Returns whether it exists.

        Raises:
            RetriableError: the catalog, or the table's storage, does not answer.
            ConnectError: it cannot be read.
        """
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            self._table = self._catalog.load_table(self.name)
        except (NoSuchTableError, NoSuchNamespaceError):
            self._table = None
            return False
        except Exception as error:  # clients of five kinds of catalogs raise what they want
            raise table_error(error, self.name, "be opened") from error
        return True

    def offset(self, partition: TopicPartition) -> int | None:
        """The offset after the last record of a partition that is in the table; None when it has none."""
        return self._known(partition)[0]

    # Writing.

    def create(self, schema: IcebergSchema, partition_by: Iterable[str], properties: Mapping[str, str]) -> None:
        """Create the table, and its namespace.

        Raises:
            ConnectError: it cannot be created so. Else as `look`.
        """
        from pyiceberg.exceptions import NamespaceAlreadyExistsError, TableAlreadyExistsError

        from spark_sink.iceberg.partitions import partition_spec

        spec = partition_spec(schema, list(partition_by), self.name)
        namespace = self.name.rpartition(".")[0]
        try:
            try:
                self._catalog.create_namespace_if_not_exists(namespace)
            except NamespaceAlreadyExistsError:
                log.debug("The namespace %s was created by another task meanwhile.", namespace)
            try:
                self._catalog.create_table(self.name, schema, partition_spec=spec, properties=dict(properties))
                log.info("Table %s is created.", self.name)
            except TableAlreadyExistsError:
                log.debug("Table %s was created by another task meanwhile.", self.name)
        except Exception as error:
            raise table_error(error, self.name, "be created") from error
        self.look()

    def grow(self, changes: Sequence[Change]) -> None:
        """Change columns, in one commit. Raises as `commit`."""

        def change(attempt: Attempt) -> None:
            with attempt.update_schema() as update:
                for each in changes:
                    each.make(update)

        self._try(change)
        log.info("Table %s: %s.", self.name, "; ".join(map(str, changes)))

    def claim(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over partitions: from now on, commits of their earlier owners are refused.

        Errors as `look`.
        """
        partitions = list(partitions)
        self._until_made(lambda: self._commit_offsets({p: self.offset(p) for p in partitions}), partitions)

    def expect_nobody(self, partitions: Iterable[TopicPartition]) -> None:
        """Note partitions to take over in a table that does not exist yet: whoever writes first will own them."""
        self._claims.expect_nobody(partitions)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that this task no longer owns."""
        self._claims.forget(partitions)

    def check_owned(self, partitions: Iterable[TopicPartition]) -> None:
        """Raise FencedError if another task has taken over one of these partitions since this one did.

        Partitions not yet taken over in this table are taken over by the next commit.
        """
        self._claims.check(partitions)

    def commit(self, write: Callable[[Attempt], Any], offsets: Mapping[TopicPartition, int | None]) -> None:
        """Commit a write together with offsets.

        The commit is based on what `look` saw last; call `check_owned` on that first.

        Args:
            write: adds one snapshot to the branch.
            offsets: of partitions; None for no offset.

        Raises:
            Conflict: another writer committed first: decide again by what the table is now.
            RetriableError: the catalog, or the storage, does not answer. `offset` tells whether the commit was made.
            ConnectError: the table cannot be written.
        """
        numbers = self._claims.numbers(offsets)
        self._begin_branch()

        def both(attempt: Attempt) -> None:
            marks = {self._property(p): f"{'' if at is None else at}/{numbers[p]}" for p, at in offsets.items()}
            attempt.set_properties(marks)
            write(attempt)

        self._try(both)
        self._claims.made(numbers)

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Set the offsets that a user asked for, and fence all tasks that still write."""
        self._until_made(lambda: self._commit_offsets(offsets), list(offsets))
        self.forget(offsets)

    # Internals.

    def _commit_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        self.commit(lambda attempt: self.snapshot(attempt).fast_append().commit(), offsets)

    def snapshot(self, attempt: Attempt) -> Any:
        """The beginning of a snapshot of the branch."""
        return attempt.update_snapshot({"connector": self._connector}, branch=self.branch)

    def _until_made(self, commit: Callable[[], None], partitions: list[TopicPartition]) -> None:
        def planned() -> None:
            self._claims.plan(partitions)
            commit()

        def again(tried: int) -> None:
            pause(tried)
            self.look()

        self.look()
        until_committed(self.name, planned, again)

    def _try(self, stage: Callable[[Attempt], None]) -> None:
        from pyiceberg.exceptions import CommitFailedException

        from spark_sink.iceberg.transaction import Attempt

        attempt = Attempt(self.there)
        try:
            stage(attempt)
            attempt.commit_transaction()
        except CommitFailedException as error:
            self.look()
            if self._table is not None and attempt.is_in(self._table):
                return
            attempt.discard()
            raise Conflict(str(error)) from error
        except ConnectError:
            raise
        except Exception as error:
            raise table_error(error, self.name, "be written") from error

    def _begin_branch(self) -> None:
        """Let a missing branch begin where main is, as Iceberg's own connector does."""
        from pyiceberg.exceptions import CommitFailedException

        if self.branch == MAIN or self.branch in self.there.refs():
            return
        if self.there.current_snapshot() is None:  # a branch needs something to begin at
            self._try(lambda attempt: attempt.update_snapshot(branch=MAIN).fast_append().commit())
        head = self.there.current_snapshot()
        assert head is not None
        try:
            with self.there.manage_snapshots() as change:
                change.create_branch(head.snapshot_id, self.branch)
        except CommitFailedException as error:
            raise Conflict(str(error)) from error
        except Exception as error:
            raise table_error(error, self.name, "get a branch") from error

    def _property(self, partition: TopicPartition) -> str:
        branch = "" if self.branch == MAIN else f"@{_part(self.branch)}"
        return f"connect.offsets.{_part(self._connector)}{branch}.{partition.topic}-{partition.partition}"

    def _owner(self, partition: TopicPartition) -> int:
        return self._known(partition)[1]

    def _known(self, partition: TopicPartition) -> tuple[int | None, int]:
        """The offset and the owner of a partition."""
        if self._table is None:
            return None, 0
        name = self._property(partition)
        written = self._table.properties.get(name)
        if written is None:
            return None, 0
        found = _PROPERTY.fullmatch(written)
        if found is None:
            raise ConnectError(
                f'Table {self.name}: its property {name} is "{written}", which no connector wrote. Write an offset and '
                "a number, such as 17/1, or remove it: then the connector begins where its consumer group is."
            )
        return (int(found[1]) if found[1] else None), int(found[2])
