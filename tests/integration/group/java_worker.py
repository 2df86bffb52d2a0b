"""A distributed worker of the Java original, at a broker and in a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.ports import free_port
from tests.support.rest import NO_ANSWER, ask
from tests.support.worker_process import WorkerProcess


class JavaWorker(WorkerProcess):
    """A worker that runs, with its REST interface."""

    def __init__(self, command: Sequence[str | Path], port: int, log: Path) -> None:
        super().__init__(command, log)
        self.port = port
        self.id = f"127.0.0.1:{port}"
        self.url = f"http://{self.id}"

    def get(self, path: str) -> Any:
        """What it answers."""
        return self._ask("GET", path)

    def create(self, name: str, **config: str) -> None:
        """A file source with one task."""
        defaults = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": f"{name}-lines"}
        body = {"name": name, "config": defaults | config}
        self.until(lambda: self._ask("POST", "/connectors", body))

    def running(self, name: str) -> tuple[bool, bool]:
        """Whether it says that it runs this connector, and its task, itself."""
        status = self.get(f"/connectors/{name}/status") or {"connector": {}, "tasks": []}
        mine = [part.get("state") == "RUNNING" and part.get("worker_id") == self.id for part in status["tasks"]]
        connector = status["connector"]
        return connector.get("state") == "RUNNING" and connector.get("worker_id") == self.id, mine == [True]

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        try:
            answer = ask(self.port, method, path, body)
        except NO_ANSWER:
            return None
        return (answer.body or True) if answer.status < 300 else None


@contextmanager
def java_worker(bootstrap: str, group: str, protocol: str, folder: Path, **settings: str) -> Iterator[JavaWorker]:
    """Run one, and stop it at the end. Its topics are named after the group. Further settings: a_key="..."."""
    port = free_port()
    properties = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "connect.protocol": protocol,
        "listeners": f"http://127.0.0.1:{port}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "500",
        "scheduled.rebalance.max.delay.ms": "0",
        "plugin.discovery": "service_load",
    }
    for what in ("config", "offset", "status"):
        properties |= {f"{what}.storage.topic": f"{group}-{what}", f"{what}.storage.replication.factor": "1"}
    properties |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    properties |= {key.replace("_", "."): value for key, value in settings.items()}
    file = folder / f"{port}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    command = [str(find_java().path), "-Xmx256m", "-cp", classpath("kafka-connect")]
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    worker = JavaWorker([*command, main, file], port, folder / f"{port}.log").start()
    try:
        yield worker
    finally:
        worker.close()


def end_of(bootstrap: str, topic: str) -> int:
    """The offset after the last record of a topic with one partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()
