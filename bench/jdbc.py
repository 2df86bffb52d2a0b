"""`python -m bench.jdbc`: topics into PostgreSQL beside Debezium's JDBC sink, and a table into a topic beside COPY.

Sink: 1,000,000 records of JSON with its schema in each, rows of about 100 bytes, one task. Debezium's sink runs in
Kafka Connect's own worker with its batch settings tuned: batch.size and max.poll.records 3000, reWriteBatchedInserts.
Both write into a table that is there, by insert, and by upsert with a key. Rows are counted in the table. Rate, CPU and
memory are those of the worker's whole process tree from the first row on; its start is told beside that.

Source: a table of 1,000,000 rows into a topic, as JSON without a schema, beside one Python program that reads
`COPY TO STDOUT` and produces each line as it is.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import one
from bench.document import Rows
from bench.machine import jar_version, kafka_connect, say, versions
from bench.part import Settings
from bench.standalone import WITHIN_S, MeasurementFailed, Memory, end_of_log, failed, taken, watch, worker
from bench.tables import MEMORY, RATE, START, Figure, compare
from bench.topics import Topics, make, produce
from connect.jvm.jars import resolve
from connect.kafka.broker import embedded as broker
from connect.telemetry import processes as tree

if TYPE_CHECKING:
    from tests.servers.postgresql import PostgresDatabase, PostgresServer

_BATCH = 3000
_COLUMNS = "id bigint{key}, name text, city text, amount double precision, active boolean, note text"
_TYPES = {"id": "int64", "name": "string", "city": "string", "amount": "double", "active": "boolean", "note": "string"}
_LOOK_S = 0.02
#: A table that has not grown for so long is looked at whether all is in it.
_STILL_S = 0.6
#: What a worker brings itself. Hibernate refuses to start where Jackson is there twice.
_OF_THE_WORKER = (
    "com.fasterxml.jackson.core",
    "com.fasterxml.jackson.datatype",
    "org.apache.kafka",
    "org.slf4j",
)
_JSON = "org.apache.kafka.connect.json.JsonConverter"


def row(number: int) -> dict[str, Any]:
    """One row, about 100 bytes."""
    return {
        "id": number,
        "name": f"customer {number % 1000}",
        "city": "Zürich" if number % 2 else "Bern",
        "amount": number / 4,
        "active": number % 3 == 0,
        "note": f"note of the record number {number:>12}",
    }


def values(count: int) -> Iterator[bytes]:
    """So many records, each with its schema."""
    schema = {"type": "struct", "fields": [{"field": name, "type": kind} for name, kind in _TYPES.items()]}
    head = f'{{"schema":{json.dumps(schema)},"payload":'
    return (f"{head}{json.dumps(row(number))}}}".encode() for number in range(count))


@contextmanager
def _worker(side: str, bootstrap: str, folder: Path, connector: dict[str, str]) -> Iterator[int]:
    jars = [jar for jar in resolve("debezium-jdbc") if jar.parent.name not in _OF_THE_WORKER] if side == "java" else []
    settings = {
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": _JSON,
        "connector.client.config.override.policy": "All",
    }
    with worker(side, bootstrap, folder, connector, settings, {"jdbc": jars}) as pid:
        yield pid


def sink(name: str, side: str, mode: str, database: "PostgresDatabase") -> dict[str, str]:
    """The configuration of a sink. A name of its own reads the topic from its beginning."""
    from tests.servers.postgresql import PASSWORD, USER

    common = {
        "name": name,
        "topics": "rows",
        "tasks.max": "1",
        "insert.mode": mode,
        "connection.password": PASSWORD,
        "value.converter": _JSON,
        "value.converter.schemas.enable": "true",
        "consumer.override.auto.offset.reset": "earliest",
    }
    if side == "ours":
        keys = {"pk.mode": "record_value", "pk.fields": "id"} if mode == "upsert" else {"pk.mode": "none"}
        theirs = {"connector.class": "JdbcSink", "connection.url": database.jdbc_url, "connection.user": USER}
        return {**common, **theirs, **keys}
    keys = {"primary.key.mode": "record_value", "primary.key.fields": "id"} if mode == "upsert" else {}
    return {
        **common,
        **keys,
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": f"{database.jdbc_url}?reWriteBatchedInserts=true",
        "connection.username": USER,
        "batch.size": str(_BATCH),
        "consumer.override.max.poll.records": str(_BATCH),
        "collection.name.format": "rows",
        "schema.evolution": "none",
    }


def run_sink(
    side: str, mode: str, bootstrap: str, server: "PostgresServer", folder: Path, count: int
) -> dict[str, float]:
    """One run of one sink into a table of its own."""
    database = server.database(f"{side}_{mode}_{time.monotonic_ns()}")
    database.execute(f"CREATE TABLE rows ({_COLUMNS.format(key=' PRIMARY KEY' if mode == 'upsert' else '')})")
    server.execute("CHECKPOINT")
    try:
        with _worker(side, bootstrap, folder, sink(folder.name, side, mode, database)) as pid, Memory(pid) as memory:
            found = _until_still(database, pid, time.monotonic(), folder, count)
        return {**found, "pss_mb": memory.most}
    finally:
        database.drop()


def _until_still(database: "PostgresDatabase", pid: int, began: float, folder: Path, count: int) -> dict[str, float]:
    """As `watch`, by the table's size: counting a table takes longer the more is in it."""
    first: tuple[float, float, int] | None = None
    size = 0
    last = (0.0, 0.0)
    with database.connect() as connection:
        while True:
            [(now,)] = connection.execute("SELECT pg_relation_size('rows')").fetchall()
            at = time.monotonic()
            if now > size:
                size, last = now, (at, tree.cpu(pid))
                if first is None:
                    first = (*last, _count(connection))
            elif first is not None and at - last[0] > _STILL_S and _count(connection) == count:
                return taken(first, (*last, count), began)
            if at - began > WITHIN_S:
                raise MeasurementFailed(f"{_count(connection):,} of {count:,} rows: {end_of_log(folder / 'log')}")
            if failed(pid):
                raise MeasurementFailed(f"the worker ended: {end_of_log(folder / 'log')}")
            time.sleep(_LOOK_S)


