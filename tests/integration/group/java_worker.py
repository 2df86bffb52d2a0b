"""A distributed worker of the Java original, at a broker and in a group."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from connect.jvm.jars import classpath
from connect.jvm.java import find_java

PATIENCE = 90.0


class JavaWorker:
    """A worker that runs, with its REST interface."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process = process
        self.id = f"127.0.0.1:{port}"
        self.url = f"http://{self.id}"
        self._log = log

    def get(self, path: str) -> Any:
        """What it answers."""
        return self._ask(urllib.request.Request(self.url + path))

    def create(self, name: str, **config: str) -> None:
        """A file source with one task."""
        defaults = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": f"{name}-lines"}
        body = json.dumps({"name": name, "config": defaults | config}).encode()
        request = urllib.request.Request(self.url + "/connectors", body, {"Content-Type": "application/json"})
        self.until(lambda: self._ask(request))

    def running(self, name: str) -> tuple[bool, bool]:
        """Whether it says that it runs this connector, and its task, itself."""
        status = self.get(f"/connectors/{name}/status") or {"connector": {}, "tasks": []}
        mine = [part.get("state") == "RUNNING" and part.get("worker_id") == self.id for part in status["tasks"]]
        connector = status["connector"]
        return connector.get("state") == "RUNNING" and connector.get("worker_id") == self.id, mine == [True]

    def until(self, condition: Any) -> None:
        """Wait for something that the worker does."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, self.story()
            assert time.monotonic() < deadline, self.story()
            time.sleep(0.1)

    def story(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])

    def _ask(self, request: urllib.request.Request) -> Any:
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response) or True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None


@contextmanager
def java_worker(bootstrap: str, group: str, protocol: str, folder: Path, **settings: str) -> Iterator[JavaWorker]:
    """Run one, and stop it at the end. Its topics are named after the group. Further settings: a_key="..."."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
    log = folder / f"{port}.log"
    command = [find_java().path, "-Xmx256m", "-cp", classpath("kafka-connect")]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "org.apache.kafka.connect.cli.ConnectDistributed", file], stdout=output, stderr=output
        )
    worker = JavaWorker(process, port, log)
    try:
        yield worker
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_of(bootstrap: str, topic: str) -> int:
    """The offset after the last record of a topic with one partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()
