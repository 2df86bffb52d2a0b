"""`python -m bench.latency`: how old records are when they arrive, at a steady rate, beside Kafka Connect and Debezium.

files     lines appended to a file, through a topic, into another file: FileStreamSource and FileStreamSink in a worker
capture   rows inserted into PostgreSQL, one transaction every 10 ms, until they are in the topic; beside Debezium's
          PostgreSQL connector, both with poll.interval.ms=50
table     records of a topic until the row is committed in PostgreSQL; beside Debezium's JDBC sink

Each at 1,000 and at 20,000 records a second, everything else at its default. A record says when it was written; files
and topics are read by this program, and PostgreSQL says when it committed a row. What was written in the first seconds
does not count. All records have to arrive.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench import one
from bench.bars import bar_of, judge
from bench.document import Rows
from bench.machine import jar_version, kafka_connect, say, versions
from bench.part import Settings
from bench.standalone import MeasurementFailed, end_of_log, worker
from bench.tables import markdown, marked
from bench.topics import make
from connect.jvm.jars import resolve
from connect.kafka.broker import embedded as broker
from connect.telemetry import processes as tree

if TYPE_CHECKING:
    from tests.servers.postgresql import PostgresDatabase, PostgresServer

SIDES: Final = ("java", "ours")
RATES: Final = (1_000, 20_000)
TICK_S: Final = 0.01
WARM_S: Final = 6.0
SECONDS: Final = 20.0
WITHIN_S: Final = 60.0
TITLES: Final = {
    "files": "file to topic to file",
    "capture": "PostgreSQL's log to topic",
    "table": "topic to PostgreSQL",
}
_STAMP: Final = re.compile(rb'"at":(\d+)')
_STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
#: What a worker brings itself. Hibernate refuses to start where Jackson is there twice.
_OF_THE_WORKER: Final = (
    "com.fasterxml.jackson.core",
    "com.fasterxml.jackson.datatype",
    "org.apache.kafka",
    "org.slf4j",
)
_SCHEMA: Final = (
    '{"schema":{"type":"struct","fields":[{"field":"id","type":"int64"},{"field":"at","type":"int64"}]},"payload":'
)

#: Writes the records of these numbers, each with the nanosecond at which it is written.
Write = Callable[[range], None]
#: The nanoseconds at which records were written and at which they arrived, of those that were not taken before.
Take = Callable[[], "tuple[Sequence[int], Sequence[int]]"]


class Steady(threading.Thread):
    """Writes records at a steady rate, some every 10 ms; a moment that was late is made up for.

    Attributes:
        written: how many records there are.
    """

    def __init__(self, write: Write, rate: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.written = 0
        self.error: BaseException | None = None
        self._write = write
        self._rate = rate
        self._seconds = seconds

    def run(self) -> None:
        began = time.monotonic()
        try:
            while (passed := time.monotonic() - began) < self._seconds:
                due = int(passed * self._rate)
                self._write(range(self.written, due))
                self.written = due
                time.sleep(max(0.0, TICK_S - (time.monotonic() - began) % TICK_S))
        except BaseException as error:
            self.error = error


def measured(write: Write, take: Take, rate: int, seconds: float, pid: int, log: Path) -> dict[str, float]:
    """Write at a rate, and take what arrives until all has.

    Raises:
        MeasurementFailed: not all arrived in time, or it could not be written.
    """
    write(range(-1, 0))  # what is there at the first record is no start of anything
    deadline = time.monotonic() + WITHIN_S
    while not len(take()[0]):
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"the first record does not arrive: {end_of_log(log)}")
    feeding = Steady(write, rate, WARM_S + seconds)
    cpu, began = tree.cpu(pid), time.monotonic_ns()
    feeding.start()
    written: list[int] = []
    arrived: list[int] = []
    while feeding.is_alive() or len(written) < feeding.written:
        sent, came = take()
        written.extend(sent)
        arrived.extend(came)
        if time.monotonic_ns() - began > (WARM_S + seconds + WITHIN_S) * 1e9:
            raise MeasurementFailed(f"{len(written):,} of {feeding.written:,} arrived: {end_of_log(log)}")
    if feeding.error is not None:
        raise feeding.error
    if len(written) != feeding.written:
        raise MeasurementFailed(f"{len(written):,} arrived, {feeding.written:,} were written")
    at = np.array(written, np.int64)
    late = (np.array(arrived, np.int64) - at)[at > began + WARM_S * 1e9] / 1e6
    p50, p99, p999 = np.percentile(late, (50, 99, 99.9))
    used = (tree.cpu(pid) - cpu) / (WARM_S + seconds)
    return {"p50_ms": p50, "p99_ms": p99, "p999_ms": p999, "most_ms": late.max(), "cores": used, "records": len(late)}


def _now() -> int:
    return time.monotonic_ns()


@contextmanager
def reading(bootstrap: str, topic: str) -> Iterator[Take]:
    """Takes the records of a topic as they come."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "late", "fetch.wait.max.ms": 10, "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])

    def take() -> tuple[Sequence[int], Sequence[int]]:
        found = [int(_STAMP.findall(message.value() or b"")[-1]) for message in consumer.consume(1000, 0.01)]
        return found, [_now()] * len(found)

    try:
        yield take
    finally:
        consumer.close()


