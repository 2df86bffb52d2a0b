"""A standalone worker with one connector, or a program that does the same, watched from outside.

What parts share that count records in a target: how Kafka Connect's worker and ours are started, and how rate, CPU and
memory are taken from the first record on.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from bench.machine import ROOT
from bench.workers import HEAP, JVM_OPTIONS, stop
from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.ports import free_port
from connect.telemetry import processes as tree

#: Seconds until a run is given up.
WITHIN_S = 300.0


class MeasurementFailed(Exception):
    """Something ended, stood still, or put out something else than it should. The message says what."""


class Memory:
    """The most memory that a process tree had, in MB, looked at four times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self.most = 0.0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.most = max(self.most, sum(tree.pss(each.pid) for each in tree.tree(self._pid)) / 1e6)
            if self._ended.wait(0.25):
                return


@contextmanager
def program(folder: Path, command: Sequence[str | Path], cwd: Path = ROOT, *, may_end: bool = True) -> Iterator[int]:
    """Run a program with its log in `folder`, stop it with all its processes at the end; its process id.

    Args:
        may_end: whether it may end by itself when it is done.

    Raises:
        MeasurementFailed: it ended by itself and may not, or not well.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    try:
        yield process.pid
        code = process.poll()
        if code or (code == 0 and not may_end):
            raise MeasurementFailed(end_of_log(folder / "log"))
    finally:
        stop(process)


@contextmanager
def worker(
    side: str,
    bootstrap: str,
    folder: Path,
    connector: Mapping[str, str],
    settings: Mapping[str, str],
    plugins: Mapping[str, Sequence[Path]] | None = None,
    also: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """A standalone worker with one connector, or two; its process id.

    Args:
        side: `java` or `ours`.
        settings: of the worker, beside where it listens and keeps offsets.
        plugins: for Java, by name, the jars of each plug-in.
        also: another connector.

    Raises:
        MeasurementFailed: it ended by itself.
    """
    folder.mkdir(parents=True)
    settings = {
        "bootstrap.servers": bootstrap,
        "offset.storage.file.filename": str(folder / "offsets"),
        "listeners": f"http://127.0.0.1:{free_port()}",
        **settings,
    }
    if side == "java":
        for name, jars in (plugins or {}).items():
            place = folder / "plugins" / name
            place.mkdir(parents=True)
            for jar in jars:
                (place / jar.name).symlink_to(jar)
            settings["plugin.path"] = str(folder / "plugins")
        main = ["-cp", classpath("kafka-connect"), "org.apache.kafka.connect.cli.ConnectStandalone"]
        command = [str(find_java().path), *JVM_OPTIONS, HEAP["source"], *main]
    else:
        command = [sys.executable, "-m", "connect.cli", "standalone"]
    files = {"worker.properties": settings, "connector.properties": connector}
    files |= {} if also is None else {"also.properties": also}
    for name, values in files.items():
        lines = (f"{key}={value}\n" for key, value in values.items())
        (folder / name).write_text("".join(lines), encoding="utf-8")
    command += list(files)
    with program(folder, command, folder, may_end=False) as pid:
        yield pid


def end_of_log(log: Path) -> str:
    """What a worker or program said last."""
    return log.read_text(encoding="utf-8", errors="replace")[-3000:]


def watch(
    count: Callable[[], int], total: int, pid: int, began: float, log: Path, look_s: float = 0.02
) -> dict[str, float]:
    """Wait until all records are in the target. Rate and CPU are those from the first one on.

    Args:
        count: how many records there are in the target.
        pid: whose tree is looked at.
        began: when it was started, by `time.monotonic`.
        log: what it says.
        look_s: seconds between two looks.

    Raises:
        MeasurementFailed: they do not come in time, or most were there at the first look.
    """
    first: tuple[float, float, int] | None = None
    while True:
        found = count()
        at = time.monotonic()
        if found and first is None:
            first = (at, tree.cpu(pid), found)
        if found >= total:
            break
        if at - began > WITHIN_S:
            raise MeasurementFailed(f"{found:,} of {total:,} records after {WITHIN_S:.0f} s: {end_of_log(log)}")
        if failed(pid):
            raise MeasurementFailed(f"it ended after {found:,} of {total:,} records: {end_of_log(log)}")
        time.sleep(look_s)
    assert first is not None
    return taken(first, (at, tree.cpu(pid), found), began)


def failed(pid: int) -> bool:
    """Whether a child of ours ended, and not well. Whoever waits for it still can."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None and ended.si_status != 0


def taken(first: tuple[float, float, int], last: tuple[float, float, int], began: float) -> dict[str, float]:
    """The figures of a run from the moment, the CPU and the count at its first and its last look.

    Raises:
        MeasurementFailed: most was there at the first look, so that there is nothing to go by.
    """
    records, seconds, cpu = last[2] - first[2], last[0] - first[0], last[1] - first[1]
    if records < last[2] / 2:
        raise MeasurementFailed("more than half of all records were there at the first look: take more")
    return {
        "records": records,
        "seconds": seconds,
        "rate": records / seconds,
        "cpu_s": cpu,
        "cpu_us": cpu / records * 1e6,
        "start_s": first[0] - began,
    }
