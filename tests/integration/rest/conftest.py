"""A standalone worker with its REST API, run as its users run it, on a real broker."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker import Broker

PATIENCE = 60.0
WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.file.filename": "offsets",
    "offset.flush.interval.ms": "300",
    "task.shutdown.graceful.timeout.ms": "3000",
    "consumer.metadata.max.age.ms": "500",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Worker:
    """A worker that runs in a folder, and its REST API."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, port: int) -> None:
        self.process = process
        self.folder = folder
        self.port = port

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """A request, and its answer: status and body, parsed where it is JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def get(self, path: str) -> Any:
        status, body = self.ask("GET", path)
        assert status == 200, body
        return body

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, f"the worker ended with {self.process.returncode}:\n{self.log}"
            assert time.monotonic() < deadline, f"it did not happen; the log:\n{self.log}"
            time.sleep(0.02)

    def until_answering(self) -> None:
        def answers() -> bool:
            try:
                return self.ask("GET", "/health")[0] == 200
            except OSError:
                return False

        self.until(answers)

    def until_state(self, connector: str, state: str, tasks: int = 1) -> None:
        def reached() -> bool:
            status, body = self.ask("GET", f"/connectors/{connector}/status")
            return (
                status == 200
                and body["connector"]["state"] == state
                and [task["state"] for task in body["tasks"]] == [state] * tasks
            )

        self.until(reached)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


class Workers:
    """Starts workers, each with a folder of its own below one."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder = folder
        self._servers = broker.bootstrap_servers
        self._running: list[Worker] = []

    def start(self, *files: str, answering: bool = True, **settings: str) -> Worker:
        """Run `connect standalone` with changed settings (dots as double underscores), and wait for its REST API."""
        folder = self.folder / str(len(self._running))
        folder.mkdir(exist_ok=True)
        port = free_port()
        changes = {key.replace("__", "."): value for key, value in settings.items()}
        worker = {"bootstrap.servers": self._servers, **WORKER, "listeners": f"http://127.0.0.1:{port}", **changes}
        self.write(folder / "worker.properties", {key: value for key, value in worker.items() if value != "-"})
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "connect.cli", "standalone", "worker.properties", *files],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                env={**os.environ, "PYTHONWARNINGS": "default"},
            )
        started = Worker(process, folder, port)
        self._running.append(started)
        if answering:
            started.until_answering()
        return started

    @staticmethod
    def write(path: Path, settings: Mapping[str, str]) -> str:
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return str(path)

    def close(self) -> None:
        for worker in self._running:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()


@pytest.fixture
def workers(tmp_path: Path, broker: Broker) -> Iterator[Workers]:
    made = Workers(tmp_path, broker)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def topic() -> str:
    """A topic that nobody else uses."""
    return f"rest-{uuid.uuid4().hex[:8]}"
