"""A standalone worker with its REST API, run as its users run it, on a real broker."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import Browser, Page, expect

from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.servers.chromium import ChromiumUnavailable, chromium
from tests.support.rest import ask
from tests.support.worker_process import WorkerProcess, our_command

WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.file.filename": "offsets",
    "offset.flush.interval.ms": "300",
    "task.shutdown.graceful.timeout.ms": "3000",
    "consumer.metadata.max.age.ms": "500",
}


class Worker(WorkerProcess):
    """A worker that runs in a folder, and its REST API.

    Args:
        descriptors: how many it may have.
    """

    def __init__(self, folder: Path, port: int, *files: str, descriptors: int | None = None) -> None:
        environment = {**os.environ, "PYTHONWARNINGS": "default"}
        command = our_command("standalone", *files)
        if descriptors is not None:
            command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$0" "$@"', *command]
        super().__init__(command, folder / "log", cwd=folder, env=environment)
        self.folder = folder
        self.port = port

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """A request, and its answer: status and body, parsed where it is JSON."""
        return ask(self.port, method, path, body)

    def get(self, path: str) -> Any:
        status, body = self.ask("GET", path)
        assert status == 200, body
        return body

    def until_state(self, connector: str, state: str, tasks: int = 1) -> None:
        def reached() -> bool:
            status, body = self.ask("GET", f"/connectors/{connector}/status")
            return (
                status == 200
                and body["connector"]["state"] == state
                and [task["state"] for task in body["tasks"]] == [state] * tasks
            )

        self.until(reached)


class Workers:
    """Starts workers, each with a folder of its own below one."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder = folder
        self._servers = broker.bootstrap_servers
        self._running: list[Worker] = []

    def start(self, *files: str, answering: bool = True, descriptors: int | None = None, **settings: str) -> Worker:
        """Run `connect standalone` with changed settings (dots as double underscores), and wait for its REST API."""
        folder = self.folder / str(len(self._running))
        folder.mkdir(exist_ok=True)
        port = free_port()
        changes = {key.replace("__", "."): value for key, value in settings.items()}
        worker = {"bootstrap.servers": self._servers, **WORKER, "listeners": f"http://127.0.0.1:{port}", **changes}
        self.write(folder / "worker.properties", {key: value for key, value in worker.items() if value != "-"})
        started = Worker(folder, port, "worker.properties", *files, descriptors=descriptors).start()
        self._running.append(started)
        if answering:
            started.until_answering(port)
        return started

    @staticmethod
    def write(path: Path, settings: Mapping[str, str]) -> str:
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return str(path)

    def close(self) -> None:
        for worker in self._running:
            worker.kill_tree()


def that_writes_orders(workers: Workers, topic: str) -> Worker:
    """A worker with a source that goes on writing."""
    started = workers.start()
    put(started, "orders", connector__class="Datagen", kafka__topic=topic, quickstart="orders", rate=50)
    started.until_state("orders", "RUNNING")
    return started


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


#: Milliseconds. Generous: it ends a run that hangs, and measures nothing.
PATIENCE_MS = 90_000


def put(worker: Worker, name: str, **config: Any) -> None:
    """Create a connector; in keys `__` stands for a dot."""
    settings = {key.replace("__", "."): str(value) for key, value in config.items()}
    status, body = worker.ask("PUT", f"/connectors/{name}/config", settings)
    assert status == 201, body


@pytest.fixture(scope="module")
def browser(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[Browser]:
    """A real Chromium."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(chromium())
        except ChromiumUnavailable as error:
            cannot_have("Chromium", error)
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test for what its script or its policy complains about."""
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield opened
    opened.close()
    # A request that is refused, or does not arrive, is shown on the page; the browser writes it down too.
    assert [text for text in complaints if not text.startswith("Failed to load resource")] == []
