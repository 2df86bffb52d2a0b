"""While something is away the log says so in a few lines, and the status since when and why; then all go on (P9)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pytest
from confluent_kafka import Producer

from connect.kafka.broker import embedded as kafka
from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.servers.broker import a_broker
from tests.servers.elasticsearch import ElasticsearchServer
from tests.servers.postgresql import PASSWORD, USER, PostgresServer
from tests.servers.programs import ProgramUnavailable
from tests.servers.s3 import VersityGateway
from tests.servers.server_process import CannotRunHere
from tests.support.rest import ask
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess

from .conftest import Standalone

TASKS = 4
#: A minute of it is what the interval is tested with, by a clock of its own; see tests/unit/telemetry/test_outages.py.
AWAY_S = 12.0
#: Of each kind of trouble one line at its beginning, and one at its end.
LINES = 6
_LINE = re.compile(r"^\d{4}-\S+ (WARN|ERROR|INFO) +(\S+)  (.*)$", re.MULTILINE)


class Away(Protocol):
    """What goes away and comes back."""

    def stop(self) -> None: ...

    def start(self) -> None: ...


class EmbeddedBroker:
    """A broker on a port that it keeps."""

    def __init__(self, running: Broker) -> None:
        self.servers = running.bootstrap_servers
        self._data = running.data

    def stop(self) -> None:
        kafka.stop(self._data)

    def start(self) -> None:
        kafka.ensure_running(self._data)


class Worker:
    """A standalone worker with connectors that wait for one thing, seen through its log and its REST API."""

    def __init__(self, process: WorkerProcess, port: int) -> None:
        self.process = process
        self._port = port

    def tasks(self) -> list[dict[str, Any]]:
        """The status of each task."""
        answer = ask(self._port, "GET", "/connectors?expand=status").body
        return [task for one in answer.values() for task in one["status"]["tasks"]]

    def health(self) -> dict[str, int]:
        return {path: ask(self._port, "GET", f"/health{path}").status for path in ("", "/live", "/ready")}

    def lines(self, since: int) -> list[tuple[str, ...]]:
        """Level, task and text of what was logged, from a length of the log on."""
        return [line for line in _LINE.findall(self.process.log[since:]) if line[2] not in ("running", "ended")]


@pytest.fixture
def worker(standalone: Standalone) -> Callable[..., Worker]:
    """Starts a worker with these connectors: names and settings."""

    def start(connectors: dict[str, dict[str, str]], **changes: str) -> Worker:
        port = free_port()
        settings = {key.replace("_", "."): value for key, value in changes.items()}
        standalone.worker({"listeners": f"http://127.0.0.1:{port}", **settings})
        files = [
            standalone.properties(f"{name}.properties", {"name": name, **config}) for name, config in connectors.items()
        ]
        process = standalone.start(*files)
        process.until_answering(port, "/health/ready")
        return Worker(process, port)

    return start


def _holds(worker: Worker, away: Away, flows: Callable[[int], None], sure: Callable[[int], bool]) -> None:
    """Take something away for a while, and look at what is said of it."""
    flows(1)
    worker.process.until(lambda: sure(1))
    until(lambda: [task["state"] for task in worker.tasks()] == ["RUNNING"] * len(worker.tasks()), 60)
    assert not any("waiting" in task for task in worker.tasks())
    before = len(worker.process.log)
    began = time.time()
    away.stop()
    if not isinstance(away, EmbeddedBroker):
        flows(2)
    worker.process.until(lambda: all("waiting" in task for task in worker.tasks()), 60, "not all say that they wait")
    for task in worker.tasks():
        assert task["state"] == "RUNNING"
        assert began - 2 <= task["waiting"]["since_ms"] / 1000 <= time.time()
        assert len(task["waiting"]["reason"]) > 20
    assert worker.health() == {"": 200, "/live": 200, "/ready": 200}
    until(lambda: time.time() - began >= AWAY_S, AWAY_S + 10)
    away.start()
    if isinstance(away, EmbeddedBroker):
        flows(2)
    worker.process.until(lambda: sure(2) and not any("waiting" in task for task in worker.tasks()), 120)
    worker.process.until(lambda: any(text.startswith("Over after") for *_, text in worker.lines(before)))
    # A server that is slow to come back is told of again, at growing intervals.
    said = [line for line in worker.lines(before) if not line[2].startswith("For ")]
    assert len(said) <= LINES, "\n".join(map(" ".join, said))
    assert not any(level == "ERROR" for level, *_ in said), said


@pytest.mark.promise("P9")
def test_brokers_are_away(worker: Callable[..., Worker], standalone: Standalone, tmp_path: Path) -> None:
    with a_broker(tmp_path / "broker") as running:
        broker = EmbeddedBroker(running)
        connectors = {}
        for number in range(TASKS):
            (standalone.folder / f"in{number}").touch()
            source = {"connector.class": "FileStreamSource", "file": f"in{number}", "topic": f"lines-{number}"}
            sink = {"connector.class": "FileStreamSink", "file": f"out{number}", "topics": f"lines-{number}"}
            connectors |= {f"source{number}": source, f"sink{number}": sink}

        def flows(round_: int) -> None:
            for number in range(TASKS):
                with (standalone.folder / f"in{number}").open("a") as file:
                    file.write(f"{round_}\n" * 50)

        def sure(round_: int) -> bool:
            files = [standalone.folder / f"out{number}" for number in range(TASKS)]
            return all(file.exists() and file.read_text().count("\n") >= 50 * round_ for file in files)

        _holds(worker(connectors, bootstrap_servers=broker.servers), broker, flows, sure)


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with closing(PostgresServer()) as server:
        yield server


@pytest.mark.promise("P9")
def test_a_database_is_away(
    worker: Callable[..., Worker], topic: str, broker: Broker, postgres: PostgresServer
) -> None:
    copies = [f"copy{number}" for number in range(TASKS)]
    postgres.execute("CREATE TABLE orders (id serial PRIMARY KEY, name text)")
    for table in copies:
        postgres.execute(f"CREATE TABLE {table} (id integer PRIMARY KEY)")
    reach = {"connection.url": postgres.jdbc_url, "connection.user": USER, "connection.password": PASSWORD}
    connectors = {
        "source": {
            "connector.class": "JdbcSource",
            "topic.prefix": f"{topic}-",
            "table.whitelist": "orders",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "poll.interval.ms": "200",
            **reach,
        },
        "capture": {
            "connector.class": "PostgresCdcSource",
            "topic.prefix": f"{topic}-capture",
            "database.hostname": "127.0.0.1",
            "database.port": str(postgres.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.dbname": "postgres",
            "table.include.list": "public.orders",
        },
    }
    for table in copies:
        connectors[table] = {
            "connector.class": "JdbcSink",
            "topics": f"{topic}-rows",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "table.name.format": table,
            "insert.mode": "upsert",
            "pk.mode": "record_value",
            "pk.fields": "id",
            **reach,
        }
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def flows(round_: int) -> None:
        schema = {"type": "struct", "fields": [{"type": "int32", "field": "id"}]}
        for number in range(100):
            value = {"schema": schema, "payload": {"id": 100 * round_ + number}}
            producer.produce(f"{topic}-rows", json.dumps(value))
        assert producer.flush(30) == 0

    def sure(round_: int) -> bool:
        counts = [postgres.execute(f"SELECT count(*) FROM {table}")[0][0] for table in copies]
        return counts == [100 * round_] * TASKS

    _holds(worker(connectors), postgres, flows, sure)


@pytest.fixture
def store(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[VersityGateway]:
    try:
        server = VersityGateway()
    except ProgramUnavailable as error:
        cannot_have("an object store", error)
    with closing(server):
        yield server


@pytest.mark.promise("P9")
@pytest.mark.timeout(1200)  # the store may have to be built
def test_an_object_store_is_away(
    worker: Callable[..., Worker], topic: str, broker: Broker, store: VersityGateway
) -> None:
    bucket = store.bucket()
    connectors = {
        f"objects{number}": {
            "connector.class": "S3Sink",
            "topics": topic,
            "s3.bucket.name": bucket.name,
            "format.class": "json",
            "flush.size": "50",
            "topics.dir": f"copy{number}",
            **store.config,
        }
        for number in range(TASKS)
    }
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def flows(round_: int) -> None:
        for number in range(100):
            producer.produce(topic, json.dumps({"number": 100 * round_ + number}))
        assert producer.flush(30) == 0

    def sure(round_: int) -> bool:
        return len(bucket.keys()) == 2 * round_ * TASKS

    values = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    _holds(worker(connectors, **values), store, flows, sure)


@pytest.mark.slow
@pytest.mark.promise("P9")
def test_a_cluster_is_away(
    worker: Callable[..., Worker], topic: str, broker: Broker, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    try:
        server = ElasticsearchServer()
    except CannotRunHere as error:
        cannot_have("Elasticsearch", error)
    with closing(server):
        connectors = {
            f"index{number}": {
                "connector.class": "ElasticsearchSink",
                "connection.url": server.url,
                "topics": topic,
                "index.name.format": f"rows{number}",
                "key.ignore": "true",
                "schema.ignore": "true",
                "max.retries": "1000",
            }
            for number in range(TASKS)
        }
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

        def flows(round_: int) -> None:
            for number in range(100):
                producer.produce(topic, json.dumps({"number": 100 * round_ + number}))
            assert producer.flush(30) == 0

        def sure(round_: int) -> bool:
            return all(server.count(f"rows{number}") == 100 * round_ for number in range(TASKS))

        values = {
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        _holds(worker(connectors, **values), server, flows, sure)
