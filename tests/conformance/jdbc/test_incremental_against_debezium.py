"""The same signals to Debezium's connector and to ours: what is read again, and how it is said."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun
from connectors.jdbc.capture import PostgresCdcSourceConnector
from connectors.jdbc.mysql_capture import MariaDbCdcSourceConnector
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresServer
from tests.support.waiting import until

from .beside_debezium import CLOCKS, JSON, Record, messages, need
from .debezium_connector import java_worker, keys, maria_keys, records

MANY = 30
COMMON = {"snapshot.mode": "no_data", "incremental.snapshot.chunk.size": "7"}
#: Clocks and positions; Debezium says the last transaction that it has seen, though the rows come from none.
OWN = {
    "version",
    "name",
    *CLOCKS,
    *("lsn", "txId", "sequence"),
    *("file", "pos", "server_id", "gtid"),
}
SIGNALS = "CREATE TABLE {}signals (id varchar(42) PRIMARY KEY, type varchar(32), data varchar(2048))"
BEGUN = ("INSERT INTO {}orders (id) VALUES (0)", "DELETE FROM {}orders WHERE id = 0")


def _asked(within: str) -> str:
    asked: dict[str, Any] = {
        "type": "incremental",
        "data-collections": [f"{within}.orders", f"{within}.parts"],
        "additional-conditions": [{"data-collection": f"{within}.parts", "filter": "part <> 'b'"}],
    }
    return json.dumps(asked)


@pytest.fixture
def needed(cannot_have: Callable[[str, object], NoReturn]) -> Callable[[str], None]:
    return partial(need, cannot_have=cannot_have)


@pytest.mark.slow
def test_an_incremental_snapshot_of_postgresql_has_debeziums_events(
    broker: Broker, postgres: PostgresServer, tmp_path: Path, needed: Callable[[str], None]
) -> None:
    needed("debezium-postgres")
    database = postgres.database("incremental")
    database.execute("CREATE SCHEMA shop")
    database.execute(SIGNALS.format("shop."))
    database.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, price numeric(10, 2), at timestamptz, note text)")
    database.execute("CREATE TABLE shop.parts (part text, version bigint, data bytea, PRIMARY KEY (part, version))")
    database.execute(
        f"INSERT INTO shop.orders SELECT i, i * 1.25, '2026-01-01 10:00+01'::timestamptz + i * interval '1 hour', "
        f"CASE WHEN i % 3 = 0 THEN NULL ELSE 'note ' || i END FROM generate_series(1, {MANY}) i"
    )
    database.execute(
        "INSERT INTO shop.parts SELECT p, v, '\\x0a' FROM unnest('{a,b,c}'::text[]) p, generate_series(1, 9) v"
    )

    def ask() -> None:
        for sql in BEGUN:
            database.execute(sql.format("shop."))
        database.execute("INSERT INTO shop.signals VALUES ('ad-hoc', 'execute-snapshot', %s)", [_asked("shop")])

    more = COMMON | {"table.include.list": "shop.*", "signal.data.collection": "shop.signals"}
    ours = SourceRun(PostgresCdcSourceConnector, keys(database, "ours_inc") | more | JSON, timeout=60)
    try:
        theirs = keys(database, "java_inc") | more
        _compare(broker, tmp_path, (ours, "ours_inc"), theirs, ask, "debezium-postgres", "Processing messages")
    finally:
        database.drop()


@pytest.mark.slow
def test_an_incremental_snapshot_of_mariadb_has_debeziums_events(
    broker: Broker, mariadb: MariaServer, tmp_path: Path, needed: Callable[[str], None]
) -> None:
    needed("debezium-mysql")
    database = mariadb.database("incremental")
    name = database.name
    execute = database.execute
    execute(SIGNALS.format(""))
    execute("CREATE TABLE orders (id int PRIMARY KEY, price decimal(10, 2), at datetime(3), note text)")
    execute("CREATE TABLE parts (part varchar(9), version bigint, data varbinary(9), PRIMARY KEY (part, version))")
    execute(
        f"INSERT INTO orders SELECT seq, seq * 1.25, '2026-01-01 10:00' + INTERVAL seq HOUR, "
        f"IF(seq % 3 = 0, NULL, CONCAT('note ', seq)) FROM seq_1_to_{MANY}"
    )
    for part in "abc":
        execute(f"INSERT INTO parts SELECT '{part}', seq, x'0a' FROM seq_1_to_9")

    def ask() -> None:
        for sql in BEGUN:
            execute(sql.format(""))
        execute("INSERT INTO signals VALUES ('ad-hoc', 'execute-snapshot', %s)", (_asked(name),))

    more = COMMON | {"signal.data.collection": f"{name}.signals"}
    config = maria_keys(broker, database, "ours_inc_m", 65_001) | more | JSON
    ours = SourceRun(MariaDbCdcSourceConnector, config, timeout=60)
    try:
        theirs = maria_keys(broker, database, "java_inc_m", 65_002) | more
        _compare(broker, tmp_path, (ours, "ours_inc_m"), theirs, ask, "debezium-mysql", "Keepalive thread is running")
    finally:
        database.drop()


def _compare(
    broker: Broker,
    folder: Path,
    ours: tuple[SourceRun, str],
    theirs: dict[str, str],
    ask: Callable[[], None],
    jars: str,
    streaming: str,
) -> None:
    """Both are asked while they stream; `streaming` stands in Debezium's log then. `ours`: with its prefix."""
    java, (run, prefix) = theirs["topic.prefix"], ours
    try:
        with java_worker(broker.bootstrap_servers, folder, {java: theirs}, jars) as log:
            until(lambda: streaming in log.read_text(), 120, lambda: log.read_text()[-3000:])
            run.start()
            run.poll()
            ask()
            answer = records(broker.bootstrap_servers, java, _is_last)
        while not any(map(_is_last, messages(run))):
            run.poll_until(len(run.messages) + 1)
    finally:
        if run.tasks:
            run.stop()
    their, our = _read(answer, java), _read(messages(run), prefix)
    assert len(our) == MANY + 2 * 9
    for one, other in zip(their, our, strict=True):
        assert one == other
    assert _topics(answer, java) == _topics(messages(run), prefix)


def _is_last(record: Record) -> bool:
    if record[2] is None or record[2]["payload"]["op"] != "r":
        return False
    return bool(record[1]["payload"] == {"part": "c", "version": 9})


def _topics(found: list[Record], prefix: str) -> set[str]:
    return {topic.removeprefix(f"{prefix}.") for topic, _, _ in found}


def _read(found: list[Record], prefix: str) -> list[Any]:
    """The events of the snapshot by topic, schemas included, without what is each connector's own."""
    events = []
    for topic, key, value in sorted(found, key=lambda record: record[0].partition(".")[2]):
        if value is None or value["payload"]["op"] != "r":
            continue
        payload = {name: of for name, of in value["payload"].items() if name not in OWN}
        payload["source"] = {name: of for name, of in payload["source"].items() if name not in OWN}
        text = json.dumps([topic, key, value["schema"], payload]).replace(prefix, "prefix")
        events.append(json.loads(text))
    return events
