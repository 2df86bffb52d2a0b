"""A distributed worker of Kafka Connect in Java, on a broker of the run."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.support.rest import NO_ANSWER, Answer, ask
from tests.support.worker_process import WorkerProcess

START_WITHIN = 120.0


class JavaWorker(WorkerProcess):
    """One worker, with its REST API. Its topics are `topic("config")`, `topic("offset")`, `topic("status")`."""

    def __init__(self, broker: Broker, folder: Path, cluster: str, **settings: str) -> None:
        self.cluster = cluster
        log = folder / f"java-{uuid.uuid4().hex[:6]}.log"
        self.port = free_port()
        properties = {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": cluster,
            "listeners": f"http://127.0.0.1:{self.port}",
            "rest.advertised.host.name": "127.0.0.1",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.flush.interval.ms": "200",
            "scheduled.rebalance.max.delay.ms": "0",
            "plugin.discovery": "service_load",
            **{f"{kind}.storage.topic": self.topic(kind) for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        file = log.with_suffix(".properties")
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = [str(find_java().path), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", classpath("kafka-connect")]
        super().__init__([*command, main, file], log)
        self.id = f"127.0.0.1:{self.port}"

    def topic(self, kind: str) -> str:
        return f"{self.cluster}-{kind}"

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """One request. The status is 0 where there is no answer."""
        try:
            return ask(self.port, method, path, body)
        except NO_ANSWER:
            return Answer(0, None)

    def must(self, method: str, path: str, body: object = None) -> Any:
        """A request that succeeds; again while the worker rebalances."""
        answers: list[tuple[int, Any]] = []

        def done() -> bool:
            answers.append(self.ask(method, path, body))
            return answers[-1][0] not in (0, 409)

        self.until(done)
        code, answer = answers[-1]
        assert 200 <= code < 300, (code, answer)
        return answer

    def states(self, connector: str) -> tuple[str, list[str]] | None:
        """The states of a connector and its tasks."""
        code, answer = self.ask("GET", f"/connectors/{connector}/status")
        return (answer["connector"]["state"], [task["state"] for task in answer["tasks"]]) if code == 200 else None


@pytest.fixture
def start_java(
    broker: Broker, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> Iterator[Callable[..., JavaWorker]]:
    """Starts Java workers, ready to serve: `start_java(cluster="...", exactly_once_source_support="enabled")`."""
    workers: list[JavaWorker] = []

    def start(cluster: str | None = None, **settings: str) -> JavaWorker:
        try:
            worker = JavaWorker(broker, tmp_path, cluster or f"java-{uuid.uuid4().hex[:8]}", **settings)
        except (JavaNotFound, JarsUnavailable) as error:
            cannot_have("Kafka Connect in Java", error)
        workers.append(worker)
        worker.start().until_answering(worker.port, "/connectors", START_WITHIN)
        return worker

    yield start
    for worker in workers:
        worker.close(60)
