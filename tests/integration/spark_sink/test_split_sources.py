"""Source connectors on Spark in real workers: the offsets are the worker engine's, and each row comes once."""

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import Pool, PoolWorker, a_pool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

#: More than a split has, so that a table is divided.
ROWS = 50_000


@pytest.fixture
def pool(broker: Broker, tmp_path: Path, shared_spark: object) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


class Table:
    """A table in SQLite whose rows are numbered, and have a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._run("CREATE TABLE line (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL, word TEXT)")

    def insert(self, count: int) -> None:
        """Add rows; a thousand have the same time."""
        numbers = range(self.count, self.count + count)
        rows = [(n, f"2024-01-01 {n // 1000 // 60:02d}:{n // 1000 % 60:02d}:00", "x" * 20) for n in numbers]
        with closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            connection.executemany("INSERT INTO line VALUES (?, ?, ?)", rows)
        self.count += count

    def _run(self, text: str) -> None:
        with closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(text)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "lines.db")


def _config(table: Table, prefix: str, mode: str, **changes: str) -> dict[str, str]:
    return {
        "name": "lines",
        "connector.class": "JdbcSourceConnector",
        "connection.url": f"jdbc:sqlite:{table.path}",
        "table.whitelist": "line",
        "topic.prefix": prefix,
        "mode": mode,
        "incrementing.column.name": "id" if "incrementing" in mode else "",
        "timestamp.column.name": "at" if "timestamp" in mode else "",
        "poll.interval.ms": "200",
        "tasks.max": "4",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "engine": "spark",
        "spark.master": "local[2]",
        **changes,
    }


def _ids(seen: Committed) -> Counter[int]:
    return Counter(json.loads(value)["id"] for value in list(seen.values))


@pytest.mark.parametrize("mode", ["incrementing", "timestamp", "timestamp+incrementing"])
def test_engines_take_turns(pool: Pool, table: Table, new_topic: Callable[..., str], mode: str) -> None:
    (worker,) = pool.start(1)
    prefix = f"{pool.name}-"
    topic = new_topic(name=f"{prefix}line")
    with closing(Committed(pool.bootstrap, topic)) as seen:
        table.insert(ROWS)
        worker.create("lines", _config(table, prefix, mode))
        for engine in ("worker", "spark"):
            expected = table.count
            pool.until(lambda expected=expected: len(seen.values) >= expected, "all rows are there")
            worker.do("PUT", "/connectors/lines/stop")
            pool.until(lambda: not worker.do("GET", "/connectors/lines/status")["tasks"], "it has stopped")
            table.insert(ROWS if engine == "spark" else 3000)
            worker.do("PUT", "/connectors/lines/config", _config(table, prefix, mode, engine=engine))
            worker.do("PUT", "/connectors/lines/resume")
        pool.until(lambda: len(seen.values) >= table.count, "all rows are there")
        assert _ids(seen) == Counter(range(table.count))
        (stored,) = worker.do("GET", "/connectors/lines/offsets")["offsets"]
        assert stored["partition"] == {"protocol": "1", "table": "line"}


def _kill_below(worker: PoolWorker, what: str) -> None:
    """Kill -9 of the processes below a worker whose command line has this."""
    assert worker.process is not None
    for process in psutil.Process(worker.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if what in " ".join(process.cmdline()):
                process.kill()


@pytest.mark.promise("P1", "P2", "P10")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment(
    pool: Pool, table: Table, new_topic: Callable[..., str], seed: int, exactly_once: bool
) -> None:
    """What is killed: the JVM, executors' Python, the task's process, the worker."""
    chance = random.Random(seed)
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    prefix = f"{pool.name}-"
    topic = new_topic(name=f"{prefix}line")
    support = "required" if exactly_once else "requested"
    config = _config(table, prefix, "incrementing", **{"exactly.once.support": support})
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", config)
        for victim in ("java", "pyspark.daemon", "task", "worker"):
            table.insert(ROWS)
            wanted = table.count - chance.randint(1, ROWS)
            pool.until(lambda wanted=wanted: len(seen.values) >= wanted, "rows come", within=120)
            if victim == "task":
                worker.kill_tasks()
            elif victim == "worker":
                worker.kill()
                worker.start()
                pool.until(worker.ready, "the worker answers")
            else:
                _kill_below(worker, victim)
        pool.until(lambda: len(_ids(seen)) >= table.count, "all rows are there", within=180)
        pool.until(lambda: worker.runs("lines", 1), "it runs")
        assert set(_ids(seen)) == set(range(table.count))
        if exactly_once:
            assert max(_ids(seen).values()) == 1, "a row came twice"