def _count(connection: Any) -> int:
    return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])


def by_copy(bootstrap: str, database: "PostgresDatabase", count: int) -> dict[str, float]:
    """A program that produces each line of COPY TO, from its start to its end."""
    from tests.servers.postgresql import PASSWORD, USER

    code = (
        "import sys, psycopg\n"
        "from confluent_kafka import Producer\n"
        "producer = Producer({'bootstrap.servers': sys.argv[1], 'linger.ms': 5, 'acks': 'all',\n"
        "    'enable.idempotence': True, 'queue.buffering.max.messages': 500000})\n"
        "rest = b''\n"
        "with psycopg.connect(sys.argv[2]) as connection, connection.cursor() as cursor:\n"
        "    with cursor.copy('COPY rows TO STDOUT') as copy:\n"
        "        lines = []\n"
        "        for block in copy:\n"
        "            lines.append({'value': bytes(block)})\n"
        "            if len(lines) == 10000:\n"
        "                producer.produce_batch('copied', lines)\n"
        "                lines = []\n"
        "                while len(producer) > 200000:\n"
        "                    producer.poll(0.01)\n"
        "        producer.produce_batch('copied', lines)\n"
        "producer.flush()\n"
    )
    place = f"host=127.0.0.1 port={database.port} user={USER} password={PASSWORD} dbname={database.name}"
    before = os.times()
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code, bootstrap, place], check=True)
    after = os.times()
    seconds = time.monotonic() - began
    used = after.children_user + after.children_system - before.children_user - before.children_system
    rate, each = count / seconds, used / count * 1e6
    return {"records": count, "seconds": seconds, "rate": rate, "cpu_s": used, "cpu_us": each, "whole_s": seconds}


def by_source(bootstrap: str, database: "PostgresDatabase", folder: Path, topic: str, count: int) -> dict[str, float]:
    """The source: from the first record on, and `whole_s` from its start. Its CPU is that of the whole."""
    from tests.servers.postgresql import PASSWORD, USER

    config = {
        "name": topic,
        "connector.class": "JdbcSource",
        "connection.url": database.jdbc_url,
        "connection.user": USER,
        "connection.password": PASSWORD,
        "table.include.list": r".*rows",
        "mode": "bulk",
        "poll.interval.ms": "3600000",
        "topic.prefix": f"{topic}-",
        "value.converter": _JSON,
        "value.converter.schemas.enable": "false",
    }
    make(bootstrap, f"{topic}-rows")  # a consumer that has looked for it in vain would not look again soon
    with (
        Topics(bootstrap) as topics,
        _worker("ours", bootstrap, folder, config) as pid,
        Memory(pid) as memory,
    ):
        began = time.monotonic()
        found = watch(lambda: topics.end(f"{topic}-rows"), count, pid, began, folder / "log", _LOOK_S)
        whole, used = time.monotonic() - began, tree.cpu(pid)
    return {**found, "cpu_s": used, "cpu_us": used / count * 1e6, "pss_mb": memory.most, "whole_s": whole}


