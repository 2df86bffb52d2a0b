"""A pool of workers under faults: `python -m tests.chaos --seconds 600 --seed 7`, or `make chaos SECONDS=600 SEED=7`.

What it does and checks: docs/reliability.md#chaos. It ends with 1 when anything is lost, repeated under exactly once,
owned twice or leaked, and leaves its report in a folder.
"""

from __future__ import annotations

import argparse
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tests.chaos.suite import report
from tests.chaos.suite.faults.registry import FAULTS, possible
from tests.chaos.suite.flows.registry import FLOWS, USUAL
from tests.chaos.suite.pool import CHECKOUT
from tests.chaos.suite.run import Run
from tests.chaos.suite.world import World
from tests.servers import guardian


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """What the command takes."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long faults go on (600)")
    parser.add_argument("--seed", type=int, help="where all chance comes from; by default one by the clock")
    parser.add_argument("--workers", type=int, help="how many; by default three to five, by the seed")
    parser.add_argument("--only", type=names(FLOWS, "flow"), default=USUAL, help="these flows, with commas")
    parser.add_argument("--faults", type=names(FAULTS, "kind"), default=list(FAULTS), help="these kinds, with commas")
    parser.add_argument("--report", type=Path, help="the folder of the report; by default build/chaos/SEED")
    parser.add_argument("--older", help="a commit or a folder of another version, with whose code workers begin")
    once = parser.add_mutually_exclusive_group()
    once.add_argument("--exactly-once", action="store_true", default=None, help="sources deliver exactly once")
    once.add_argument("--at-least-once", action="store_false", dest="exactly_once", help="they do not")
    parser.add_argument("--list", action="store_true", help="list flows and kinds of faults")
    return parser.parse_args(given)


def names(known: Collection[str], what: str) -> Callable[[str], list[str]]:
    """Parses names with commas between them."""

    def parse(text: str) -> list[str]:
        found = [each.strip() for each in text.split(",") if each.strip()]
        if unknown := [each for each in found if each not in known]:
            raise argparse.ArgumentTypeError(f"no such {what}: {', '.join(unknown)}. There are: {', '.join(known)}")
        return found

    return parse


def say(line: str) -> None:
    """A line of progress."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')}  {line}\n")
    sys.stdout.flush()


def main(given: list[str] | None = None) -> int:
    """Run. Returns the exit code."""
    options = arguments(given)
    if options.list:
        sys.stdout.write("flows:\n" + "".join(f"  {each}\n" for each in FLOWS))
        sys.stdout.write("faults:\n" + "".join(f"  {each}\n" for each in FAULTS))
        return 0
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    chance = random.Random(seed)
    workers, exactly_once = chance.randint(3, 5), chance.random() < 0.5
    workers = options.workers or workers
    exactly_once = exactly_once if options.exactly_once is None else options.exactly_once
    command = _command(options, seed, workers, exactly_once)
    folder = (options.report or Path("build", "chaos", str(seed))).resolve()
    run_folder = guardian.begin().folder
    say(f"seed {seed}, {workers} workers, sources {'exactly' if exactly_once else 'at least'} once: {command}")
    older = _checkout(options.older, run_folder) if options.older else None
    world = World(run_folder, seed, workers=workers, exactly_once=exactly_once, only=options.only, say=say, older=older)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts what runs in its background with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    run = None
    try:
        world.build()
        run = Run(world, [each for each in possible(world) if each.kind in options.faults])
        say(f"{len(world.flows)} flows run; {options.seconds:g} s of faults begin")
        run.go_on(options.seconds)
    except KeyboardInterrupt:
        world.stopped.set()
        say("interrupted: what follows is what was seen so far")
    finally:
        try:
            if run is not None:
                report.write(world, run, folder, command)
                sys.stdout.write(f"\n{report.text(world, run, command)}\n\nreport: {folder}\n")
        finally:
            world.close()
    return 1 if run is None or run.problems else 0


def _checkout(older: str, folder: Path) -> Path:
    """The folder of another version: as it is named, or made of that commit."""
    if Path(older).is_dir():
        return Path(older).resolve()
    into = folder / "older"
    into.mkdir()
    archive = subprocess.run(["git", "archive", older], cwd=CHECKOUT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=into, input=archive, check=True)
    return into


def _command(options: argparse.Namespace, seed: int, workers: int, exactly_once: bool) -> str:
    """What does the same again."""
    words = ["python", "-m", "tests.chaos", "--seconds", f"{options.seconds:g}", "--seed", str(seed)]
    words += ["--workers", str(workers), "--exactly-once" if exactly_once else "--at-least-once"]
    if options.older:
        words += ["--older", options.older]
    if options.only != USUAL:
        words += ["--only", ",".join(options.only)]
    if options.faults != list(FAULTS):
        words += ["--faults", ",".join(options.faults)]
    return shlex.join(words)


if __name__ == "__main__":
    raise SystemExit(main())