def files(side: str, bootstrap: str, folder: Path, rate: int, seconds: float) -> dict[str, float]:
    """From file to file."""
    folder.mkdir()
    topic, out = folder.name, folder / "out"
    make(bootstrap, topic)
    lines, copy = (folder / "in").open("ab", buffering=0), out.open("ab+")
    rest = b""

    def write(numbers: range) -> None:
        at = _now()
        lines.write(b"".join(b'{"id":%d,"at":%d}\n' % (number, at) for number in numbers))

    def take() -> tuple[Sequence[int], Sequence[int]]:
        nonlocal rest
        data = copy.read()
        if not data:
            time.sleep(0.0005)
        *whole, rest = (rest + data).split(b"\n")
        return [int(_STAMP.findall(line)[-1]) for line in whole], [_now()] * len(whole)

    kind = "org.apache.kafka.connect.file.FileStream"
    source = {"name": "in", "connector.class": f"{kind}SourceConnector", "file": str(folder / "in"), "topic": topic}
    sink = {"name": "out", "connector.class": f"{kind}SinkConnector", "file": str(out), "topics": topic}
    converters = {"key.converter": _STRING, "value.converter": _STRING}
    with lines, copy, worker(side, bootstrap, folder / "worker", source, converters, also=sink) as pid:
        return measured(write, take, rate, seconds, pid, folder / "worker" / "log")


def _plugin(side: str, jars: str) -> dict[str, list[Path]]:
    if side == "ours":
        return {}
    return {jars: [jar for jar in resolve(jars) if jar.parent.name not in _OF_THE_WORKER]}


def capture(
    side: str, bootstrap: str, server: PostgresServer, folder: Path, rate: int, seconds: float
) -> dict[str, float]:
    """From PostgreSQL's log into a topic."""
    from tests.servers.postgresql import PASSWORD, USER

    name = folder.name.replace("-", "_")
    database = server.database(name)
    database.execute("CREATE TABLE rows (id bigint PRIMARY KEY, at bigint)")
    make(bootstrap, f"{name}.public.rows")
    config = {
        "name": name,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector" if side == "java" else "PostgresCdc",
        "plugin.name": "pgoutput",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": PASSWORD,
        "database.dbname": name,
        "topic.prefix": name,
        "slot.name": name,
        "slot.drop.on.stop": "true",
        "publication.name": name,
        "poll.interval.ms": "50",
    }
    converters = {"key.converter": _JSON, "value.converter": _JSON}
    with (
        database.connect(autocommit=True) as connection,
        reading(bootstrap, f"{name}.public.rows") as take,
        worker(side, bootstrap, folder, config, converters, _plugin(side, "debezium-postgres")) as pid,
    ):

        def write(numbers: range) -> None:
            if numbers:
                connection.execute(
                    "INSERT INTO rows SELECT id, %s FROM generate_series(%s::bigint, %s::bigint) AS id",
                    (_now(), numbers[0], numbers[-1]),
                )

        return measured(write, take, rate, seconds, pid, folder / "log")


def to_table(
    side: str, bootstrap: str, server: PostgresServer, folder: Path, rate: int, seconds: float
) -> dict[str, float]:
    """From a topic into a table of PostgreSQL."""
    name = folder.name.replace("-", "_")
    database = server.database(name)
    database.execute("CREATE TABLE rows (id bigint, at bigint)")
    make(bootstrap, name)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "log_level": 0})
    ahead = time.time_ns() - time.monotonic_ns()

    def write(numbers: range) -> None:
        at = _now()
        for number in numbers:
            producer.produce(name, f'{_SCHEMA}{{"id":{number},"at":{at}}}}}')
        producer.poll(0)

    taken = -2

    with (
        database.connect(autocommit=True) as connection,
        worker(
            side,
            bootstrap,
            folder,
            _sink(side, name, database),
            {"key.converter": _STRING, "value.converter": _JSON},
            _plugin(side, "debezium-jdbc"),
        ) as pid,
    ):

        def take() -> tuple[Sequence[int], Sequence[int]]:
            nonlocal taken
            time.sleep(0.25)  # PostgreSQL knows when it committed: looking does not hurry
            found = connection.execute(
                "SELECT id, at, (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint FROM rows "
                "WHERE id > %s ORDER BY id",
                (taken,),
            ).fetchall()
            if found:
                taken = found[-1][0]
            return [each[1] for each in found], [each[2] * 1000 - ahead for each in found]

        found = measured(write, take, rate, seconds, pid, folder / "log")
        producer.flush(30)
        return found


