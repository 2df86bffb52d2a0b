"""The table of offsets: what a task knows of it, and what it reads again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from connect import ConnectError, TopicPartition
from connectors.jdbc.database import Database, TableName
from connectors.jdbc.sink.keys import JdbcSinkOptions
from connectors.jdbc.sink.ledger import Ledger, begin

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    config = {"connection.url": f"jdbc:sqlite:{tmp_path / 'test.db'}"}
    made = Database(JdbcSinkOptions.parse(config), config)
    yield made
    made.close()


def known(database: Database, ledger: Ledger, partition: TopicPartition) -> int | None:
    """What the table is known to have at the beginning of a transaction, which then moves the partition."""
    with database.transaction() as connection:
        begin(database, connection)
        found = ledger.known(connection, [partition]).get(partition)
        ledger.move(connection, {partition: (found or 0) + 1})
    ledger.moved({partition: (found or 0) + 1})
    return found


def test_after_a_commit_without_an_answer_each_partition_is_read_again(database: Database) -> None:
    ledger = Ledger(database, TableName("offsets"), "sink")
    ledger.claim([ONE, OTHER])
    assert [known(database, ledger, partition) for partition in (ONE, OTHER)] == [None, None]
    with database.transaction() as connection:
        begin(database, connection)
        ledger.move(connection, {ONE: 10, OTHER: 20})
    ledger.doubt()  # it was committed, and nobody said so
    # Its batch may be put in parts, a partition at a time.
    assert [known(database, ledger, partition) for partition in (ONE, OTHER)] == [10, 20]
    assert [known(database, ledger, partition) for partition in (ONE, OTHER)] == [11, 21]


def test_a_table_that_cannot_be_written_is_named_and_no_statement_is_shown(database: Database) -> None:
    with database.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE offsets (other integer)")
    with pytest.raises(ConnectError, match='Table "offsets" of SQLite') as caught:
        Ledger(database, TableName("offsets"), "sink").alter({ONE: 5})
    assert "DELETE FROM" not in str(caught.value)
