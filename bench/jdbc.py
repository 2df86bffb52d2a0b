"""`python -m bench.jdbc`: topics into PostgreSQL beside Debezium's JDBC sink, and a table into a topic beside COPY.

Sink: 1,000,000 records of JSON with its schema in each, rows of about 100 bytes, one task. Debezium's sink runs in
Kafka Connect's own worker with its batch settings tuned: batch.size and max.poll.records 3000, reWriteBatchedInserts.
Both write into a table that is there, by insert, and by upsert with a key. Rows are counted in the table. Rate, CPU and
memory are those of the worker's whole process tree from the first row on; its start is told beside that.

Source: a table of 1,000,000 rows into a topic, as JSON without a schema, beside one Python program that reads
`COPY TO STDOUT` and produces each line as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from bench import tree
from bench.machine import introduce, say
from bench.workers import HEAP, JVM_OPTIONS, free_port, stop
from connect.jvm.jars import classpath, resolve
from connect.jvm.java import find_java
from connect.kafka.broker import ensure_running
from connect.kafka.broker import stop as stop_broker
from tests.servers.postgresql import PASSWORD, USER, PostgresDatabase, PostgresServer

ROWS = 1_000_000
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


def fill(bootstrap: str, topic: str) -> None:
    """Make the topic: each record with its schema."""
    from confluent_kafka import Producer

    _create(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 500_000})
    schema = {"type": "struct", "fields": [{"field": name, "type": kind} for name, kind in _TYPES.items()]}
    head = f'{{"schema":{json.dumps(schema)},"payload":'
    for number in range(ROWS):
        while True:
            try:
                producer.produce(topic, f"{head}{json.dumps(row(number))}}}".encode())
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def _create(bootstrap: str, topic: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})  # a name keeps it: it answers nothing once it is gone
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


class Run(NamedTuple):
    """What one run took, from the first row on.

    Attributes:
        start: seconds from the worker's start to the first row.
        rate: rows a second.
        cpu: seconds of CPU for 1,000,000 rows.
        memory: the most, in MB, each shared page divided among those who share it.
    """

    start: float
    rate: float
    cpu: float
    memory: float


class Memory:
    """The most memory that a process tree had, looked at four times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self.most = 0.0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.25):
            self.most = max(self.most, sum(tree.pss(each.pid) for each in tree.tree(self._pid)) / 1e6)


@contextmanager
def worker(side: str, bootstrap: str, folder: Path, connector: Mapping[str, str]) -> Iterator[int]:
    """A standalone worker with one connector; its process id."""
    folder.mkdir(parents=True)
    settings = {
        "bootstrap.servers": bootstrap,
        "offset.storage.file.filename": str(folder / "offsets"),
        "listeners": f"http://127.0.0.1:{free_port()}",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": _JSON,
        "connector.client.config.override.policy": "All",
    }
    if side == "java":
        plugins = folder / "plugins" / "jdbc"
        plugins.mkdir(parents=True)
        for jar in resolve("debezium-jdbc"):
            if jar.parent.name not in _OF_THE_WORKER:
                (plugins / jar.name).symlink_to(jar)
        settings["plugin.path"] = str(plugins.parent)
        main = ["-cp", classpath("kafka-connect"), "org.apache.kafka.connect.cli.ConnectStandalone"]
        command = [str(find_java().path), *JVM_OPTIONS, HEAP["source"], *main]
    else:
        command = [sys.executable, "-m", "connect.cli", "standalone"]
    for name, values in (("worker.properties", settings), ("connector.properties", connector)):
        lines = (f"{key}={value}\n" for key, value in values.items())
        (folder / name).write_text("".join(lines), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "worker.properties", "connector.properties"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
    try:
        yield process.pid
        if process.poll() is not None:
            raise RuntimeError((folder / "log").read_text(encoding="utf-8")[-3000:])
    finally:
        stop(process)


def sink(name: str, side: str, mode: str, database: PostgresDatabase) -> dict[str, str]:
    """The configuration of a sink. A name of its own reads the topic from its beginning."""
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


def run_sink(side: str, mode: str, bootstrap: str, server: PostgresServer, folder: Path) -> Run:
    """One run of one sink into a table of its own."""
    name = f"{side}_{mode}_{time.monotonic_ns()}"
    server.execute(f"CREATE DATABASE {name}")
    database = PostgresDatabase(server, name)
    database.execute(f"CREATE TABLE rows ({_COLUMNS.format(key=' PRIMARY KEY' if mode == 'upsert' else '')})")
    server.execute("CHECKPOINT")
    try:
        began = time.monotonic()
        with worker(side, bootstrap, folder, sink(folder.name, side, mode, database)) as pid, Memory(pid) as memory:
            first, last, rows = _until_still(database, pid, began, folder)
        seconds, done = last[0] - first[0], ROWS - rows
        return Run(first[0] - began, done / seconds, (last[1] - first[1]) / done * 1e6, memory.most)
    finally:
        database.drop()


def _until_still(
    database: PostgresDatabase, pid: int, began: float, folder: Path
) -> tuple[tuple[float, float], tuple[float, float], int]:
    """Moment and CPU when there were rows first and when all were there, and how many there were first."""
    first: tuple[float, float] | None = None
    rows = size = 0
    last = (0.0, 0.0)
    with database.connect() as connection:
        while True:
            [(now,)] = connection.execute("SELECT pg_relation_size('rows')").fetchall()
            at = time.monotonic()
            if now > size:
                size, last = now, (at, tree.cpu(pid))
                if first is None:
                    first = last
                    rows = _count(connection)
            elif first is not None and at - last[0] > _STILL_S and _count(connection) == ROWS:
                return first, last, rows
            if at - began > 300:
                raise TimeoutError((folder / "log").read_text(encoding="utf-8")[-3000:])
            time.sleep(_LOOK_S)


def _count(connection: Any) -> int:
    return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])


