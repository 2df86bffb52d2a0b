"""`python -m bench.pool`: a pool of workers with many small connectors, beside Kafka Connect's own workers.

many      so many connectors with one task each on three workers: the start of all, the list with all states, the
          loss of a worker by kill -9 until its work runs elsewhere
idle      a worker with 100 tasks that have nothing to do: CPU of its whole process tree, the broker's apart
change    a changed configuration, from the request until the new task has begun
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine, tree
from bench.machine import introduce, say
from bench.rest import Rest
from bench.topics import Topics
from bench.work import write_properties
from bench.workers import JVM_OPTIONS, SIDES, free_port, stop
from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.kafka import broker

WORKERS = 3
IDLE_TASKS = 100
CHANGES = 20
AT_ONCE = 4
PATIENCE_S = 900.0
SETTLE_S = 60.0  # an idle task sleeps longer the longer it is idle
WATCH_S = 60.0
SESSION_MS = 10_000

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
STRING = "org.apache.kafka.connect.storage.StringConverter"


class TookTooLong(Exception):
    """What was waited for did not happen."""


@dataclass
class PoolWorker:
    """One worker of a pool, in a session of its own."""

    process: subprocess.Popen[bytes]
    rest: Rest
    log: Path

    def kill(self) -> None:
        """End it as a crash does: only the worker's process; what it started must find out by itself."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@dataclass
class Pool:
    """Workers of one side in one group."""

    side: str
    workers: list[PoolWorker]
    folder: Path

    @property
    def rest(self) -> Rest:
        """Of a worker that runs."""
        return next(worker.rest for worker in self.workers if worker.process.poll() is None)

    def cpu(self) -> float:
        """Seconds of CPU of all workers with all they started, so far."""
        return sum(tree.cpu(worker.process.pid) for worker in self.workers)

    def memory(self) -> int:
        """Bytes of all workers with all they started; shared pages divided (PSS)."""
        processes = [each.pid for worker in self.workers for each in tree.tree(worker.process.pid)]
        return sum(tree.pss(pid) for pid in processes)

    def running(self) -> int:
        """How many tasks run, by a worker that is alive, whose connectors run as well."""
        alive = {worker.rest.id for worker in self.workers if worker.process.poll() is None}
        count = 0
        for said in (self.rest.get("/connectors?expand=status") or {}).values():
            status = said["status"]
            parts = [status["connector"], *status["tasks"]]
            good = all(part["state"] == "RUNNING" and part["worker_id"] in alive for part in parts)
            count += len(status["tasks"]) if good else 0
        return count


@contextmanager
def pool(side: str, bootstrap: str, folder: Path, count: int = WORKERS) -> Iterator[Pool]:
    """Run so many workers of a side, with topics and a group of their own, and end them all."""
    name = f"{side}-{time.time_ns()}"
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "key.converter": STRING,
        "value.converter": STRING,
        "session.timeout.ms": str(SESSION_MS),
        "heartbeat.interval.ms": "3000",
        # The same on both sides: what is measured is what they do once they may.
        "scheduled.rebalance.max.delay.ms": "0",
    }
    for what in ("config", "offset", "status"):
        settings |= {f"{what}.storage.topic": f"{name}-{what}", f"{what}.storage.replication.factor": "1"}
    workers: list[PoolWorker] = []
    try:
        workers.extend(_start(side, settings, folder, number) for number in range(count))
        made = Pool(side, workers, folder)
        _until(lambda: all(worker.rest.get("/connectors") is not None for worker in workers), "all workers answer")
        yield made
    finally:
        with ThreadPoolExecutor(max(1, len(workers))) as threads:
            list(threads.map(lambda worker: stop(worker.process), workers))


def _start(side: str, settings: dict[str, str], folder: Path, number: int) -> PoolWorker:
    port = free_port()
    name = f"{side}-{number}-{port}"
    file = write_properties(folder / f"{name}.properties", {**settings, "listeners": f"http://127.0.0.1:{port}"})
    command = [sys.executable, "-m", "connect.cli", "distributed"]
    if side == "java":
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = [str(find_java().path), *JVM_OPTIONS, "-Xmx2g", "-cp", classpath("kafka-connect"), main]
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, str(file)], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    return PoolWorker(process, Rest(port), log)


def many(side: str, bootstrap: str, folder: Path, count: int) -> dict[str, float]:
    """See the top of the module. Half are sources of empty files, half sinks of an empty topic."""
    with pool(side, bootstrap, folder) as workers:
        began = time.monotonic()
        cpu = workers.cpu()
        _create(workers, count)
        created = time.monotonic()
        _until(lambda: workers.running() == count, f"{count} tasks run")
        ran = time.monotonic()
        figures = {
            "create all, s": created - began,
            "until all run, s": ran - began,
            "CPU until all run, s": workers.cpu() - cpu,
            "memory, MB (PSS)": workers.memory() / 1e6,
        }
        took = []
        for _ in range(20):
            asked = time.monotonic()
            workers.rest.get("/connectors?expand=status&expand=info")
            took.append(time.monotonic() - asked)
        figures["list with states, median ms"] = 1000 * statistics.median(took)
        workers.workers[-1].kill()
        lost = time.monotonic()
        _until(lambda: workers.running() == count, "the lost worker's tasks run elsewhere")
        figures["loss of a worker until all run, s"] = time.monotonic() - lost
        figures["of this the session timeout, s"] = SESSION_MS / 1000
        return figures


