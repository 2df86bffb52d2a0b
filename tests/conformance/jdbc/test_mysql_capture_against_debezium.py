"""The same changes of the same MariaDB, captured by Debezium's connector in a worker of Java and by ours."""

import json
import re
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture import MariaDbCdcSourceConnector
from tests.servers.mariadb import MariaDatabase, MariaServer

from .beside_debezium import (
    JSON,
    Record,
    by_table,
    capture,
    check_that_none_differs,
    check_that_ours_goes_on_where_debezium_stopped,
    has,
    need,
    numbers,
    wait,
)
from .debezium_connector import java_worker, maria_keys, stored_offset
from .mysql_capture_cases import CHANGES, LAST, LAX, MODES, SCHEMA, SNAPSHOT

JARS = "debezium-mysql"
#: What differs by its nature in the block `source`.
OWN = {"version"}

#: Where we differ on purpose: the end of a path, and why. Values of such fields are not compared.
DELIBERATE = {
    "odd.a_timestamp": "Debezium's stream has 1970 for a timestamp of zeros, its snapshot null.",
    "odd.a_timestamp_nn": "The same; its snapshot has the column's default.",
    "odd.a_float": "Debezium's snapshot has six digits of a float.",
    "odd.an_enum": "Debezium's stream has a backslash before the comma of a label.",
    "defaults.quoted": "Debezium leaves a quote of a default doubled.",
    "defaults.big": "Debezium has the largest signed number for a default beyond it.",
}


@pytest.fixture(scope="module")
def needed(cannot_have: Callable[[str, object], NoReturn]) -> None:
    """Debezium's connector, and what runs it."""
    need(JARS, cannot_have)


def _run(database: MariaDatabase, statements: list[str]) -> None:
    with closing(database.connect()) as connection, connection.cursor() as cursor:
        for sql in [LAX, *statements]:
            for part in re.split(r";\s", sql):
                cursor.execute(part)


@pytest.fixture(scope="module")
def captured(
    broker: Broker, mariadb: MariaServer, tmp_path_factory: pytest.TempPathFactory, needed: None
) -> Iterator[dict[str, tuple[list[Record], list[Record]]]]:
    """For each mode what Debezium made of it, and what we did."""
    database = mariadb.database("conformance")
    _run(database, SCHEMA + SNAPSHOT)
    modes = {
        mode: {key: value.format(database=database.name) for key, value in more.items()}
        | {"table.exclude.list": f"{database.name}.not_captured"}
        for mode, more in MODES.items()
    }
    theirs = {
        mode: maria_keys(broker, database, f"maria_java_{mode}", 61_000 + number) | more
        for number, (mode, more) in enumerate(modes.items())
    }
    ours = {
        mode: SourceRun(
            MariaDbCdcSourceConnector,
            maria_keys(broker, database, f"maria_ours_{mode}", 62_000 + number) | JSON | more,
            timeout=60,
        )
        for number, (mode, more) in enumerate(modes.items())
    }
    folder = tmp_path_factory.mktemp("debezium")
    try:
        yield capture(broker, folder, theirs, ours, JARS, partial(_run, database, CHANGES), _last_change)
    finally:
        database.drop()


def _last_change(record: Record) -> bool:
    return record[0].endswith(".changed") and record[1] is not None and record[1]["payload"].get("id") == LAST


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_change_is_captured_as_debezium_does(
    captured: dict[str, tuple[list[Record], list[Record]]], mode: str
) -> None:
    theirs, ours = (by_table(side) for side in captured[mode])
    # Debezium has a tombstone without a key for the deletion of a row without a key.
    theirs["no_key"] = [pair for pair in theirs["no_key"] if pair != (None, None)]
    check_that_none_differs(theirs, ours, DELIBERATE, OWN)


@pytest.fixture
def line(mariadb: MariaServer, needed: None) -> Iterator[MariaDatabase]:
    """A database with a table of numbers; its name is a prefix of topics as well."""
    database = mariadb.database(f"moved_{uuid.uuid4().hex[:8]}")
    database.execute("CREATE TABLE line (id int PRIMARY KEY)")
    yield database
    database.drop()


def _insert(database: MariaDatabase, first: int, last: int) -> None:
    database.execute(f"INSERT INTO line SELECT seq FROM seq_{first}_to_{last}")


@pytest.mark.slow
def test_it_goes_on_where_debezium_stopped(broker: Broker, line: MariaDatabase, tmp_path: Path) -> None:
    config = maria_keys(broker, line, line.name, 63_000) | {"max.batch.size": "100", "max.queue.size": "200"}
    check_that_ours_goes_on_where_debezium_stopped(
        broker, tmp_path, MariaDbCdcSourceConnector, config, JARS, partial(_insert, line), many=20_000
    )


@pytest.mark.slow
def test_debezium_goes_on_where_it_stopped(broker: Broker, line: MariaDatabase, tmp_path: Path) -> None:
    prefix = line.name
    config = maria_keys(broker, line, prefix, 64_000) | {"max.batch.size": "100"}
    _insert(line, 0, 0)
    with java_worker(broker.bootstrap_servers, tmp_path / "one", {prefix: config}, JARS) as log:
        wait(broker, prefix, has(0), log)  # with the snapshot it has a history of schemas
    offset = stored_offset(tmp_path / "one", prefix)
    run = SourceRun(MariaDbCdcSourceConnector, config, offsets=[({"server": prefix}, offset)], timeout=60)
    with run:
        _insert(line, 1, 9)
        line.execute("UPDATE line SET id = -id WHERE id > 0")
        _insert(line, 10, 2000)
        run.poll_until(1000)  # in the middle of a transaction
    ours = [record.key["id"] for record in run.records]
    assert ours[-1] < 1900
    _insert(line, 2001, 2100)
    ((partition, offset),) = run.offsets
    (tmp_path / "two").mkdir()
    (tmp_path / "two/offsets").write_bytes(
        _java_map(json.dumps([prefix, partition], separators=(",", ":")), json.dumps(offset))
    )
    with java_worker(broker.bootstrap_servers, tmp_path / "two", {prefix: config}, JARS) as log:
        wait(broker, prefix, has(2100), log)
    theirs = numbers(broker, prefix, 2100)
    assert theirs == [0, *range(ours[-1] + 1, 2101)]


def _java_map(key: str, value: str) -> bytes:
    """A java.util.HashMap of byte arrays with one entry, in Java's serialization: the file of a standalone worker."""
    name = b"java.util.HashMap"
    described = b"\x72" + len(name).to_bytes(2, "big") + name + bytes.fromhex("0507dac1c31660d1") + b"\x03\0\x02"
    described += b"F\0\x0aloadFactorI\0\x09threshold" + b"\x78\x70"
    fields = struct.pack(">fi", 0.75, 12) + b"\x77\x08" + struct.pack(">ii", 16, 1)
    array = b"\x72\0\x02[B" + bytes.fromhex("acf317f8060854e0") + b"\x02\0\0\x78\x70"
    first, second = key.encode(), value.encode()
    entry = b"\x75" + array + struct.pack(">i", len(first)) + first
    entry += b"\x75\x71\0\x7e\0\x02" + struct.pack(">i", len(second)) + second
    return b"\xac\xed\0\x05\x73" + described + fields + entry + b"\x78"
