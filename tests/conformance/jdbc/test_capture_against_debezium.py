"""The same changes of the same database, captured by Debezium's connector in a worker of Java and by ours."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun
from connectors.jdbc.capture import PostgresCdcSourceConnector
from tests.servers.postgresql import PostgresDatabase, PostgresServer

from .beside_debezium import (
    JSON,
    Record,
    by_table,
    capture,
    check_that_none_differs,
    check_that_ours_goes_on_where_debezium_stopped,
    need,
)
from .capture_cases import CHANGES, LAST, MODES, SCHEMA, SNAPSHOT
from .debezium_connector import keys

JARS = "debezium-postgres"
#: What differs by its nature in the block `source`: each counts from its own beginning; and where each snapshot was.
OWN = {"version", "sequence"}
OWN_OF_SNAPSHOT = {"txId", "lsn"}

#: Where we differ on purpose: the end of a path, and why. Values of such fields are not compared.
DELIBERATE = {
    "everything.a_name": "Debezium's stream has null for a name, unlike its snapshot.",
    "everything.a_time": "24:00:00 has no place in Connect's Time; ours is the last millisecond of the day.",
    "everything.a_timestamp_3": "Debezium's snapshot counts years before 1582 by the Julian calendar, its stream not.",
    "everything.a_date": "The same.",
    "odd.a_timestamp": "The same; and with time.precision.mode=connect what Python cannot say becomes its nearest.",
    "odd.a_timestamp_3": "Infinity in the mode connect: likewise.",
    "odd.a_timestamptz": "The Julian calendar, again.",
    "odd.a_date": "The same; infinity, which Debezium's snapshot and stream give different days, is the last one.",
    "odd.a_box": "Of unknown types we have the text that PostgreSQL sends, Debezium one that its driver makes.",
    "defaults.name": "Debezium cuts a default at its quote: it's becomes it.",
    "defaults.cash": "Debezium gives 3.0 for $3.00 as text.",
    "large.data": "Debezium has null for bytes that were not sent when they are to be written in base64.",
}


@pytest.fixture(scope="module")
def needed(cannot_have: Callable[[str, object], NoReturn]) -> None:
    """Debezium's connector, and what runs it."""
    need(JARS, cannot_have)


@pytest.fixture(scope="module")
def captured(
    broker: Broker, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, needed: None
) -> Iterator[dict[str, tuple[list[Record], list[Record]]]]:
    """For each mode what Debezium made of it, and what we did."""
    database = postgres.database("conformance")
    database.execute(SCHEMA)
    for sql in SNAPSHOT:
        database.execute(sql)
    shop = {"schema.include.list": "shop"}
    theirs = {mode: keys(database, f"java_{mode}") | shop | more for mode, more in MODES.items()}
    ours = {
        mode: SourceRun(PostgresCdcSourceConnector, keys(database, f"ours_{mode}") | shop | JSON | more, timeout=60)
        for mode, more in MODES.items()
    }

    def change() -> None:
        for sql in CHANGES:
            database.execute(sql)

    folder = tmp_path_factory.mktemp("debezium")
    try:
        yield capture(broker, folder, theirs, ours, JARS, change, _last_change)
    finally:
        database.drop()


def _last_change(record: Record) -> bool:
    return record[0].endswith(".changing") and record[1] is not None and record[1]["payload"].get("id") == LAST


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_change_is_captured_as_debezium_does(
    captured: dict[str, tuple[list[Record], list[Record]]], mode: str
) -> None:
    theirs, ours = (by_table(side) for side in captured[mode])
    # Debezium's snapshot has the rows of partitions a second time, under the name of their table.
    assert theirs.pop("split")
    assert "split" not in ours
    check_that_none_differs(theirs, ours, DELIBERATE, OWN, OWN_OF_SNAPSHOT)


@pytest.mark.slow
def test_it_goes_on_where_debezium_stopped(
    broker: Broker, postgres_database: PostgresDatabase, tmp_path: Path, needed: None
) -> None:
    database = postgres_database
    database.execute("CREATE TABLE line (id int PRIMARY KEY)")
    config = keys(database, f"moved_{uuid.uuid4().hex[:8]}")

    def insert(first: int, last: int) -> None:
        database.execute(f"INSERT INTO line SELECT generate_series({first}, {last})")

    check_that_ours_goes_on_where_debezium_stopped(
        broker, tmp_path, PostgresCdcSourceConnector, config, JARS, insert, many=5000
    )
