"""Offsets in the database, in the same transaction as the rows: nothing is repeated, and a late owner is kept out."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection

from connect import FencedError, TopicPartition
from connect.testing import SinkRun
from connectors.jdbc.database import Database
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Target, person

__all__ = ["target"]

PLACE = TopicPartition("people", 0)


def run(target: Target, **more: str) -> SinkRun:
    config = {"name": "people-sink", "topics": "people", "exactly.once": "true", "auto.create": "true", **target.config}
    return SinkRun(JdbcSinkConnector, {**config, "retry.backoff.ms": "1", **more}, timeout=60)


def ids(target: Target) -> list[int]:
    return [row[0] for row in target.execute("SELECT id FROM people ORDER BY id")]


def test_offsets_are_kept_with_the_rows(target: Target) -> None:
    with run(target) as sink:
        sink.put(person(1), person(2))
        (row,) = target.execute("SELECT connector, topic, partition_number, next_offset FROM connect_offsets")
        assert row == ("people-sink", "people", 0, 2)
        sink.put(*map(person, range(3, 1003)))
        sink.commit()
    assert target.execute("SELECT next_offset FROM connect_offsets") == [(1002,)]
    assert ids(target) == list(range(1, 1003))


def test_what_was_written_and_not_committed_is_not_written_again(target: Target) -> None:
    with run(target) as sink:
        sink.put(person(1), person(2))
        sink.crash()
        sink.restart()
        sink.put(person(3))
    assert ids(target) == [1, 2, 3]


@pytest.mark.parametrize("count", [3, 900])
def test_a_commit_that_got_no_answer_is_looked_for(target: Target, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    transaction, commits, lost = Database.transaction, itertools.count(), []

    @contextmanager
    def lossy(self: Database) -> Iterator[Connection]:
        with transaction(self) as connection:
            yield connection
            rows = connection.exec_driver_sql("SELECT count(*) FROM connect_offsets WHERE next_offset > 0").scalar()
        if rows and next(commits) % 2 == 0:
            lost.append(rows)
            self.discard()
            raise ConnectionResetError("the answer to COMMIT is lost")

    with run(target) as sink:
        sink.put(person(0))
        monkeypatch.setattr(Database, "transaction", lossy)
        for part in range(6):
            sink.put(*map(person, range(1 + part * count, 1 + (part + 1) * count)))
        sink.commit()
    assert lost
    assert ids(target) == list(range(1 + 6 * count))


def test_offsets_that_a_user_alters_are_altered_in_the_table(target: Target) -> None:
    with run(target) as sink:
        sink.put(person(1), person(2))
        config = dict(sink.connector.config)
        assert sink.connector.alter_offsets(config, {PLACE: 1})
        assert target.execute("SELECT next_offset FROM connect_offsets") == [(1,)]
        assert sink.connector.alter_offsets(config, {PLACE: None})
        assert target.execute("SELECT next_offset FROM connect_offsets") == []


def test_a_late_owner_writes_nothing(target: Target) -> None:
    with run(target) as late:
        late.put(person(1))
        with run(target) as heir:
            heir.put(person(2), person(3))
            with pytest.raises(FencedError, match="another task"):
                late.put(person(9))
    assert ids(target) == [1, 3]  # each SinkRun has a topic of its own, and the heir goes on at offset 1


def test_a_record_that_is_reported_is_behind_us_as_well(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50) NOT NULL, balance decimal(5, 2))")
    with run(target, **{"errors.tolerance": "all", "errors.log.enable": "true"}) as sink:
        sink.put(person(1), person(2, None), person(3), person(4, None))
        assert [record.offset for record, _ in sink.errant] == [1, 3]
    assert ids(target) == [1, 3]
    assert target.execute("SELECT next_offset FROM connect_offsets") == [(4,)]


def test_connectors_share_the_table_and_may_have_one_of_their_own(target: Target) -> None:
    with run(target) as sink:
        sink.put(person(1))
    with run(target, name="other", **{"table.name.format": "others"}) as sink:
        sink.put(person(1))
    with run(target, **{"offsets.table": "my offsets", "table.name.format": "mine"}) as sink:
        sink.put(person(1))
    assert sorted(target.execute("SELECT connector FROM connect_offsets")) == [("other",), ("people-sink",)]
    assert target.execute('SELECT next_offset FROM "my offsets"') == [(1,)]
