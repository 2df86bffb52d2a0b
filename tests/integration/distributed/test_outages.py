"""While brokers are away a pool says so in a few lines, no probe has it ended, and states tell what is known (P9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from connect.kafka.broker import embedded as kafka
from connect.kafka.broker.embedded import Broker

from .pool import Pool

CONNECTORS = 3
#: For a worker: no broker, out of the group, offsets not stored; a minute, and over; and a sink that was killed.
LINES = 10
_LINE = re.compile(r"^\d{4}-\S+ (?:WARN|ERROR|INFO) +(\S+)  (.*)$", re.MULTILINE)


@pytest.fixture
def pool(own_broker: Broker, pool_at: Callable[[str], Pool]) -> Pool:
    return pool_at(own_broker.bootstrap_servers)


def _probes(pool: Pool) -> list[dict[str, int]]:
    paths = ("/health", "/health/live", "/health/ready")
    return [{path: worker.ask("GET", path).status for path in paths} for worker in pool.workers]


@pytest.mark.slow
@pytest.mark.promise("P9")
def test_brokers_are_away_for_a_while(pool: Pool, own_broker: Broker, tmp_path: Path) -> None:
    workers = pool.start(2)
    for number in range(CONNECTORS):
        (tmp_path / f"in{number}").write_text("one\n" * 20)
        source = {"connector.class": "FileStreamSource", "file": str(tmp_path / f"in{number}"), "topic": f"t{number}"}
        sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / f"out{number}"), "topics": f"t{number}"}
        workers[0].create(f"source{number}", source)
        workers[0].create(f"sink{number}", sink)

    def written(count: int) -> bool:
        files = [tmp_path / f"out{number}" for number in range(CONNECTORS)]
        return all(file.exists() and file.read_text().count("\n") >= count for file in files)

    pool.until(lambda: written(20), "lines flow")
    pool.until(lambda: all(worker.runs("sink0", 1) for worker in workers))
    before = [len(worker.log) for worker in workers]
    kafka.stop(own_broker.data)
    unready = {"/health": 200, "/health/live": 200, "/health/ready": 503}
    pool.until(lambda: _probes(pool) == [unready] * 2, "workers are out of their group, and live")
    for worker in workers:
        said = worker.ask("GET", "/health/ready").body
        assert said["status"] == "waiting"
        assert "No broker answers at" in said["message"]

    def known() -> bool:
        """Whether each worker says of the other's tasks that it does not hear of them."""
        for worker in workers:
            answer = worker.ask("GET", "/connectors?expand=status").body
            tasks = [task for one in answer.values() for task in one["status"]["tasks"]]
            others = [task for task in tasks if task["worker_id"] != worker.id and task["state"] == "RUNNING"]
            if not others or not all("has no news of it" in task["waiting"]["reason"] for task in others):
                return False
        return True

    pool.until(known, "states tell what is known")
    kafka.ensure_running(own_broker.data)
    for number in range(CONNECTORS):
        with (tmp_path / f"in{number}").open("a") as file:
            file.write("two\n" * 20)
    pool.until(lambda: written(40), "lines flow again", within=120)
    pool.until(lambda: _probes(pool) == [dict.fromkeys(unready, 200)] * 2)
    for worker, length in zip(workers, before, strict=True):
        worker.until(lambda worker=worker, length=length: "Over after" in worker.log[length:])
        lines = [line for line in _LINE.findall(worker.log[length:]) if line[1] not in ("running", "ended")]
        assert len(lines) <= LINES, "\n".join(map(" ".join, lines))
