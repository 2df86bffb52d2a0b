"""`python -m bench.java_tasks`: connectors of Java in a worker of ours, beside Kafka Connect's own worker.

ten       one connector with ten tasks, through which lines flow: memory of the worker with all it started
start     a worker that runs such a connector gets another some time later: from the request until it and its task run
at_once   another is there already when the next request comes: no JVM of ours waits yet
shared    as start, with all connectors of the worker in one JVM (java.isolation=worker), as in Kafka Connect; and its
          memory with all of these connectors
"""

import statistics
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from bench import one
from bench.document import Rows
from bench.machine import kafka_connect, say, versions
from bench.part import Settings
from bench.pool import FILE_SINK, Pool, await_true, pool
from bench.tables import Figure, compare
from bench.topics import Topics
from bench.workers import SIDES, file_connectors
from connect.jvm.jars import classpath
from connect.kafka.broker import embedded as broker

TASKS = 10
LINES = 500_000
STARTS = 5
SETTLE_S = 10.0  # garbage collectors and pages that are given back
APART_S = 6.0  # between connectors that are not asked for at once
SHARED = {"java.isolation": "worker"}


def measure(settings: Settings) -> dict[str, Any]:
    """What the top of the module says, by both sides in turn."""
    lines, starts, rounds = settings.count(LINES, 5_000), settings.count(STARTS, 2), settings.repeat(3)
    classpath("kafka-connect")
    plugins = file_connectors(settings.folder / "plugins")
    rows = Rows({"ours": ["java"]})
    folder = settings.folder
    try:
        bootstrap = broker.ensure_running(folder / "broker", port=0).bootstrap_servers
        with Topics(bootstrap) as topics:
            topics.create("lines", TASKS)
            _fill(bootstrap, lines)
        for number in range(rounds):
            for side in reversed(SIDES) if number % 2 else SIDES:
                say(f"{side}")
                # Kafka Connect has them on its class path.
                more = {"plugin.path": str(plugins)} if side == "ours" else {}
                with pool(side, bootstrap, folder, 1, more) as workers:
                    found = {
                        "start": _starts(workers, "later", starts, APART_S),
                        "at_once": _starts(workers, "at-once", starts, 0.0),
                        "ten": _ten(workers, lines),
                    }
                with pool(side, bootstrap, folder, 1, more | (SHARED if side == "ours" else {})) as workers:
                    found["shared"] = _starts(workers, "shared", starts, APART_S)
                for what, figures in found.items():
                    rows.add(what, side, figures, number)
                    say(f"  {what}: " + ", ".join(f"{name} {value:,.2f}" for name, value in figures.items()))
    finally:
        broker.stop(folder / "broker")
    return {
        "settings": {"rounds": rounds, "tasks": TASKS, "lines": lines, "starts": starts},
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka")},
        "rows": rows.as_json(),
    }


def _fill(bootstrap: str, lines: int) -> None:
    """Lines of 100 bytes, in all partitions."""
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": lines, "linger.ms": 50})
    for number in range(lines):
        producer.produce("lines", b"%0100d" % number, partition=number % TASKS)
    producer.flush()


def _starts(workers: Pool, what: str, count: int, apart: float) -> dict[str, float]:
    """Start so many and one more, beside each other, and delete them."""
    took, files = [], []
    for number in range(count + 1):
        asked = time.monotonic()
        files.append(_put(workers, f"{what}-{number}", 1))
        await_true(lambda: workers.running() == len(files), "the task runs", every=0.005)
        took.append(time.monotonic() - asked)
        time.sleep(apart)
    memory = workers.memory() / 1e6
    for file in files:
        workers.rest.ask("DELETE", f"/connectors/{file.name}")
    await_true(lambda: workers.running() == 0, "they are deleted")
    warm = took[1:]
    return {"first_s": took[0], "start_s": statistics.median(warm), "longest_s": max(warm), "pss_mb": memory}


def _ten(workers: Pool, lines: int) -> dict[str, float]:
    began, cpu = time.monotonic(), workers.cpu()
    file = _put(workers, "ten", TASKS)
    await_true(lambda: workers.running() == TASKS, "ten tasks run")
    ran = time.monotonic()
    await_true(lambda: _count(file) >= lines, "all lines are written")
    time.sleep(SETTLE_S)
    return {"running_s": ran - began, "pss_mb": workers.memory() / 1e6, "cpu_s": workers.cpu() - cpu}


def _put(workers: Pool, what: str, tasks: int) -> Path:
    name = f"{workers.name}-{what}"  # so is its consumer group, which must have read nothing yet
    file = workers.folder / name
    config = {"connector.class": FILE_SINK, "tasks.max": str(tasks), "file": str(file), "topics": "lines"}
    if workers.side == "ours":
        config["connector.language"] = "java"
    workers.rest.put(f"/connectors/{name}/config", {"name": name, **config})
    return file


def _count(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    sizes = document["settings"]
    titles = {
        "start": "one more connector on a warm worker",
        "at_once": "one more, at once behind another",
        "shared": "one more, in the JVM of the others",
        "ten": f"one connector, {sizes['tasks']} tasks",
    }
    figures = (
        Figure("start_s", "from the request to RUNNING, median s", "{:.2f}"),
        Figure("first_s", "the first of all, s", "{:.2f}"),
        Figure("pss_mb", "memory after all lines, MB"),
        Figure("running_s", "all tasks run, s", "{:.1f}"),
    )
    return compare(document, titles, figures, ("java", "its worker"))


if __name__ == "__main__":
    sys.exit(one.main("bench.java_tasks", "java_tasks"))
