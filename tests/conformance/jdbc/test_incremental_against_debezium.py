"""The same signals to Debezium's connector and to ours: what is read again, and how it is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun
from connectors.jdbc.capture import PostgresCdcSourceConnector
from tests.servers.postgresql import PostgresDatabase, PostgresServer
from tests.support.waiting import until

from .debezium_connector import java_worker, keys, records

Record = tuple[str, Any, Any]

MANY = 30
COMMON = {
    "table.include.list": "shop.*",
    "snapshot.mode": "no_data",
    "signal.data.collection": "shop.signals",
    "incremental.snapshot.chunk.size": "7",
}
JSON = {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
#: Clocks and positions; Debezium says of these rows that they come from no transaction at the beginning of time.
OWN = {"version", "name", "ts_ms", "ts_us", "ts_ns", "lsn", "txId", "sequence"}
SIGNAL: dict[str, Any] = {
    "type": "incremental",
    "data-collections": ["shop.orders", "shop.parts"],
    "additional-conditions": [{"data-collection": "shop.parts", "filter": "part <> 'b'"}],
}


@pytest.mark.slow
def test_an_incremental_snapshot_has_debeziums_events(
    broker: Broker, postgres: PostgresServer, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    try:
        find_java(17)
        resolve("kafka-connect")
        resolve("debezium-postgres")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Debezium's PostgreSQL connector", error)
    database = postgres.database("incremental")
    database.execute("CREATE SCHEMA shop")
    database.execute("CREATE TABLE shop.signals (id varchar(42) PRIMARY KEY, type varchar(32), data varchar(2048))")
    database.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, price numeric(10, 2), at timestamptz, note text)")
    database.execute("CREATE TABLE shop.parts (part text, version bigint, data bytea, PRIMARY KEY (part, version))")
    database.execute(
        f"INSERT INTO shop.orders SELECT i, i * 1.25, '2026-01-01 10:00+01'::timestamptz + i * interval '1 hour', "
        f"CASE WHEN i % 3 = 0 THEN NULL ELSE 'note ' || i END FROM generate_series(1, {MANY}) i"
    )
    database.execute(
        "INSERT INTO shop.parts SELECT p, v, '\\x0a' FROM unnest('{a,b,c}'::text[]) p, generate_series(1, 9) v"
    )
    run = SourceRun(PostgresCdcSourceConnector, keys(database, "ours_inc") | COMMON | JSON, timeout=60)
    try:
        theirs = keys(database, "java_inc") | COMMON
        with java_worker(broker.bootstrap_servers, tmp_path, {"java_inc": theirs}) as log:
            until(lambda: "Processing messages" in log.read_text(), 120)
            run.start()
            run.poll()
            _signal(database)
            answer = records(broker.bootstrap_servers, "java_inc", _is_last)
        while not any(map(_is_last, _messages(run))):
            run.poll_until(len(run.messages) + 1)
    finally:
        if run.tasks:
            run.stop()
        database.drop()
    their, our = _read(answer, "java_inc"), _read(_messages(run), "ours_inc")
    assert len(our) == MANY + 2 * 9
    assert their == our
    assert _topics(answer, "java_inc") == _topics(_messages(run), "ours_inc")


def _signal(database: PostgresDatabase) -> None:
    database.execute("INSERT INTO shop.orders VALUES (0, 0, now(), 'begun')")
    database.execute("DELETE FROM shop.orders WHERE id = 0")
    database.execute("INSERT INTO shop.signals VALUES ('ad-hoc', 'execute-snapshot', %s)", [json.dumps(SIGNAL)])


def _is_last(record: Record) -> bool:
    if record[2] is None or record[2]["payload"]["op"] != "r":
        return False
    return bool(record[1]["payload"] == {"part": "c", "version": 9})


def _messages(run: SourceRun) -> list[Record]:
    return [
        (message.topic, *(None if raw is None else json.loads(raw) for raw in (message.key, message.value)))
        for message in run.messages
    ]


def _topics(found: list[Record], prefix: str) -> set[str]:
    return {topic.removeprefix(f"{prefix}.") for topic, _, _ in found}


def _read(found: list[Record], prefix: str) -> list[Any]:
    """The events of the snapshot, schemas included, without what is each connector's own."""
    events = []
    for topic, key, value in found:
        if value is None or value["payload"]["op"] != "r":
            continue
        payload = {name: of for name, of in value["payload"].items() if name not in OWN}
        payload["source"] = {name: of for name, of in payload["source"].items() if name not in OWN}
        text = json.dumps([topic, key, value["schema"], payload]).replace(prefix, "prefix")
        events.append(json.loads(text))
    return events
