"""Standalone workers, Java's and ours, and the commands run against it as their users run them."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, our_command

PATIENCE = 90.0


@pytest.fixture(scope="session", params=["java", "ours"])
def worker(
    request: pytest.FixtureRequest,
    broker: Broker,
    tmp_path_factory: pytest.TempPathFactory,
    cannot_have: Callable[[str, object], NoReturn],
) -> Iterator[tuple[str, bool]]:
    """The address, and whether it hides secrets, of a standalone worker: of Apache Kafka Connect's, then of ours."""
    command = our_command("standalone")
    if request.param == "java":
        try:
            command = _java()
        except (JavaNotFound, JarsUnavailable) as error:
            cannot_have("Kafka Connect", error)
    folder = tmp_path_factory.mktemp(f"{request.param}-worker")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    file = worker_file(broker, folder, address)
    started = WorkerProcess([*command, file], folder / "worker.log").start()
    try:
        started.until_answering(port, "/connectors")
        yield address, request.param == "ours"
    finally:
        started.close()


def worker_file(broker: Broker, folder: Path, address: str) -> Path:
    """Write the properties of a standalone worker that listens at this address."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "listeners": address,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "200",
        "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
    }
    file = folder / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


def _java() -> list[str]:
    # Its loggers are those of Log4j, which Connect's own jars leave to whoever runs it.
    logging = [jar for jar in classpath("kafka-broker").split(":") if "log4j-" in Path(jar).name]
    jars = ":".join([classpath("kafka-connect"), *logging])
    return [str(find_java().path), "-Xmx512m", "-cp", jars, "org.apache.kafka.connect.cli.ConnectStandalone"]


class Commands:
    """Runs `connect` in a folder against one cluster."""

    def __init__(self, folder: Path, url: str, hides_secrets: bool) -> None:
        self.folder = folder
        self.hides_secrets = hides_secrets
        self.url = url

    def __call__(self, *words: str, code: int = 0, stdin: str = "") -> str:
        """Run one that ends with `code`. Returns its output; of one that fails, what it says instead."""
        done = self.run(*words, stdin=stdin)
        assert done.returncode == code, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stderr if code else done.stdout

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    @staticmethod
    def command(*words: str) -> list[str]:
        return [sys.executable, "-m", "connect.cli", *words]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "CONNECT_URL": self.url}

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the cluster brings about."""
        until(condition, PATIENCE, lambda: self.run("status").stdout, every=0.1)

    def write(self, name: str, content: object) -> str:
        """Write a connector file. Returns its name."""
        (self.folder / name).write_text(json.dumps(content, indent=2) if isinstance(content, dict) else str(content))
        return name


@pytest.fixture
def connect(tmp_path: Path, worker: tuple[str, bool]) -> Iterator[Commands]:
    """The commands. Connectors that a test leaves are deleted."""
    commands = Commands(tmp_path, *worker)
    yield commands
    if names := [one["name"] for one in commands.json("list")]:
        commands("delete", "--yes", *names)


@pytest.fixture
def name() -> str:
    """Of a connector."""
    return f"lines-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def source(connect: Commands, name: str) -> str:
    """A file of a source that reads three lines."""
    (connect.folder / "in.txt").write_text("one\ntwo\nthree\n")
    config = {"connector.class": "FileStreamSource", "topic": name, "file": str(connect.folder / "in.txt")}
    return connect.write("source.json", {"name": name, "config": config})


def states(connect: Commands, name: str) -> tuple[str, list[str]] | None:
    """Of a connector and of its tasks; None where it is not known yet."""
    found = connect.run("status", name, "--json")
    if found.returncode and not found.stdout:
        return None
    (status,) = json.loads(found.stdout)
    return status["connector"]["state"], [task["state"] for task in status["tasks"]]


def running(connect: Commands, name: str) -> None:
    """Wait until it and its task run."""
    connect.until(lambda: states(connect, name) == ("RUNNING", ["RUNNING"]))
