"""The command `connect standalone`, run as its users run it, on a real broker."""

import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import pytest

from connect.kafka.broker.embedded import Broker
from tests.support.worker_process import WorkerProcess, our_command

WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.file.filename": "offsets",
    "offset.flush.interval.ms": "500",
    "listeners": "http://127.0.0.1:0",  # another process runs such tests at the same time
    "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
}


class Standalone:
    """Property files in a folder, and the command that runs them there."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder = folder
        self._servers = broker.bootstrap_servers
        self._running: list[WorkerProcess] = []
        self.worker({})

    def worker(self, changes: Mapping[str, str]) -> None:
        """Write worker.properties: the usual settings with some changed."""
        self.properties("worker.properties", {"bootstrap.servers": self._servers, **WORKER, **changes})

    def properties(self, name: str, settings: Mapping[str, str]) -> str:
        """Write a property file. Returns its name."""
        (self.folder / name).write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return name

    def source(self, topic: str, name: str = "source", **changes: str) -> str:
        """A file source: in.txt to the topic."""
        settings = {"name": name, "connector.class": "FileStreamSource", "file": "in.txt", "topic": topic}
        return self.properties(f"{name}.properties", {**settings, **_dotted(changes)})

    def sink(self, topic: str, name: str, **changes: str) -> str:
        """A file sink: the topic to out.txt."""
        settings = {"name": name, "connector.class": "FileStreamSink", "file": "out.txt", "topics": topic}
        return self.properties(f"{name}.properties", {**settings, **_dotted(changes)})

    def start(
        self, *files: str, stdin: int | IO[bytes] = subprocess.DEVNULL, stdout: Path | None = None
    ) -> WorkerProcess:
        """Run `connect standalone worker.properties` with these files. Its log is what it says on standard error."""
        log = self.folder / f"worker-{len(self._running)}.log"
        with (stdout or Path(os.devnull)).open("wb") as out:
            made = WorkerProcess(self.command(*files), log, cwd=self.folder, stdin=stdin, stdout=out)
            self._running.append(made)
            return made.start()

    def run(self, *files: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The same, where it is to end by itself; with modules of a folder."""
        return subprocess.run(
            self.command(*files),
            cwd=self.folder,
            env=os.environ if path is None else _with_modules(path),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @staticmethod
    def command(*files: str) -> list[str]:
        return our_command("standalone", "worker.properties", *files)

    def close(self) -> None:
        for worker in self._running:
            worker.kill_tree()


def _with_modules(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


def _dotted(changes: Mapping[str, str]) -> dict[str, str]:
    return {key.replace("_", "."): value for key, value in changes.items()}


@pytest.fixture
def standalone(tmp_path: Path, broker: Broker) -> Iterator[Standalone]:
    made = Standalone(tmp_path, broker)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def topic() -> str:
    """A topic that nobody else uses."""
    return f"standalone-{uuid.uuid4().hex[:8]}"
