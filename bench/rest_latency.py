"""`python -m bench.rest_latency`: how long REST requests take while tasks run at full load, beside Kafka Connect.

A pool of workers; sources that read one long file, each into a topic of its own, and sinks that read these topics, all
as fast as they can. Meanwhile one client asks one thing after another, each over a new connection:

list      GET /connectors
status    GET /connectors/NAME/status
expand    GET /connectors?expand=status&expand=info
validate  PUT /connector-plugins/CLASS/config/validate, of a source and a sink in turn
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import one
from bench.bars import bar_of, judge
from bench.document import Rows
from bench.files import write_lines
from bench.machine import kafka_connect, say, versions
from bench.part import Settings
from bench.pool import FILE_SINK, FILE_SOURCE, Pool, TookTooLong, pool
from bench.tables import markdown, marked
from bench.topics import Topics
from bench.workers import SIDES
from connect.jvm.jars import classpath
from connect.kafka.broker import embedded as broker

WORKERS = 2
PAIRS = 2  # of a source and a sink
SECONDS = 30.0
PATIENCE_S = 120.0
WARM_UP_S = 5.0
KINDS = {
    "list": "list",
    "status": "status",
    "expand": "list with states and configurations",
    "validate": "validate",
}


@dataclass(frozen=True)
class Latency:
    """How long requests of one kind took, in milliseconds."""

    requests: int
    median_ms: float
    p99_ms: float
    longest_ms: float

    @classmethod
    def of(cls, seconds: list[float]) -> "Latency":
        """From at least two."""
        found = [1000 * one for one in seconds]
        p99 = statistics.quantiles(found, n=100, method="inclusive")[98]
        return cls(len(found), statistics.median(found), p99, max(found))


@dataclass(frozen=True)
class Load:
    """What the tasks did meanwhile.

    Attributes:
        moved: records that the sources wrote while requests were measured.
        seconds: how long that was.
        cpu: seconds of CPU that the workers with all they started used of it.
        dry: whether the sources came to the end of the file, so that the figures are of less than full load.
    """

    moved: int
    seconds: float
    cpu: float
    dry: bool


def _one(
    side: str, topics: Topics, bootstrap: str, folder: Path, seconds: float, lines: int
) -> tuple[dict[str, Latency], Load]:
    """Run one side."""
    with pool(side, bootstrap, folder, WORKERS) as workers:
        names = [f"{workers.name}-{number}" for number in range(PAIRS)]
        for name in names:
            topics.create(name)
            for config in (_source(name, folder / "lines"), _sink(name)):
                workers.rest.put(f"/connectors/{config['name']}/config", config)
        _until(lambda: workers.running() == 2 * len(names), "all tasks run")
        _until(lambda: all(topics.end(name) for name in names), "all sources write")
        _ask(workers, names, min(WARM_UP_S, seconds))
        before, cpu, began = _written(topics, names), workers.cpu(), time.monotonic()
        took = _ask(workers, names, seconds)
        passed = time.monotonic() - began
        moved = _written(topics, names) - before
        dry = any(topics.end(name) >= lines for name in names)
        return {kind: Latency.of(found) for kind, found in took.items()}, Load(moved, passed, workers.cpu() - cpu, dry)


def _ask(workers: Pool, names: list[str], seconds: float) -> dict[str, list[float]]:
    """Ask one thing after another, of one worker after another. Returns how long each kind took."""
    took: dict[str, list[float]] = {kind: [] for kind in KINDS}
    until = time.monotonic() + seconds
    for number, (kind, method, path, body) in enumerate(_requests(names)):
        if time.monotonic() > until and min(map(len, took.values())) > 1:
            break
        rest = workers.workers[number // len(KINDS) % len(workers.workers)].rest
        asked = time.monotonic()
        status, said = rest.ask(method, path, body)
        took[kind].append(time.monotonic() - asked)
        if status != 200:
            raise RuntimeError(f"{method} {path}: {status} {said[:500].decode(errors='replace')}")
    return took


def _requests(names: list[str]) -> Iterator[tuple[str, str, str, bytes | None]]:
    """Kind, method, path and body, without end."""
    number = 0
    while True:
        name = names[number % len(names)]
        config = _source(name, Path("a-file")) if number % 2 else _sink(name)
        yield "list", "GET", "/connectors", None
        yield "status", "GET", f"/connectors/source-{name}/status", None
        yield "expand", "GET", "/connectors?expand=status&expand=info", None
        path = f"/connector-plugins/{config['connector.class']}/config/validate"
        yield "validate", "PUT", path, json.dumps(config).encode()
        number += 1


def _source(name: str, file: Path) -> dict[str, str]:
    return {"name": f"source-{name}", "connector.class": FILE_SOURCE, "file": str(file), "topic": name}


def _sink(name: str) -> dict[str, str]:
    return {"name": f"sink-{name}", "connector.class": FILE_SINK, "file": os.devnull, "topics": name}


def _written(topics: Topics, names: list[str]) -> int:
    return sum(topics.end(name) for name in names)


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TookTooLong(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(0.2)


def measure(settings: Settings) -> dict[str, Any]:
    """Both sides in turn.

    Raises:
        TookTooLong: something did not begin, or the sources came to the end of their file.
    """
    lines, rounds = settings.count(25_000_000, 200_000), settings.repeat(1)
    seconds = 3.0 if settings.quick else SECONDS
    classpath("kafka-connect")
    rows = Rows({"ours": ["java"]})
    write_lines(settings.folder / "lines", lines)
    try:
        running = broker.ensure_running(settings.folder / "broker", port=0)
        with Topics(running.bootstrap_servers) as topics:
            for number in range(rounds):
                for side in reversed(SIDES) if number % 2 else SIDES:
                    say(f"measuring {side}")
                    latencies, load = _one(side, topics, running.bootstrap_servers, settings.folder, seconds, lines)
                    if load.dry and not settings.quick:
                        raise TookTooLong(f"{side}: the file came to its end, so this was not full load")
                    rate, cores = load.moved / load.seconds, load.cpu / load.seconds
                    say(f"  {rate:,.0f} records/s written meanwhile, {cores:.1f} cores in use by the workers")
                    rows.add("load", side, {"rate": rate, "cores": cores, "seconds": load.seconds}, number)
                    for kind, found in latencies.items():
                        rows.add(kind, side, asdict(found), number)
    finally:
        broker.stop(settings.folder / "broker")
    return {
        "settings": {"rounds": rounds, "lines": lines, "seconds": seconds, "workers": WORKERS, "pairs": PAIRS},
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka", "uvicorn")},
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    judged = judge(document)
    lines = [["request", "Java, median ms", "p99 ms", "ours, median ms", "p99 ms", "bar"]]
    for kind, title in KINDS.items():
        sides = document["rows"].get(kind, {})
        cells = []
        held = bar_of(judged, f"{kind}/ours/median/p99_ms")
        for side in SIDES:
            found = sides.get(side, {}).get("median", {})
            for figure in ("median_ms", "p99_ms"):
                cell = f"{found[figure]:.1f}" if figure in found else ""
                cells.append(marked(cell, held) if (side, figure) == ("ours", "p99_ms") else cell)
        lines.append([title, *cells, str(held.bar) if held else ""])
    loads = {side: document["rows"]["load"][side]["median"] for side in SIDES if side in document["rows"]["load"]}
    meanwhile = " and ".join(
        f"{'Java' if side == 'java' else 'ours'} {found['rate']:,.0f} records/s with {found['cores']:.1f} cores"
        for side, found in loads.items()
    )
    return f"{markdown(lines)}\n\nMeanwhile the tasks moved: {meanwhile}."


if __name__ == "__main__":
    sys.exit(one.main("bench.rest_latency", "rest"))
