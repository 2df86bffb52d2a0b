"""`python -m bench.pool`: a pool of workers with many small connectors, beside Kafka Connect's own workers.

many      so many connectors with one task each on three workers: the start of all, the list with all states, the
          loss of a worker by kill -9
loss      the same loss with twelve sinks and the rebalance delay that ours has by default; Kafka's is five minutes
idle      a worker with 100 tasks that have nothing to do: CPU of its whole process tree, the broker's apart
change    a changed configuration, from the request until the new task has begun

A loss is over when records flow again: one with a time stamp is written steadily into the topics of the sinks, and what
counts is when the first that was written after the kill is in the target of each sink that was lost. When their states
say RUNNING is told beside it.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import one
from bench.document import Rows
from bench.flow import NothingFlows, Ticks, await_since, lose
from bench.machine import kafka_connect, say, versions
from bench.part import Settings
from bench.rest import Rest
from bench.tables import Figure, compare
from bench.topics import Topics
from bench.work import write_properties
from bench.workers import JVM_OPTIONS, SIDES, stop
from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.kafka.broker import embedded as broker
from connect.ports import free_port
from connect.telemetry import processes as tree

WORKERS = 3
IDLE_TASKS = 100
CHANGES = 20
AT_ONCE = 4
PATIENCE_S = 900.0
WATCH_S = 60.0  # an idle task sleeps longer the longer it is idle, so it may settle for as long as it is watched
SESSION_MS = 10_000
DELAY_MS = 5_000  # what ours waits for a lost worker by default
TICK_S = 0.5  # seconds between two records for a sink
SINKS = 12  # of `loss`

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
        self.process.kill()
        self.process.wait()


@dataclass
class Pool:
    """Workers of one side in one group.

    Attributes:
        name: of the group; no other pool has it.
    """

    side: str
    name: str
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

    def tasks_of(self, worker: PoolWorker) -> set[str]:
        """The connectors whose task runs on a worker."""
        said = self.rest.get("/connectors?expand=status") or {}
        return {
            name
            for name, each in said.items()
            if any(task["worker_id"] == worker.rest.id for task in each["status"]["tasks"])
        }


@contextmanager
def pool(
    side: str, bootstrap: str, folder: Path, count: int = WORKERS, more: Mapping[str, str] | None = None
) -> Iterator[Pool]:
    """Run so many workers of a side, with topics and a group of their own, and end them all.

    Args:
        more: settings of the workers beside these, or in their place.
    """
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
        **(more or {}),
    }
    for what in ("config", "offset", "status"):
        settings |= {f"{what}.storage.topic": f"{name}-{what}", f"{what}.storage.replication.factor": "1"}
    workers: list[PoolWorker] = []
    try:
        workers.extend(_start(side, settings, folder, number) for number in range(count))
        made = Pool(side, name, workers, folder)
        await_true(lambda: all(worker.rest.get("/connectors") is not None for worker in workers), "all workers answer")
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
    """See the top of the module. Half are sources of empty files, half sinks of one topic."""
    with pool(side, bootstrap, folder) as workers, Topics(bootstrap) as topics:
        topic = f"{workers.name}-ticks"
        topics.create(topic)
        began = time.monotonic()
        cpu = workers.cpu()
        _create(workers, count, topic)
        created = time.monotonic()
        await_true(lambda: workers.running() == count, f"{count} tasks run")
        ran = time.monotonic()
        figures = {
            "create_s": created - began,
            "running_s": ran - began,
            "cpu_s": workers.cpu() - cpu,
            "pss_mb": workers.memory() / 1e6,
        }
        took = []
        for _ in range(20):
            asked = time.monotonic()
            workers.rest.get("/connectors?expand=status&expand=info")
            took.append(time.monotonic() - asked)
        figures["list_ms"] = 1000 * statistics.median(took)
        sinks = {_name(number): _place(workers, _name(number)) for number in range(1, count, 2)}
        return figures | _lose(workers, bootstrap, sinks, {topic}, count)


def loss(side: str, bootstrap: str, folder: Path, count: int) -> dict[str, float]:
    """See the top of the module. Each sink has a topic of its own."""
    more = {"scheduled.rebalance.max.delay.ms": str(DELAY_MS)}
    with pool(side, bootstrap, folder, more=more) as workers, Topics(bootstrap) as topics:
        sinks = {_name(number): _place(workers, _name(number)) for number in range(count)}
        for name, file in sinks.items():
            topics.create(f"{workers.name}-{name}")
            config = _sink(name, file, f"{workers.name}-{name}")
            workers.rest.put(f"/connectors/{name}/config", config)
        await_true(lambda: workers.running() == count, f"{count} tasks run")
        return _lose(workers, bootstrap, sinks, {f"{workers.name}-{name}" for name in sinks}, count)


def _lose(workers: Pool, bootstrap: str, sinks: Mapping[str, Path], topics: set[str], count: int) -> dict[str, float]:
    """Kill one worker: how long its sinks' targets get nothing, and when all states say RUNNING again.

    Args:
        sinks: the targets of all sinks, by the names of their connectors.
        topics: what they read.
        count: how many tasks there are.
    """
    lost = workers.workers[-1]
    with Ticks(bootstrap, sorted(topics), TICK_S).running() as ticks:
        await_since(sinks, 1e-6, PATIENCE_S)
        targets = {name: sinks[name] for name in workers.tasks_of(lost) & sinks.keys()}
        if not targets:
            raise NothingFlows("the worker that is to be lost has no sink")

        def running() -> float:
            await_true(lambda: workers.running() == count, "the lost worker's tasks run elsewhere")
            return time.monotonic()

        say(f"  a worker with {len(targets)} of {len(sinks)} sinks is killed")
        with ThreadPoolExecutor(1) as threads:
            ran: list[Future[float]] = []

            def kill() -> None:
                lost.kill()
                ran.append(threads.submit(running))

            killed, waited = lose(ticks, targets, kill, PATIENCE_S)
            seen = ran[0].result()
    return {
        "lost_sinks": len(targets),
        "flows_first_s": waited[0],
        "flows_median_s": statistics.median(waited),
        "flows_last_s": waited[-1],
        "loss_running_s": seen - killed,
    }


def idle(side: str, running: broker.Broker, folder: Path, count: int, seconds: float) -> dict[str, float]:
    """See the top of the module. Half are sources of empty files, half sinks of an empty topic.

    Args:
        seconds: how long they may settle, and how long they are then watched.
    """
    with pool(side, running.bootstrap_servers, folder, 1) as workers:
        _create(workers, count, "nothing")
        await_true(lambda: workers.running() == count, f"{count} tasks run")
        time.sleep(seconds)
        began, ours, brokers = time.monotonic(), workers.cpu(), tree.cpu(running.pid)
        time.sleep(seconds)
        watched = time.monotonic() - began
        return {
            "worker_percent": 100 * (workers.cpu() - ours) / watched,
            "broker_percent": 100 * (tree.cpu(running.pid) - brokers) / watched,
            "pss_mb": workers.memory() / 1e6,
        }


def change(side: str, bootstrap: str, folder: Path, changes: int) -> dict[str, float]:
    """See the top of the module. A sink opens its file when it begins: the new file is what is waited for."""
    with pool(side, bootstrap, folder) as workers:
        config = _sink("changing", folder / f"{side}-changing", "nothing")
        workers.rest.put("/connectors/changing/config", config)
        await_true(lambda: workers.running() == 1, "the task runs")
        answered, took = [], []
        for number in range(changes):
            file = folder / f"{workers.name}-changing-{number}"
            asked = time.monotonic()
            workers.rest.put("/connectors/changing/config", {**config, "file": str(file)})
            answered.append(time.monotonic() - asked)
            await_true(file.exists, "the new task begins", every=0.002)
            took.append(time.monotonic() - asked)
            await_true(lambda: workers.running() == 1, "the task runs")
        return {
            "answered_ms": 1000 * statistics.median(answered),
            "begun_ms": 1000 * statistics.median(took),
            "begun_longest_ms": 1000 * max(took),
        }


def _create(workers: Pool, count: int, topic: str) -> None:
    """Half are sources of empty files, half sinks of a topic."""

    def create(number: int) -> None:
        name = _name(number)
        file = _place(workers, name)
        config = _sink(name, file, topic) if number % 2 else _source(name, file)
        workers.rest.put(f"/connectors/{name}/config", config)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number, _ in enumerate(threads.map(create, range(count)), 1):
            if number % 100 == 0:
                say(f"  {number} of {count} connectors made, {workers.running()} tasks run")


def _name(number: int) -> str:
    return f"c{number:04}"


def _place(workers: Pool, name: str) -> Path:
    """The file of a connector."""
    folder = workers.folder / workers.name
    folder.mkdir(exist_ok=True)
    return folder / name


def _source(name: str, file: Path) -> dict[str, str]:
    file.touch()
    return {"name": name, "connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": "nothing"}


def _sink(name: str, file: Path, topic: str) -> dict[str, str]:
    return {"name": name, "connector.class": FILE_SINK, "tasks.max": "1", "file": str(file), "topics": topic}


def await_true(condition: Callable[[], Any], what: str, every: float = 0.25) -> None:
    """Wait until something holds. Raises TookTooLong."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TookTooLong(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(every)