def _sink(side: str, name: str, database: PostgresDatabase) -> dict[str, str]:
    from tests.servers.postgresql import PASSWORD, USER

    common = {
        "name": name,
        "topics": name,
        "insert.mode": "insert",
        "connection.password": PASSWORD,
        "consumer.override.auto.offset.reset": "earliest",
    }
    if side == "ours":
        theirs = {"connector.class": "JdbcSink", "connection.user": USER, "connection.url": database.jdbc_url}
        return {**common, **theirs, "pk.mode": "none", "table.name.format": "rows"}
    return {
        **common,
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": f"{database.jdbc_url}?reWriteBatchedInserts=true",
        "connection.username": USER,
        "collection.name.format": "rows",
        "schema.evolution": "none",
    }


def measure(settings: Settings) -> dict[str, Any]:
    """All three at both rates, both sides in turn."""
    from tests.servers.postgresql import PostgresServer

    rounds, seconds = settings.repeat(1), 2.0 if settings.quick else SECONDS
    rates = (200, 1_000) if settings.quick else RATES
    rows = Rows({"ours": ["java"]})
    server = PostgresServer(
        fsync="on", wal_level="logical", track_commit_timestamp="on", max_wal_size="8GB", checkpoint_timeout="1h"
    )
    try:
        [(product,)] = server.execute("SHOW server_version")
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        try:
            for number in range(rounds):
                for kind in (kind for kind in TITLES if settings.wants(kind)):
                    for rate in rates:
                        for side in reversed(SIDES) if number % 2 else SIDES:
                            folder = settings.folder / f"{kind}-{rate}-{side}-{number}"
                            found = _one(kind, side, bootstrap, server, folder, rate, seconds)
                            rows.add(f"{kind} {rate:,} a second", side, found)
                            told = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
                            say(f"{kind:8} {rate:>6,}/s {side:4} {told}")
        finally:
            broker.stop(settings.folder / "broker")
    finally:
        server.close()
    return {
        "settings": {"rounds": rounds, "seconds": seconds, "rates": list(rates)},
        "versions": {
            **kafka_connect(),
            "Debezium": jar_version("debezium-postgres", "debezium-connector-postgres"),
            "PostgreSQL": str(product).split()[0],
            **versions("connect-runtime", "psycopg", "confluent-kafka"),
        },
        "rows": rows.as_json(),
    }


def _one(
    kind: str, side: str, bootstrap: str, server: PostgresServer, folder: Path, rate: int, seconds: float
) -> dict[str, float]:
    match kind:
        case "files":
            return files(side, bootstrap, folder, rate, seconds)
        case "capture":
            return capture(side, bootstrap, server, folder, rate, seconds)
    return to_table(side, bootstrap, server, folder, rate, seconds)


def table(document: Mapping[str, Any]) -> str:
    """The document as Markdown."""
    judged = judge(document)
    lines = [["", "rate", "", "p50, ms", "p99, ms", "p99.9, ms", "cores", "p99, ratio", "bar"]]
    for row, sides in document["rows"].items():
        kind, _, rate = row.partition(" ")
        for side in (side for side in SIDES if side in sides):
            found = sides[side]["median"]
            cells = [f"{found[figure]:.1f}" for figure in ("p50_ms", "p99_ms", "p999_ms")] + [f"{found['cores']:.2f}"]
            ratio, bar = "", ""
            if side == "ours" and "ratio" in sides[side]:
                held = bar_of(judged, f"{row}/ours/ratio/java/p99_ms/median")
                ratio = marked(f"{sides[side]['ratio']['java']['p99_ms']['median']:.2f}", held)
                bar = str(held.bar) if held else ""
            first = side == SIDES[0]
            peer = "Java" if kind == "files" else "Debezium"
            name = peer if side == "java" else "ours"
            lines.append([TITLES[kind] if first else "", rate if first else "", name, *cells, ratio, bar])
    return markdown(lines, left=3)


if __name__ == "__main__":
    sys.exit(one.main("bench.latency", "latency"))
