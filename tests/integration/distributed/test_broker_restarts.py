"""P6: brokers that restart, again and again, while a worker is asked about them, end neither it nor what it runs."""

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from tests.integration.conftest import StrictBroker
from tests.support.rest import NO_ANSWER
from tests.support.waiting import until

from .pool import Pool, PoolWorker, a_pool

SINKS = 3
RESTARTS = 20
AT_A_TIME = 500


@pytest.fixture
def pool(strict_broker: StrictBroker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(strict_broker.bootstrap_servers, tmp_path) as made:
        yield made


class Asking:
    """Asks a worker for the lag of its sinks, all the time, in threads of its own."""

    def __init__(self, worker: PoolWorker, sinks: list[str]) -> None:
        self._worker = worker
        self._over = threading.Event()
        self.answered = 0
        self._threads = [threading.Thread(target=self._ask, args=(sink,)) for sink in sinks]
        for thread in self._threads:
            thread.start()

    def _ask(self, sink: str) -> None:
        while not self._over.is_set():
            try:
                answer = self._worker.ask("GET", f"/connectors/{sink}/lag")
            except NO_ANSWER:
                continue
            self.answered += answer.status == 200

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.promise("P1", "P6", "P10")
def test_a_broker_that_restarts_twenty_times_ends_no_worker(
    pool: Pool, strict_broker: StrictBroker, new_topic: Callable[..., str], tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    (worker,) = pool.start(1, restart_policy="on", restart_policy_delay_ms="100")
    topics = [new_topic(on=strict_broker) for _ in range(SINKS)]
    for topic in topics:
        config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / topic)}
        worker.create(topic, {**config, "consumer.override.auto.offset.reset": "earliest"})
    pool.until(lambda: all(worker.runs(topic, 1) for topic in topics), "all run")
    process = worker.process.pid
    producer = Producer({"bootstrap.servers": strict_broker.bootstrap_servers, "linger.ms": 1, "log_level": 0})
    asking = Asking(worker, topics)
    try:
        for turn in range(RESTARTS):
            for number in range(turn * AT_A_TIME, (turn + 1) * AT_A_TIME):
                for topic in topics:
                    producer.produce(topic, b"%d" % number)
            producer.flush(chance.choice([0.01, 5]))  # the rest goes to the broker when it is there again
            (strict_broker.kill if chance.random() < 0.5 else strict_broker.stop)()
            strict_broker.start()
            answered = asking.answered
            until(lambda: asking.answered > answered, 60, "lag is told again")  # noqa: B023 - called at once
        assert producer.flush(60) == 0
        wanted = {b"%d" % number for number in range(RESTARTS * AT_A_TIME)}
        for topic in topics:
            file = tmp_path / topic
            pool.until(lambda: set(file.read_bytes().split()) >= wanted, f"{topic} is written")  # noqa: B023
    finally:
        asking.close()
    assert psutil.pid_exists(process)
    assert worker.process.poll() is None
    assert worker.process.pid == process
