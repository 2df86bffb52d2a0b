"""The table of consumed offsets, which makes a sink deliver exactly once.

    connector, topic, partition | next_offset | owner

A task claims the rows of its partitions when they are assigned to it, with a mark of its own, and advances them in the
same transaction as its rows. A late write of an earlier owner finds another mark and is rolled back as a whole.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError, IntegrityError

from connect import ConnectError, FencedError, TopicPartition
from connectors.jdbc.database import Database, TableName, passes
from connectors.jdbc.database.connection import reason

log = logging.getLogger(__name__)

_TRIES: Final = 5
#: Between tries to claim.
_PAUSE_S: Final = 1.0


class Ledger:
    """The rows of one task's partitions.

    Args:
        database: with the table.
        name: of the table.
        connector: whose offsets they are.
    """

    def __init__(self, database: Database, name: TableName, connector: str) -> None:
        self._database = database
        self._name = name = database.local(name)
        self._connector = connector
        self._owner = uuid.uuid4().hex
        self._known: dict[TopicPartition, int | None] = {}
        self._certain: set[TopicPartition] = set()  # whose row is as it is known
        text = sqlalchemy.String(249).with_variant(
            mysql.VARCHAR(249, charset="utf8mb4", collation="utf8mb4_bin"), "mysql"
        )
        self._table = sqlalchemy.Table(
            name.name,
            sqlalchemy.MetaData(),
            # With the partition at most 3072 bytes in a key of MySQL's.
            sqlalchemy.Column("connector", text, primary_key=True),
            sqlalchemy.Column("topic", text, primary_key=True),
            sqlalchemy.Column("partition_number", sqlalchemy.Integer, primary_key=True, autoincrement=False),
            sqlalchemy.Column("next_offset", sqlalchemy.BigInteger, nullable=True),
            sqlalchemy.Column("owner", sqlalchemy.String(32), nullable=True),
            schema=name.sqlalchemy_schema,
            quote=database.settings.quotes or None,
        )

    def claim(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Claim partitions; returns where to continue, if the table has it.

        Raises:
            RetriableError: the database cannot be reached.
            ConnectError: the table cannot be written.
        """
        for attempt in range(_TRIES):
            try:
                self._create()
                with self._database.transaction() as connection:
                    begin(self._database, connection)
                    for partition in sorted(partitions):
                        self._claim(connection, partition)
                    found = self._read(connection, partitions)
            except DBAPIError as error:
                # Another task may have put down the same row.
                if attempt + 1 == _TRIES or not (passes(error) or isinstance(error, IntegrityError)):
                    raise self._failed(error) from error
                time.sleep(_PAUSE_S)
            else:
                self._known.update({partition: offset for partition, (offset, _) in found.items()})
                return {partition: offset for partition, (offset, _) in found.items() if offset is not None}
        raise AssertionError("the last try raises")

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions are no longer assigned."""
        for partition in partitions:
            self._known.pop(partition, None)
            self._certain.discard(partition)

    def doubt(self) -> None:
        """A transaction failed, perhaps in its commit: read the row of each partition before its next one."""
        self._certain.clear()

    def known(
        self, connection: Connection, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """The offsets up to which rows of these partitions are in the database. First statement of a transaction.

        Raises:
            FencedError: another task owns a partition by now.
        """
        doubtful = [partition for partition in partitions if partition not in self._certain]
        for partition, (offset, owner) in self._read(connection, doubtful, lock=True).items():
            if owner != self._owner:
                raise self._fenced(partition)
            self._known[partition] = offset
        return self._known

    def move(self, connection: Connection, offsets: Mapping[TopicPartition, int]) -> None:
        """Store where to continue, in the transaction that writes the rows. Locks the partitions against later owners.

        Raises:
            FencedError: another task owns a partition by now.
        """
        rows = self._table
        for partition, offset in sorted(offsets.items()):
            statement = (
                rows.update().where(*self._is(partition), rows.c.owner == self._owner).values(next_offset=offset)
            )
            if connection.execute(statement).rowcount != 1:
                raise self._fenced(partition)

    def moved(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The transaction is committed."""
        self._known.update(offsets)
        self._certain.update(offsets)

    def alter(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Set a user's offsets while no task runs. None deletes a partition.

        Raises:
            RetriableError: the database cannot be reached.
            ConnectError: the table cannot be written.
        """
        try:
            self._create()
            with self._database.transaction() as connection:
                begin(self._database, connection)
                for partition, offset in sorted(offsets.items()):
                    connection.execute(self._table.delete().where(*self._is(partition)))
                    if offset is not None:
                        connection.execute(self._table.insert().values(**self._row(partition), next_offset=offset))
        except DBAPIError as error:
            raise self._failed(error) from error

    # Statements.

    def _create(self) -> None:
        try:
            with self._database.transaction() as connection:
                self._table.create(connection, checkfirst=True)
        except DBAPIError as error:
            if passes(error):
                raise
            with self._database.transaction() as connection:
                # Another task may have been faster.
                if not sqlalchemy.inspect(connection).has_table(self._name.name, self._name.sqlalchemy_schema):
                    raise

    def _claim(self, connection: Connection, partition: TopicPartition) -> None:
        # The change comes first: it waits for a write of an earlier owner, and locks.
        rows = self._table
        done = connection.execute(rows.update().where(*self._is(partition)).values(owner=self._owner))
        if done.rowcount == 0:
            connection.execute(rows.insert().values(**self._row(partition), owner=self._owner))

    def _read(
        self, connection: Connection, partitions: Sequence[TopicPartition], *, lock: bool = False
    ) -> dict[TopicPartition, tuple[int | None, str | None]]:
        rows = self._table
        found: dict[TopicPartition, tuple[int | None, str | None]] = {}
        for partition in sorted(partitions):
            query = sqlalchemy.select(rows.c.next_offset, rows.c.owner).where(*self._is(partition))
            row = connection.execute(query.with_for_update() if lock else query).first()
            found[partition] = (None, None) if row is None else (row[0], row[1])
        return found

    def _is(self, partition: TopicPartition) -> tuple[Any, ...]:
        rows = self._table.c
        return (
            rows.connector == self._connector,
            rows.topic == partition.topic,
            rows.partition_number == partition.partition,
        )

    def _row(self, partition: TopicPartition) -> dict[str, Any]:
        return {"connector": self._connector, "topic": partition.topic, "partition_number": partition.partition}

    def _failed(self, error: DBAPIError) -> ConnectError:
        return ConnectError(f'Table "{self._name}" of {self._database}: {reason(error)}')

    def _fenced(self, partition: TopicPartition) -> FencedError:
        return FencedError(
            f'Partition {partition} is another task\'s by now, says table "{self._name}". Nothing was written.'
        )


def begin(database: Database, connection: Connection) -> None:
    """The first statement of a transaction: SQLite's driver would begin one only with the first change."""
    raw: Any = connection.connection.driver_connection
    if database.kind == "sqlite" and not raw.in_transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
