"""P11 where no broker answers: a worker ends in time, whatever its threads wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from connect.kafka.broker import embedded as kafka
from connect.kafka.broker.embedded import Broker
from tests.support.rest import NO_ANSWER
from tests.support.waiting import until

from .pool import Pool, PoolWorker

GRACEFUL_S = 2.0
#: For good-byes a second, and five for requests that run; the rest is for a busy machine. Who waited for what brokers
#: answer needed twenty.
WITHIN_S = GRACEFUL_S + 1.0 + 5.0 + 6.0


@pytest.fixture
def pool(own_broker: Broker, pool_at: Callable[[str], Pool]) -> Pool:
    return pool_at(own_broker.bootstrap_servers)


class Asking:
    """A question that a thread of the worker waits with."""

    def __init__(self, worker: PoolWorker, path: str) -> None:
        self.answered = False
        self._worker, self._path = worker, path
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        try:
            self._worker.ask("GET", self._path)
        except NO_ANSWER:
            pass
        self.answered = True


@pytest.mark.slow
@pytest.mark.promise("P11")
def test_a_worker_that_is_asked_about_offsets_stops_in_time(pool: Pool, own_broker: Broker, tmp_path: Path) -> None:
    (worker,) = pool.start(1, task_shutdown_graceful_timeout_ms=str(int(GRACEFUL_S * 1000)))
    worker.create("sink", {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": pool.name})
    pool.until(lambda: worker.runs("sink", 1), "it runs")
    kafka.stop(own_broker.data)
    asking = [Asking(worker, f"/connectors/sink/{what}") for what in ("offsets", "lag")]
    # The worker has them when it answers what came later.
    until(lambda: worker.get("/connectors") == ["sink"], 30)
    assert not any(each.answered for each in asking)
    began = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - began < WITHIN_S
