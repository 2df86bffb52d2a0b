"""The same changes of the same database, captured by Debezium's connector in a worker of Java and by ours."""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun
from connectors.jdbc.capture import PostgresCdcSourceConnector
from tests.servers.postgresql import PostgresDatabase, PostgresServer

from .capture_cases import CHANGES, LAST, MODES, SCHEMA, SNAPSHOT
from .debezium_connector import java_worker, keys, records, stored_offset

Record = tuple[str, Any, Any]

#: What differs by its nature: clocks, and where each snapshot was.
_OWN = {"ts_ms", "ts_us", "ts_ns"}
_OWN_OF_SOURCE = {"version"}
_OWN_OF_SNAPSHOT = {"txId", "lsn", "sequence"}

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
def captured(
    broker: Broker,
    postgres: PostgresServer,
    tmp_path_factory: pytest.TempPathFactory,
    cannot_have: Callable[[str, object], NoReturn],
) -> Iterator[dict[str, tuple[list[Record], list[Record]]]]:
    """For each mode what Debezium made of it, and what we did."""
    try:
        find_java(17)
        resolve("kafka-connect")
        resolve("debezium-postgres")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Debezium's PostgreSQL connector", error)
    database = postgres.database("conformance")
    database.execute(SCHEMA)
    for sql in SNAPSHOT:
        database.execute(sql)
    theirs = {
        mode: keys(database, f"java_{mode}") | {"schema.include.list": "shop"} | more for mode, more in MODES.items()
    }
    ours = {
        mode: SourceRun(PostgresCdcSourceConnector, keys(database, f"ours_{mode}") | _BESIDE | more, timeout=60)
        for mode, more in MODES.items()
    }
    folder = tmp_path_factory.mktemp("debezium")
    try:
        with java_worker(broker.bootstrap_servers, folder, theirs) as log:
            for mode in MODES:
                _wait(broker, f"java_{mode}", _last_of_snapshot, log)
            for run in ours.values():
                run.start()
                _poll_until(run, _last_of_snapshot)
            for sql in CHANGES:
                database.execute(sql)
            answers = {mode: _wait(broker, f"java_{mode}", _last_change, log) for mode in MODES}
        for run in ours.values():
            _poll_until(run, _last_change)
        yield {mode: (answers[mode], _messages(ours[mode])) for mode in MODES}
    finally:
        for run in ours.values():
            if run.tasks:
                run.stop()
        database.drop()


_BESIDE = {
    "schema.include.list": "shop",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


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
    return record[0].endswith(".changing") and record[1] is not None and record[1]["payload"].get("id") == LAST


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_change_is_captured_as_debezium_does(
    captured: dict[str, tuple[list[Record], list[Record]]], mode: str
) -> None:
    theirs, ours = (_by_table(side) for side in captured[mode])
    # Debezium's snapshot has the rows of partitions a second time, under the name of their table.
    assert theirs.pop("split")
    assert "split" not in ours
    assert {table: len(rows) for table, rows in theirs.items()} == {table: len(rows) for table, rows in ours.items()}
    differences = []
    for table, rows in theirs.items():
        for number, (their, our) in enumerate(zip(rows, ours[table], strict=True)):
            snapshot = bool(their[1]) and their[1]["payload"]["source"]["snapshot"] != "false"
            for path, left, right in _differences(their, our, table):
                if not _expected(path, table, snapshot):
                    differences.append(f"{table} {number} {path}: {left!r} there, {right!r} here")
    assert not differences, "\n".join(differences[:40])


@pytest.mark.slow
@pytest.mark.usefixtures("captured")  # what it needs is there
def test_it_goes_on_where_debezium_stopped(broker: Broker, postgres_database: PostgresDatabase, tmp_path: Path) -> None:
    database, prefix = postgres_database, f"moved_{uuid.uuid4().hex[:8]}"
    database.execute("CREATE TABLE line (id int PRIMARY KEY)")
    config = keys(database, prefix)
    with java_worker(broker.bootstrap_servers, tmp_path, {prefix: config}) as log:
        database.execute("INSERT INTO line VALUES (0)")
        _wait(broker, prefix, lambda record: record[1]["payload"]["id"] == 0, log)
        for number in range(1, 30):
            database.execute(f"INSERT INTO line SELECT generate_series({number * 10}, {number * 10 + 9})")
        _wait(broker, prefix, lambda record: record[1]["payload"]["id"] == 299, log)
        database.execute("INSERT INTO line SELECT generate_series(300, 5000)")
    theirs = [
        key["payload"]["id"]
        for _, key, _ in records(broker.bootstrap_servers, prefix, lambda record: record[1]["payload"]["id"] == 299)
    ]
    offset = stored_offset(tmp_path, prefix)
    assert offset is not None
    database.execute("INSERT INTO line SELECT generate_series(5001, 5100)")
    run = SourceRun(PostgresCdcSourceConnector, config, offsets=[({"server": prefix}, offset)], timeout=60)
    with run:
        while 5100 not in (ours := [record.key["id"] for record in run.records]):
            run.poll_until(len(ours) + 1)
    # Nothing is read again but what Debezium's worker had sent and not stored when it ended.
    assert set(theirs) | set(ours) == {0, *range(10, 5101)}
    assert len(ours) == len(set(ours))
    assert min(ours) >= 300  # as far as it had stored at least


def _by_table(records: list[Record]) -> dict[str, list[tuple[Any, Any]]]:
    found: dict[str, list[tuple[Any, Any]]] = {}
    for topic, key, value in records:
        # The name of the source is part of every schema's name.
        prefix, _, table = topic.split(".")
        plain = [json.loads(json.dumps(each).replace(prefix, "PREFIX")) for each in (key, value)]
        found.setdefault(table, []).append((plain[0], plain[1]))
    return found


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


def _expected(path: str, table: str, snapshot: bool) -> bool:
    parts = path.split(".")
    if "payload" in parts and parts[-1] in _OWN:
        return True
    if "source" in parts and parts[-1] in _OWN_OF_SOURCE | (_OWN_OF_SNAPSHOT if snapshot else set()):
        return True
    if parts[-1] == "sequence":
        return True  # each counts from its own beginning
    return any(f"{table}.{part}" in DELIBERATE for part in parts)
