"""The two that are measured: how each is started, from which files, and stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.work import JAVA_UNCHANGED, OUR_UNCHANGED, PLUGINS, Work, write_properties
from connect.jvm.jars import classpath, resolve
from connect.jvm.java import find_java
from connect.ports import free_port
from connect.telemetry import processes as tree

STOP_WITHIN = 30.0  # seconds until a worker that does not stop is killed

# What Kafka's own start script gives a worker.
JVM_OPTIONS = [
    "-server",
    "-Xms256m",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
]
# The start script gives 2 GB. The sink does with half of it; the source takes what it gets.
HEAP = {"source": "-Xmx2g", "sink": "-Xmx1g"}

SIDES = ("java", "ours")


@dataclass(frozen=True)
class Worker:
    """A worker that runs, in a session of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """The process whose tree is measured."""
        return self.process.pid

    def ended(self) -> str | None:
        """Why it ended by itself, or None as long as it runs."""
        code = self.process.poll()
        if code is None:
            return None
        said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
        return "\n  ".join([f"the worker ended with {code}; the end of its log:", *said])


@contextmanager
def running(side: str, work: Work, bootstrap: str, name: str, topic: str, file: Path, folder: Path) -> Iterator[Worker]:
    """Run one worker with one connector, and stop it with all its processes."""
    ours = side == "ours"
    worker = work.worker_properties(bootstrap, folder, free_port())
    connector = work.connector_properties(name, topic, file)
    if work.variant == "unchanged":
        connector |= OUR_UNCHANGED if ours else JAVA_UNCHANGED
        if ours:
            worker["plugin.path"] = str(PLUGINS)
    if work.jars and ours:
        connector["connector.language"] = "java"
        worker["plugin.path"] = str(file_connectors(folder / "plugins"))
    files = [
        str(write_properties(folder / "worker.properties", worker)),
        str(write_properties(folder / "connector.properties", connector)),
    ]
    command = [sys.executable, "-m", "connect.cli", "standalone"] if ours else java_command(work)
    log = folder / "worker.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *files], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield Worker(process, log)
    finally:
        stop(process)


def file_connectors(folder: Path) -> Path:
    """A folder of plugin.path with Kafka Connect's file connectors."""
    (jar,) = [jar for jar in resolve("kafka-connect") if jar.name.startswith("connect-file-")]
    (folder / "file").mkdir(parents=True)
    (folder / "file" / jar.name).symlink_to(jar)
    return folder


def java_command(work: Work) -> list[str]:
    """Kafka Connect's own main class, with its jars on the class path."""
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    return [
        str(find_java().path),
        *JVM_OPTIONS,
        HEAP[work.direction],
        "-cp",
        classpath("kafka-connect"),
        main,
    ]


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a worker, and after a while whatever is left of what it started."""
    process.terminate()
    try:
        process.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        pass
    for left in tree.tree(process.pid):
        with suppress(ProcessLookupError):
            os.kill(left.pid, signal.SIGKILL)
    process.wait()