def measure(settings: Settings) -> dict[str, Any]:
    """Both sinks in both modes, and the source beside COPY."""
    from tests.servers.postgresql import PostgresServer

    count, rounds = settings.count(1_000_000, 60_000), settings.repeat()
    rows = Rows({"ours": ["java", "copy"]})
    resolve("debezium-jdbc")
    server = PostgresServer(fsync="on", shared_buffers="512MB", max_wal_size="8GB", checkpoint_timeout="1h")
    try:
        [(product,)] = server.execute("SHOW server_version")
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        try:
            modes = [mode for mode in ("insert", "upsert") if settings.wants(mode)]
            if modes:
                say(f"filling a topic with {count:,} records")
                produce(bootstrap, "rows", values(count), settings={"queue.buffering.max.messages": 500_000})
            for number in range(rounds):
                for mode in modes:
                    for side in ("ours", "java") if number % 2 else ("java", "ours"):
                        folder = settings.folder / f"{side}-{mode}-{number}"
                        found = run_sink(side, mode, bootstrap, server, folder, count)
                        rows.add(mode, side, found)
                        _tell(mode, side, found)
            if settings.wants("source"):
                _sources(bootstrap, server, settings.folder, rounds, count, rows)
        finally:
            broker.stop(settings.folder / "broker")
    finally:
        server.close()
    return {
        "settings": {"rounds": rounds, "records": count},
        "versions": {
            **kafka_connect(),
            "Debezium": jar_version("debezium-jdbc", "debezium-connector-jdbc"),
            "PostgreSQL": str(product).split()[0],
            **versions("connect-runtime", "psycopg", "confluent-kafka"),
        },
        "rows": rows.as_json(),
    }


def _sources(bootstrap: str, server: "PostgresServer", folder: Path, rounds: int, count: int, rows: Rows) -> None:
    database = server.database("source")
    database.execute(f"CREATE TABLE rows ({_COLUMNS.format(key=' PRIMARY KEY')})")
    database.execute(
        "INSERT INTO rows SELECT n, 'customer ' || n % 1000, CASE WHEN n % 2 = 1 THEN 'Zürich' ELSE 'Bern' END, n / 4.0"
        f", n % 3 = 0, 'note of the record number ' || lpad(n::text, 12) FROM generate_series(0, {count - 1}) AS n"
    )
    database.execute("VACUUM ANALYZE rows")
    for number in range(rounds):
        found = by_copy(bootstrap, database, count)
        rows.add("source", "copy", found)
        _tell("source", "copy", found)
        found = by_source(bootstrap, database, folder / f"source-{number}", f"s{number}", count)
        rows.add("source", "ours", found)
        _tell("source", "ours", found)


def _tell(row: str, side: str, found: dict[str, float]) -> None:
    rate, micros, seconds = found["rate"], found["cpu_us"], found["seconds"]
    say(f"{row:7} {side:4}  {rate:>9,.0f} records/s  {micros:6.2f} us of CPU a record  {seconds:.1f} s")


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    cpu = Figure("cpu_us", "CPU a row, µs", "{:.2f}")
    sinks = compare(
        document,
        {"insert": "insert", "upsert": "upsert"},
        (Figure("rate", "rows/s"), cpu, MEMORY, Figure("start_s", "first row after, s", START.form)),
        ("java", "Debezium"),
    )
    source = compare(
        document,
        {"source": "table to topic"},
        (
            Figure("seconds", "from the first record on, s", "{:.1f}"),
            Figure("whole_s", "from the start on, s", "{:.1f}"),
            RATE,
            cpu,
        ),
        ("copy", "COPY and a producer"),
    )
    return f"{sinks}\n\n{source}"


if __name__ == "__main__":
    sys.exit(one.main("bench.jdbc", "jdbc"))