def measure(settings: Settings) -> dict[str, Any]:
    """What the top of the module says, by both sides in turn."""
    count, rounds = settings.count(1000, 12), settings.repeat(1)
    changes, idles, seconds, sinks = (2, 6, 3.0, 6) if settings.quick else (CHANGES, IDLE_TASKS, WATCH_S, SINKS)
    classpath("kafka-connect")
    rows = Rows({"ours": ["java"]})
    folder = settings.folder
    try:
        running = broker.ensure_running(folder / "broker", port=0)
        bootstrap = running.bootstrap_servers
        with Topics(bootstrap) as topics:
            topics.create("nothing")
        works: dict[str, Callable[[str], dict[str, float]]] = {
            "change": lambda side: change(side, bootstrap, folder, changes),
            "idle": lambda side: idle(side, running, folder, idles, seconds),
            "loss": lambda side: loss(side, bootstrap, folder, sinks),
            "many": lambda side: many(side, bootstrap, folder, count),
        }
        for number in range(rounds):
            for what in filter(settings.wants, works):
                for side in reversed(SIDES) if number % 2 else SIDES:
                    say(f"{what}: {side}")
                    found = works[what](side)
                    rows.add(what, side, found, number)
                    say("  " + ", ".join(f"{name} {value:,.1f}" for name, value in found.items()))
    finally:
        broker.stop(folder / "broker")
    return {
        "settings": {
            "rounds": rounds,
            "connectors": count,
            "workers": WORKERS,
            "idle_tasks": idles,
            "settle_s": seconds,
            "sinks": sinks,
            "session_ms": SESSION_MS,
        },
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka")},
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    sizes = document["settings"]
    tenth = "{:,.1f}"
    lost = (
        Figure("flows_median_s", "records in half of the targets again, s", tenth),
        Figure("flows_last_s", "records in all targets again, s", tenth),
        Figure("loss_running_s", "all say RUNNING, s", tenth),
    )
    start = (
        Figure("create_s", "all created over REST, s"),
        Figure("running_s", "all tasks run, s"),
        Figure("cpu_s", "CPU of the workers until then, s"),
        Figure("pss_mb", "memory with all running, MB"),
        Figure("list_ms", "list of all with states, median ms"),
    )
    idle = (
        Figure("worker_percent", "worker and tasks, % of a core", tenth),
        Figure("broker_percent", "broker, % of a core", tenth),
        Figure("pss_mb", "memory, MB"),
    )
    change = (
        Figure("answered_ms", "answered, median ms"),
        Figure("begun_ms", "the new task has begun, median ms"),
        Figure("begun_longest_ms", "the new task has begun, longest ms"),
    )
    titled = {
        "many": (f"{sizes['connectors']:,} connectors, {sizes['workers']} workers", (*start, *lost)),
        "loss": (f"loss of a worker with {sizes.get('sinks', SINKS)} sinks in the group", lost),
        "idle": (f"a worker with {sizes['idle_tasks']} idle tasks", idle),
        "change": (f"a changed configuration, {sizes['workers']} workers", change),
    }
    tables = [
        f"**{title}**\n\n{compare(document, {row: ''}, figures, ('java', 'Java'))}"
        for row, (title, figures) in titled.items()
        if row in document["rows"]
    ]
    return "\n\n".join(tables)


if __name__ == "__main__":
    sys.exit(one.main("bench.pool", "pool"))