def idle(side: str, bootstrap: str, broker_pid: int, folder: Path) -> dict[str, float]:
    """See the top of the module. Half are sources of empty files, half sinks of an empty topic."""
    with pool(side, bootstrap, folder, 1) as workers:
        _create(workers, IDLE_TASKS)
        _until(lambda: workers.running() == IDLE_TASKS, f"{IDLE_TASKS} tasks run")
        time.sleep(SETTLE_S)
        began, ours, brokers = time.monotonic(), workers.cpu(), tree.cpu(broker_pid)
        time.sleep(WATCH_S)
        seconds = time.monotonic() - began
        return {
            "worker and tasks, % of a core": 100 * (workers.cpu() - ours) / seconds,
            "broker, % of a core": 100 * (tree.cpu(broker_pid) - brokers) / seconds,
            "memory, MB (PSS)": workers.memory() / 1e6,
        }


def change(side: str, bootstrap: str, folder: Path) -> dict[str, float]:
    """See the top of the module. A sink opens its file when it begins: the new file is what is waited for."""
    with pool(side, bootstrap, folder) as workers:
        config = _sink("changing", folder / f"{side}-changing")
        workers.rest.put("/connectors/changing/config", config)
        _until(lambda: workers.running() == 1, "the task runs")
        answered, took = [], []
        for number in range(CHANGES):
            file = folder / f"{side}-changing-{number}"
            asked = time.monotonic()
            workers.rest.put("/connectors/changing/config", {**config, "file": str(file)})
            answered.append(time.monotonic() - asked)
            _until(file.exists, "the new task begins", every=0.002)
            took.append(time.monotonic() - asked)
            _until(lambda: workers.running() == 1, "the task runs")
        return {
            "answered, median ms": 1000 * statistics.median(answered),
            "new task has begun, median ms": 1000 * statistics.median(took),
            "new task has begun, longest ms": 1000 * max(took),
        }


def _create(workers: Pool, count: int) -> None:
    folder = workers.folder / workers.side
    folder.mkdir(exist_ok=True)

    def create(number: int) -> None:
        name = f"c{number:04}"
        config = _sink(name, folder / name) if number % 2 else _source(name, folder / name)
        workers.rest.put(f"/connectors/{name}/config", config)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number, _ in enumerate(threads.map(create, range(count)), 1):
            if number % 100 == 0:
                say(f"  {number} of {count} connectors made, {workers.running()} tasks run")


def _source(name: str, file: Path) -> dict[str, str]:
    file.touch()
    return {"name": name, "connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": "nothing"}


def _sink(name: str, file: Path) -> dict[str, str]:
    return {"name": name, "connector.class": FILE_SINK, "tasks.max": "1", "file": str(file), "topics": "nothing"}


def _until(condition: Callable[[], Any], what: str, every: float = 0.25) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TookTooLong(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(every)


def main() -> int:
    """Returns 0 when all measurements ended well, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.pool", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", choices=["many", "idle", "change", []], help="which (default: all)")
    parser.add_argument("--connectors", type=int, default=1000, help="of `many` (default 1000)")
    parser.add_argument("--side", choices=SIDES, action="append", help="only this one (default: both)")
    parser.add_argument("--json", type=Path, help="where the figures go as JSON")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sides = args.side or list(SIDES)
    if "java" in sides:
        classpath("kafka-connect")
    introduce()
    figures: dict[str, dict[str, dict[str, float]]] = {}
    failures = 0
    with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
        folder = Path(name)
        try:
            running = broker.ensure_running(folder / "broker", port=0)
            with Topics(running.bootstrap_servers) as topics:
                topics.create("nothing")
            works: dict[str, Callable[[str], dict[str, float]]] = {
                "change": lambda side: change(side, running.bootstrap_servers, folder),
                "idle": lambda side: idle(side, running.bootstrap_servers, running.pid, folder),
                "many": lambda side: many(side, running.bootstrap_servers, folder, args.connectors),
            }
            for what in args.what or works:
                for side in sides:
                    say(f"{what}: {side}")
                    try:
                        figures.setdefault(what, {})[side] = works[what](side)
                    except TookTooLong as error:
                        failures += 1
                        say(f"  {error}")
        finally:
            broker.stop(folder / "broker")
    if args.json:
        args.json.write_text(json.dumps({"machine": machine.describe(), "figures": figures}, indent=2))
    for what, of_sides in figures.items():
        print(f"\n{what}")
        for figure in dict.fromkeys(figure for one in of_sides.values() for figure in one):
            cells = "".join(f"{one.get(figure, float('nan')):>14,.1f}" for one in of_sides.values())
            print(f"  {figure:<38}{cells}")
        print("  " + " " * 38 + "".join(f"{side:>14}" for side in of_sides))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
