"""The same changes of the same MariaDB, captured by Debezium's connector in a worker of Java and by ours."""

import json
import re
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture import MariaDbCdcSourceConnector
from tests.servers.mariadb import MariaDatabase, MariaServer

from .debezium_connector import java_worker, maria_keys, records, stored_offset
from .mysql_capture_cases import CHANGES, LAST, LAX, MODES, SCHEMA, SNAPSHOT

Record = tuple[str, Any, Any]

#: What differs by its nature: clocks, and the place of each snapshot.
_OWN = {"ts_ms", "ts_us", "ts_ns"}
_OWN_OF_SOURCE = {"version"}

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
    try:
        find_java(17)
        resolve("kafka-connect")
        resolve("debezium-mysql")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Debezium's MariaDB connector", error)


_CONVERTERS = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


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
        f"maria_java_{mode}": maria_keys(broker, database, f"maria_java_{mode}", 61_000 + number) | more
        for number, (mode, more) in enumerate(modes.items())
    }
    ours = {
        mode: SourceRun(
            MariaDbCdcSourceConnector,
            maria_keys(broker, database, f"maria_ours_{mode}", 62_000 + number) | _CONVERTERS | more,
            timeout=60,
        )
        for number, (mode, more) in enumerate(modes.items())
    }
    folder = tmp_path_factory.mktemp("debezium")
    try:
        with java_worker(broker.bootstrap_servers, folder, theirs, jars="debezium-mysql") as log:
            for mode in MODES:
                _wait(broker, f"maria_java_{mode}", _last_of_snapshot, log)
            for run in ours.values():
                run.start()
                _poll_until(run, _last_of_snapshot)
            _run(database, CHANGES)
            answers = {mode: _wait(broker, f"maria_java_{mode}", _last_change, log) for mode in MODES}
        for run in ours.values():
            _poll_until(run, _last_change)
        yield {mode: (answers[mode], _messages(ours[mode])) for mode in MODES}
    finally:
        for run in ours.values():
            if run.tasks:
                run.stop()
        database.drop()


def _wait(broker: Broker, prefix: str, last: Callable[[Record], bool], log: Path) -> list[Record]:
    try:
        return records(broker.bootstrap_servers, prefix, last)
    except AssertionError as error:
        raise AssertionError(f"{error}: {log.read_text(errors='replace')[-3000:]}") from None


def _poll_until(run: SourceRun, last: Callable[[Record], bool]) -> None:
    count = 0
    while not any(map(last, _messages(run)[count:])):
        count = len(run.messages)
        run.poll_until(count + 1)


def _messages(run: SourceRun) -> list[Record]:
    return [
        (message.topic, *(None if raw is None else json.loads(raw) for raw in (message.key, message.value)))
        for message in run.messages
    ]


def _last_of_snapshot(record: Record) -> bool:
    return record[2] is not None and record[2]["payload"]["source"]["snapshot"] == "last"


def _last_change(record: Record) -> bool:
    return record[0].endswith(".changed") and record[1] is not None and record[1]["payload"].get("id") == LAST


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_change_is_captured_as_debezium_does(
    captured: dict[str, tuple[list[Record], list[Record]]], mode: str
) -> None:
    theirs, ours = (_by_table(side) for side in captured[mode])
    # Debezium has a tombstone without a key for the deletion of a row without a key.
    theirs["no_key"] = [pair for pair in theirs["no_key"] if pair != (None, None)]
    assert {table: len(rows) for table, rows in theirs.items()} == {table: len(rows) for table, rows in ours.items()}
    differences = []
    for table, rows in theirs.items():
        for number, (their, our) in enumerate(zip(rows, ours[table], strict=True)):
            for path, left, right in _differences(their, our, table):
                if not _expected(path, table):
                    differences.append(f"{table} {number} {path}: {left!r} there, {right!r} here")
    assert not differences, "\n".join(differences[:40])


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
    prefix = line.name
    config = maria_keys(broker, line, prefix, 63_000) | {"max.batch.size": "100", "max.queue.size": "200"}
    with java_worker(broker.bootstrap_servers, tmp_path, {prefix: config}, jars="debezium-mysql") as log:
        _insert(line, 0, 0)
        _wait(broker, prefix, _has(0), log)
        for number in range(1, 30):
            _insert(line, number * 10, number * 10 + 9)
        _wait(broker, prefix, _has(299), log)
        _insert(line, 300, 20_000)
    theirs = _numbers(broker, prefix, 299)
    offset = stored_offset(tmp_path, prefix)
    assert offset is not None
    _insert(line, 20_001, 20_100)
    run = SourceRun(MariaDbCdcSourceConnector, config, offsets=[({"server": prefix}, offset)], timeout=60)
    with run:
        while 20_100 not in (ours := [record.key["id"] for record in run.records]):
            run.poll_until(len(ours) + 1)
    # Nothing is read again but what Debezium's worker had sent and not stored when it ended.
    assert set(theirs) | set(ours) == {0, *range(10, 20_101)}
    assert len(ours) == len(set(ours))
    assert min(ours) >= 300  # as far as it had stored at least


@pytest.mark.slow
def test_debezium_goes_on_where_it_stopped(broker: Broker, line: MariaDatabase, tmp_path: Path) -> None:
    prefix = line.name
    config = maria_keys(broker, line, prefix, 64_000) | {"max.batch.size": "100"}
    _insert(line, 0, 0)
    with java_worker(broker.bootstrap_servers, tmp_path / "one", {prefix: config}, jars="debezium-mysql") as log:
        _wait(broker, prefix, _has(0), log)  # with the snapshot it has a history of schemas
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
    with java_worker(broker.bootstrap_servers, tmp_path / "two", {prefix: config}, jars="debezium-mysql") as log:
        _wait(broker, prefix, _has(2100), log)
    theirs = _numbers(broker, prefix, 2100)
    assert theirs == [0, *range(ours[-1] + 1, 2101)]


def _has(number: int) -> Callable[[Record], bool]:
    return lambda record: record[1]["payload"]["id"] == number


def _numbers(broker: Broker, prefix: str, last: int) -> list[int]:
    return [key["payload"]["id"] for _, key, _ in records(broker.bootstrap_servers, prefix, _has(last))]


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


def _by_table(found: list[Record]) -> dict[str, list[tuple[Any, Any]]]:
    by_table: dict[str, list[tuple[Any, Any]]] = {}
    for topic, key, value in found:
        # The name of the source is part of every schema's name.
        prefix, _, table = topic.split(".")
        plain = [json.loads(json.dumps(each).replace(prefix, "PREFIX")) for each in (key, value)]
        by_table.setdefault(table, []).append((plain[0], plain[1]))
    return by_table


def _differences(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            if name not in one or name not in other:
                yield f"{path}.{name}", one.get(name, "nothing"), other.get(name, "nothing")
            else:
                yield from _differences(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            name = left.get("field", number) if isinstance(left, dict) else number
            yield from _differences(left, right, f"{path}.{name}")
    elif one != other and not (one != one and other != other):
        yield path, one, other


def _expected(path: str, table: str) -> bool:
    parts = path.split(".")
    if "payload" in parts and parts[-1] in _OWN:
        return True
    if "source" in parts and parts[-1] in _OWN_OF_SOURCE:
        return True
    return any(f"{table}.{part}" in DELIBERATE for part in parts)
