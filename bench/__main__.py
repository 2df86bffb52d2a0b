"""`python -m bench`: measures both sides in turn and prints the table."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench import machine, report
from bench.machine import introduce, say
from bench.measure import Bench, MeasurementFailed, Run
from bench.topics import Topics, TopicUnreadable
from bench.work import ALL, FILLED, Work
from bench.workers import SIDES
from connect.jvm.jars import classpath
from connect.kafka import broker

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Returns 0 when all measurements ended well, else 1."""
    args = _parse()
    # Whoever ends us ends what we started: the workers and the broker are stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    works = [work for work in ALL if not args.only or any(part in work.name for part in args.only)]
    lines, rounds = (args.lines or 500_000, 1) if args.quick else (args.lines or 2_000_000, args.rounds)
    about, load = machine.describe(), introduce()
    classpath("kafka-connect")
    runs: list[Run] = []
    failures = 0
    with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
        folder = Path(name)
        say("starting the broker")
        data = folder / "broker"
        try:
            running = broker.ensure_running(data, port=0)
            with Topics(running.bootstrap_servers) as topics:
                bench = Bench(running, topics, folder / "lines", lines, args.timeout, folder, os.cpu_count() or 1)
                _prepare(bench, works)
                for number in range(1, rounds + 1):
                    for work in works:
                        for side in SIDES if number % 2 else reversed(SIDES):
                            failures += not _one(bench, work, side, number, runs)
        finally:
            broker.stop(data)
    _write(args.json, {"lines": lines, "rounds": rounds, "load_before": load} | report.as_json(runs, works, about))
    others = sorted(run.other_share for run in runs) or [0.0]
    print(f"\n{report.tables(runs, works)}\n")
    print(
        f"{rounds} round(s) of {lines:,} lines; other programs took {others[0]:.0%} to {others[-1]:.0%} of the cores."
    )
    return 1 if failures else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ", ".join(work.name for work in ALL)
    parser.add_argument(
        "--only", nargs="+", metavar="PART", help=f"the works whose name has one of these in it: {names}"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each side does each work (default 3)")
    parser.add_argument("--lines", type=int, help="how many lines are moved (default 2,000,000)")
    parser.add_argument("--quick", action="store_true", help="one round of 500,000 lines: to see it work, not to cite")
    parser.add_argument("--timeout", type=float, default=180, help="seconds for one measurement (default 180)")
    parser.add_argument("--json", type=Path, help="where the results go as JSON (default: a new file in bench/results)")
    return parser.parse_args()


def _prepare(bench: Bench, works: list[Work]) -> None:
    say(f"writing {bench.count:,} lines")
    with bench.lines.open("wb") as file:
        file.writelines(_line(number) for number in range(bench.count))
    for topic, form in FILLED.items():
        if any(work.direction == "sink" and work.topic == topic for work in works):
            say(f"filling the topic {topic}")
            bench.topics.fill(topic, bench.lines, form)


def _line(number: int) -> bytes:
    """A hundred bytes of JSON and a line's end, none like another."""
    text = b'{"id":%d,"name":"customer %d","active":true,"amount":%d.25' % (
        number,
        number * 7919 % 100_003,
        number % 997,
    )
    return text + b',"note":"%b"}\n' % (b"-" * (89 - len(text)))


def _one(bench: Bench, work: Work, side: str, number: int, runs: list[Run]) -> bool:
    try:
        run = bench.run(work, side, number)
    except (MeasurementFailed, TopicUnreadable) as error:
        say(f"round {number}  {work.name:16}  {side}  FAILED: {error}")
        return False
    runs.append(run)
    say(
        f"round {number}  {work.name:16}  {side}  {run.rate:>9,.0f} records/s  "
        f"{run.cpu_per_million_started:5.2f} CPU-s per million  {run.pss / 1e6:5,.0f} MB  "
        f"{run.to_first:.2f} s to the first  others {run.other_share:.0%}"
    )
    return True


def _write(path: Path | None, results: dict[str, object]) -> None:
    if path is None:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime())}.json"
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    say(f"written: {path}")


if __name__ == "__main__":
    sys.exit(main())
