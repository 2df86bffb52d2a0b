"""Debezium's connector in a worker of Java and ours, capturing the same database: what each makes of it, compared."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from connect import SourceConnector
from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun

from .debezium_connector import java_worker, records, stored_offset

#: Topic, key and value.
Record = tuple[str, Any, Any]

#: What a worker of Java is set to, for ours.
JSON = {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
CLOCKS = {"ts_ms", "ts_us", "ts_ns"}


def need(jars: str, cannot_have: Callable[[str, object], NoReturn]) -> None:
    """Skip the test when Debezium's connector, of a set of jars, or what runs it cannot be had."""
    try:
        find_java(17)
        resolve("kafka-connect")
        resolve(jars)
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Debezium's connectors", error)


def capture(
    broker: Broker,
    folder: Path,
    theirs: Mapping[str, dict[str, str]],
    ours: Mapping[str, SourceRun],
    jars: str,
    change: Callable[[], None],
    last_change: Callable[[Record], bool],
) -> dict[str, tuple[list[Record], list[Record]]]:
    """What Debezium made of a snapshot and of changes behind it, and what we did.

    Args:
        theirs: the configuration of Debezium's connector, by a name for it.
        ours: by the same names, not started yet.
        change: makes the changes, when all have read the snapshot.
    """
    prefixes = {name: config["topic.prefix"] for name, config in theirs.items()}
    try:
        with java_worker(broker.bootstrap_servers, folder, theirs, jars) as log:
            for prefix in prefixes.values():
                wait(broker, prefix, last_of_snapshot, log)
            for run in ours.values():
                run.start()
                poll_until(run, last_of_snapshot)
            change()
            answers = {name: wait(broker, prefix, last_change, log) for name, prefix in prefixes.items()}
        for run in ours.values():
            poll_until(run, last_change)
        return {name: (answers[name], messages(run)) for name, run in ours.items()}
    finally:
        for run in ours.values():
            if run.tasks:
                run.stop()


def wait(broker: Broker, prefix: str, last: Callable[[Record], bool], log: Path) -> list[Record]:
    """What Debezium sent until the last record came; the end of the worker's log when it does not come."""
    try:
        return records(broker.bootstrap_servers, prefix, last)
    except AssertionError as error:
        raise AssertionError(f"{error}: {log.read_text(errors='replace')[-3000:]}") from None


def poll_until(run: SourceRun, last: Callable[[Record], bool]) -> None:
    """Poll until the last record came."""
    count = 0
    while not any(map(last, messages(run)[count:])):
        count = len(run.messages)
        run.poll_until(count + 1)


def messages(run: SourceRun) -> list[Record]:
    """What we sent."""
    return [
        (message.topic, *(None if raw is None else json.loads(raw) for raw in (message.key, message.value)))
        for message in run.messages
    ]


def last_of_snapshot(record: Record) -> bool:
    return record[2] is not None and record[2]["payload"]["source"]["snapshot"] == "last"


def has(number: int) -> Callable[[Record], bool]:
    """Whether a record is of the row with this number."""
    return lambda record: record[1]["payload"]["id"] == number


def numbers(broker: Broker, prefix: str, last: int) -> list[int]:
    """The numbers of the rows that Debezium sent, the last one among them."""
    return [key["payload"]["id"] for _, key, _ in records(broker.bootstrap_servers, prefix, has(last))]


def check_that_ours_goes_on_where_debezium_stopped(
    broker: Broker,
    folder: Path,
    connector: type[SourceConnector],
    config: dict[str, str],
    jars: str,
    insert: Callable[[int, int], None],
    many: int,
) -> None:
    """Debezium's worker ends within a transaction, and our connector takes its offset.

    Args:
        insert: inserts rows with these numbers, the first and the last, in one transaction.
        many: the last number of the transaction within which the worker is to end.
    """
    prefix = config["topic.prefix"]
    with java_worker(broker.bootstrap_servers, folder, {prefix: config}, jars) as log:
        insert(0, 0)
        wait(broker, prefix, has(0), log)
        for number in range(1, 30):
            insert(number * 10, number * 10 + 9)
        wait(broker, prefix, has(299), log)
        insert(300, many)
    theirs = numbers(broker, prefix, 299)
    offset = stored_offset(folder, prefix)
    assert offset is not None
    insert(many + 1, many + 100)
    run = SourceRun(connector, config, offsets=[({"server": prefix}, offset)], timeout=60)
    with run:
        while many + 100 not in (ours := [record.key["id"] for record in run.records]):
            run.poll_until(len(ours) + 1)
    # Nothing is read again but what Debezium's worker had sent and not stored when it ended.
    assert set(theirs) | set(ours) == {0, *range(10, many + 101)}
    assert len(ours) == len(set(ours))
    assert min(ours) >= 300  # as far as it had stored at least


def by_table(found: list[Record]) -> dict[str, list[tuple[Any, Any]]]:
    """Keys and values by table, without the name of the source."""
    tables: dict[str, list[tuple[Any, Any]]] = {}
    for topic, key, value in found:
        # The name of the source is part of every schema's name.
        prefix, _, table = topic.split(".")
        plain = [json.loads(json.dumps(each).replace(prefix, "PREFIX")) for each in (key, value)]
        tables.setdefault(table, []).append((plain[0], plain[1]))
    return tables


def check_that_none_differs(
    theirs: dict[str, list[tuple[Any, Any]]],
    ours: dict[str, list[tuple[Any, Any]]],
    deliberate: Collection[str],
    own: Collection[str],
    own_of_snapshot: Collection[str] = (),
) -> None:
    """Compare records by table.

    Args:
        deliberate: where we differ on purpose: the ends of paths, of which values are not compared.
        own: what differs by its nature in the block `source`. Clocks do so everywhere.
        own_of_snapshot: what else does so in the snapshot.
    """
    assert {table: len(rows) for table, rows in theirs.items()} == {table: len(rows) for table, rows in ours.items()}
    found = []
    for table, rows in theirs.items():
        for number, (their, our) in enumerate(zip(rows, ours[table], strict=True)):
            snapshot = bool(their[1]) and their[1]["payload"]["source"]["snapshot"] != "false"
            of_source = {*own, *(own_of_snapshot if snapshot else ())}
            for path, left, right in differences(their, our, table):
                if not _expected(path.split("."), table, deliberate, of_source):
                    found.append(f"{table} {number} {path}: {left!r} there, {right!r} here")
    assert not found, "\n".join(found[:40])


def _expected(parts: list[str], table: str, deliberate: Collection[str], of_source: set[str]) -> bool:
    if "payload" in parts and parts[-1] in CLOCKS:
        return True
    if "source" in parts and parts[-1] in of_source:
        return True
    return any(f"{table}.{part}" in deliberate for part in parts)


def differences(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The paths at which two values differ, with what stands there."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            if name not in one or name not in other:
                yield f"{path}.{name}", one.get(name, "nothing"), other.get(name, "nothing")
            else:
                yield from differences(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            name = left.get("field", number) if isinstance(left, dict) else number
            yield from differences(left, right, f"{path}.{name}")
    elif one != other and not (one != one and other != other):
        yield path, one, other
