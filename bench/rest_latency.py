"""`python -m bench.rest_latency`: how long REST requests take while tasks run at full load, beside Kafka Connect.

A pool of workers; sources that read one long file, each into a topic of its own, and sinks that read these topics, all
as fast as they can. Meanwhile one client asks one thing after another, each over a new connection:

list      GET /connectors
status    GET /connectors/NAME/status
expand    GET /connectors?expand=status&expand=info
validate  PUT /connector-plugins/CLASS/config/validate, of a source and a sink in turn

The bar: 99 of 100 reads under 50 ms, 99 of 100 validations under 500 ms.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import machine
from bench.machine import introduce, say
from bench.pool import FILE_SINK, FILE_SOURCE, Pool, TookTooLong, pool
from bench.topics import Topics
from bench.workers import SIDES
from connect.jvm.jars import classpath
from connect.kafka import broker

PATIENCE_S = 120.0
WARM_UP_S = 5.0
BARS_MS = {"list": 50.0, "status": 50.0, "expand": 50.0, "validate": 500.0}


@dataclass(frozen=True)
class Latency:
    """How long requests of one kind took, in milliseconds."""

    requests: int
    median: float
    p99: float
    longest: float

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


def measure(
    side: str, topics: Topics, bootstrap: str, folder: Path, args: argparse.Namespace
) -> tuple[dict[str, Latency], Load]:
    """Run one side."""
    file = folder / "lines"
    names = [f"{side}-{number}" for number in range(args.pairs)]
    with pool(side, bootstrap, folder, args.workers) as workers:
        for name in names:
            topics.create(name)
            for config in (_source(name, file), _sink(name)):
                workers.rest.put(f"/connectors/{config['name']}/config", config)
        _until(lambda: workers.running() == 2 * len(names), "all tasks run")
        _until(lambda: all(topics.end(name) for name in names), "all sources write")
        _ask(workers, names, WARM_UP_S)
        before, cpu, began = _written(topics, names), workers.cpu(), time.monotonic()
        took = _ask(workers, names, args.seconds)
        seconds = time.monotonic() - began
        moved = _written(topics, names) - before
        dry = any(topics.end(name) >= args.lines for name in names)
        return {kind: Latency.of(found) for kind, found in took.items()}, Load(moved, seconds, workers.cpu() - cpu, dry)


def _ask(workers: Pool, names: list[str], seconds: float) -> dict[str, list[float]]:
    """Ask one thing after another, of one worker after another. Returns how long each kind took."""
    took: dict[str, list[float]] = {kind: [] for kind in BARS_MS}
    until = time.monotonic() + seconds
    for number, (kind, method, path, body) in enumerate(_requests(names)):
        if time.monotonic() > until and min(map(len, took.values())) > 1:
            break
        rest = workers.workers[number // len(BARS_MS) % len(workers.workers)].rest
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


def _table(figures: Mapping[str, Mapping[str, Latency]]) -> str:
    lines = [
        "| request | side | requests | median, ms | p99, ms | longest, ms | bar, ms |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for kind, bar in BARS_MS.items():
        for side, of_side in figures.items():
            one = of_side[kind]
            cells = [kind, side, str(one.requests)]
            cells += [f"{figure:.1f}" for figure in (one.median, one.p99, one.longest)] + [f"{bar:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Returns 0 when all was measured, and ours is under the bar; else 1."""
    args = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sides = args.side or list(SIDES)
    if "java" in sides:
        classpath("kafka-connect")
    introduce()
    latencies: dict[str, dict[str, Latency]] = {}
    loads: dict[str, Load] = {}
    with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
        folder = Path(name)
        with (folder / "lines").open("wb") as file:
            file.writelines(b'{"id":%d,"note":"%b"}\n' % (number, b"-" * 80) for number in range(args.lines))
        try:
            running = broker.ensure_running(folder / "broker", port=0)
            with Topics(running.bootstrap_servers) as topics:
                for side in sides:
                    say(f"measuring {side}")
                    latencies[side], load = measure(side, topics, running.bootstrap_servers, folder, args)
                    loads[side] = load
                    say(
                        f"  {load.moved / load.seconds:,.0f} records/s written meanwhile, "
                        f"{load.cpu / load.seconds:.1f} cores in use by the workers"
                        + ("; the file came to its end: take more --lines or less --seconds" if load.dry else "")
                    )
        finally:
            broker.stop(folder / "broker")
    if args.json:
        figures = {
            side: {"load": asdict(loads[side]), "latencies": {kind: asdict(one) for kind, one in of_side.items()}}
            for side, of_side in latencies.items()
        }
        args.json.write_text(json.dumps({"machine": machine.describe(), "figures": figures}, indent=1) + "\n")
    print(_table(latencies))
    return 0 if all(latencies["ours"][kind].p99 < bar for kind, bar in BARS_MS.items() if "ours" in latencies) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.rest_latency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2, help="of the pool (default 2)")
    parser.add_argument("--pairs", type=int, default=2, help="of a source and a sink (default 2)")
    parser.add_argument(
        "--lines", type=int, default=10_000_000, help="of the file, 100 bytes each (default 10,000,000)"
    )
    parser.add_argument("--seconds", type=float, default=30, help="of asking (default 30)")
    parser.add_argument("--side", choices=SIDES, action="append", help="only this one (default: both)")
    parser.add_argument("--json", type=Path, help="where the figures go as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