def by_copy(bootstrap: str, database: PostgresDatabase) -> tuple[float, float]:
    """Seconds and seconds of CPU of a program that produces each line of COPY TO."""
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
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, used


def by_source(bootstrap: str, database: PostgresDatabase, folder: Path, topic: str) -> tuple[float, float, float]:
    """Seconds of a whole run of the source; those from the first record on; seconds of CPU of the whole."""
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
    _create(bootstrap, f"{topic}-rows")  # a consumer that has looked for it in vain would not look again soon
    began = time.monotonic()
    with worker("ours", bootstrap, folder, config) as pid:
        first = 0.0
        while (count := _records(bootstrap, f"{topic}-rows")) < ROWS:
            if count and not first:
                first = time.monotonic()
            if time.monotonic() - began > 300:
                raise TimeoutError((folder / "log").read_text(encoding="utf-8")[-3000:])
            time.sleep(_LOOK_S)
        ended = time.monotonic()
        return ended - began, ended - first, tree.cpu(pid)


def _records(bootstrap: str, topic: str) -> int:
    """How many records a topic has; 0 while there is none."""
    from confluent_kafka import KafkaException, TopicPartition

    try:
        found = _consumer(bootstrap).get_watermark_offsets(TopicPartition(topic, 0), timeout=5)
    except KafkaException:
        return 0
    return int(found[1]) if found else 0


_consumers: dict[str, Any] = {}


def _consumer(bootstrap: str) -> Any:
    from confluent_kafka import Consumer

    if bootstrap not in _consumers:
        _consumers[bootstrap] = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench"})
    return _consumers[bootstrap]


def main() -> None:
    """Measure, and print all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each (default: 3)")
    parser.add_argument("--only", choices=["sink", "source"], help="only this half")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    introduce()
    figures: dict[str, Any] = {}
    server = PostgresServer(fsync="on", shared_buffers="512MB", max_wal_size="8GB", checkpoint_timeout="1h")
    try:
        with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
            folder = Path(name)
            broker = ensure_running(folder / "broker", port=0)
            try:
                if args.only != "source":
                    figures |= _sinks(broker.bootstrap_servers, server, folder, args.rounds)
                if args.only != "sink":
                    figures |= _sources(broker.bootstrap_servers, server, folder, args.rounds)
            finally:
                while _consumers:
                    _consumers.popitem()[1].close()
                stop_broker(folder / "broker")
    finally:
        server.close()
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    print(json.dumps(figures, indent=2))


def _sinks(bootstrap: str, server: PostgresServer, folder: Path, rounds: int) -> dict[str, Any]:
    say(f"filling a topic with {ROWS:,} records")
    fill(bootstrap, "rows")
    runs: dict[str, list[Run]] = {}
    for number in range(rounds):
        for mode in ("insert", "upsert"):
            for side in ("java", "ours"):
                found = run_sink(side, mode, bootstrap, server, folder / f"{side}-{mode}-{number}")
                runs.setdefault(f"{mode} {side}", []).append(found)
                say(
                    f"{mode} {side:4}  {found.rate:>9,.0f} rows/s  {found.cpu:5.2f} s of CPU  {found.memory:5.0f} MB  "
                    f"first row after {found.start:.1f} s"
                )
    return {
        name: {key: statistics.median(getattr(run, key) for run in found) for key in Run._fields}
        for name, found in runs.items()
    }


def _sources(bootstrap: str, server: PostgresServer, folder: Path, rounds: int) -> dict[str, Any]:
    server.execute("CREATE DATABASE source")
    database = PostgresDatabase(server, "source")
    database.execute(f"CREATE TABLE rows ({_COLUMNS.format(key=' PRIMARY KEY')})")
    database.execute(
        "INSERT INTO rows SELECT n, 'customer ' || n % 1000, CASE WHEN n % 2 = 1 THEN 'Zürich' ELSE 'Bern' END, n / 4.0"
        f", n % 3 = 0, 'note of the record number ' || lpad(n::text, 12) FROM generate_series(0, {ROWS - 1}) AS n"
    )
    database.execute("VACUUM ANALYZE rows")
    figures: dict[str, list[tuple[float, ...]]] = {"copy": [], "source": []}
    for number in range(rounds):
        figures["copy"].append(by_copy(bootstrap, database))
        say("COPY and a producer: {:.1f} s, {:.1f} s of CPU".format(*figures["copy"][-1]))
        figures["source"].append(by_source(bootstrap, database, folder / f"source-{number}", f"s{number}"))
        say("source: {:.1f} s, {:.1f} s from the first record on, {:.1f} s of CPU".format(*figures["source"][-1]))
    names = {"copy": ("s", "CPU, s"), "source": ("s", "s from the first record on", "CPU, s")}
    return {
        name: {key: statistics.median(run[at] for run in found) for at, key in enumerate(names[name])}
        for name, found in figures.items()
    }


if __name__ == "__main__":
    main()
