"""P1, P2, P10: a worker that captures PostgreSQL is killed at random moments, and so is the database."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from connectors.jdbc.capture.replication import parse_lsn
from tests.servers.postgresql import PostgresServer
from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .conftest import StartWorker
from .topic import Topic

TOPIC = "captured.public.line"
SLOT = "captured"


@pytest.fixture
def server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that this test may kill. The usual one is asked for so that its programs are there."""
    made = PostgresServer()
    yield made
    made.close()


class Writer:
    """Inserts numbered rows, a few to a transaction, and goes on when the server is back.

    Attributes:
        commits: for each commit a position in the log behind it, and how many rows there are by then.
    """

    def __init__(self, server: PostgresServer, chance: random.Random) -> None:
        self.commits: list[tuple[int, int]] = []
        self.count = 0
        self._server = server
        self._chance = random.Random(chance.random())
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._server.connect(autocommit=False) as connection:
                    # A commit of which nobody has heard may have been one.
                    self.count = connection.execute("SELECT count(*) FROM line").fetchone()[0]  # type: ignore[index]
                    while not self._stopped.is_set():
                        self._write(connection)
            except psycopg.OperationalError:
                self._stopped.wait(0.05)

    def _write(self, connection: psycopg.Connection[Any]) -> None:
        rows = self._chance.choice([1, 1, 3, 100])
        with connection.cursor().copy("COPY line FROM STDIN") as copy:
            for number in range(self.count, self.count + rows):
                copy.write_row((number, "x" * 50))
        connection.commit()
        self.count += rows
        ((lsn,),) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchall()
        connection.commit()
        self.commits.append((parse_lsn(lsn), self.count))
        self._stopped.wait(0.01)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(60)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_no_change_is_lost_and_none_is_forgotten_too_early(
    start_worker: StartWorker, server: PostgresServer, chance: random.Random
) -> None:
    server.execute("CREATE TABLE line (number int PRIMARY KEY, word text)")
    server.execute("INSERT INTO line SELECT i, 'before' FROM generate_series(0, 2999) i")
    worker = start_worker(key_converter=JSON, value_converter=JSON, **NO_SCHEMAS)
    bootstrap = worker_bootstrap(worker.folder)
    topics.create(bootstrap, TOPIC)
    seen = Topic(bootstrap, TOPIC)
    writer = Writer(server, chance)

    known: set[int] = set()
    looked_at = 0

    def numbers() -> set[int]:
        nonlocal looked_at
        seen.read()
        known.update(json.loads(value)["after"]["number"] for value in seen.values[0][looked_at:])
        looked_at = len(seen.values[0])
        return known

    def nothing_that_was_confirmed_is_missing() -> None:
        """P2: the task is dead; what the server may forget must be in the topic, once the snapshot is."""
        if not snapshot_is_done(worker.folder):
            return
        try:
            ((text,),) = server.execute("SELECT confirmed_flush_lsn::text FROM pg_replication_slots") or [("0/0",)]
        except psycopg.OperationalError:
            return
        confirmed = parse_lsn(text)
        count = max((rows for lsn, rows in list(writer.commits) if lsn <= confirmed), default=0)
        if count:
            until(lambda: numbers() >= set(range(count)), 20, f"{count} rows were confirmed")

    def kill_database() -> None:
        server.kill()
        server.start()

    try:
        attacks = Attacks(worker, "captured", chance, nothing_that_was_confirmed_is_missing)
        worker.put(
            "captured",
            {
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "database.hostname": server.host,
                "database.port": str(server.port),
                "database.user": server.user,
                "database.password": server.password,
                "database.dbname": server.name,
                "topic.prefix": "captured",
                "slot.name": SLOT,
                "max.batch.size": str(chance.choice([50, 500, 2048])),
                "snapshot.fetch.size": "200",
            },
        )
        kinds: list[Callable[[], None]] = [
            *(attacks.kill_task, attacks.kill_worker, attacks.kill_server, attacks.kill_task_that_is_deaf),
            *(kill_database, kill_database),
        ]
        chance.shuffle(kinds)
        for kind in kinds:

            def moment(rows: int = seen.read() + chance.randrange(1, 3000)) -> None:
                until(lambda: seen.read() >= rows, 90, lambda: f"{rows} rows: {worker.last_words()}")

            if kind is kill_database:
                moment()
                kill_database()
            else:
                attacks.strike(kind, moment)
    finally:
        writer.stop()
    ((count,),) = server.execute("SELECT count(*) FROM line")
    until(
        lambda: len(numbers()) >= count,
        90,
        lambda: f"{count} rows arrive, {len(numbers())} did after {attacks.done}\n{worker.last_words()}",
    )
    assert numbers() == set(range(count))


JSON = "org.apache.kafka.connect.json.JsonConverter"
NO_SCHEMAS = {"key_converter_schemas_enable": "false", "value_converter_schemas_enable": "false"}


def snapshot_is_done(folder: Path) -> bool:
    """What the stored offset says. As long as it does not, the next task begins with a new snapshot."""
    file = folder / "offsets"
    entries = json.loads(file.read_text() or '{"offsets": []}')["offsets"] if file.exists() else []
    return any(offset.get("snapshot_completed", True) for _, offset in entries)


def worker_bootstrap(folder: Path) -> str:
    lines = (folder / "worker.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("bootstrap.servers="))
