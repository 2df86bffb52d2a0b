"""Runs the tests in parts, and says at the end what happened: `make test-full` and continuous integration.

    python .ci/suite.py quick                 what `make test` runs
    python .ci/suite.py full                  everything: in JOBS processes (3), then what wants the machine for itself
    python .ci/suite.py planned --minutes 40  the quick tests, then of all others what fits, what ran longest ago first

With --second-try a test that failed runs once more by itself: the machine is shared, and what fails twice is broken.
Each such test is named; more than two of them fail the run all the same.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from connect.worker import orphans

SECOND_TRIES = 2
FAILED, NO_TESTS = 1, 5  # pytest's exit codes
RESERVE = 8.0  # minutes, for second tries, servers that stop, and long tests that were begun
_GONE_WITHIN_S = 30.0
ALONE = 0.25  # of the time, for what wants the machine for itself


@dataclass
class Run:
    """All parts of one run.

    Attributes:
        tried_again: names of tests that failed, and passed the second time.
        failed: names of tests that failed for good.
        broken: parts that ended without saying which tests failed.
        times: what each part took, for the end.
    """

    second_try: bool
    tried_again: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)

    def part(self, name: str, *options: str) -> None:
        """Run pytest, and what failed once more where that is wanted."""
        began = time.monotonic()
        code, failed = _pytest(options)
        if code not in {0, FAILED if failed else 0, NO_TESTS}:
            self.broken.append(f"{name} (exit code {code})")
        if failed and self.second_try and len(failed) <= 10 * SECOND_TRIES:
            say(f"once more, only what failed: {len(failed)} of {name}")
            _, twice = _pytest(["-p", "no:xdist", *failed])
            self.tried_again += [test for test in failed if test not in twice]
            failed = twice
        self.failed += failed
        self.times.append(f"{name} {_minutes(time.monotonic() - began)}")

    def end(self) -> int:
        """Say it all. Returns the exit code."""
        say(f"took: {', '.join(self.times)}")
        for what, tests in (
            ("needed a second try", self.tried_again),
            ("failed", self.failed),
            ("ended without a result", self.broken),
        ):
            if tests:
                say(f"{what}: {len(tests)}")
                print("\n".join(f"  {test}" for test in tests), flush=True)
        too_many = len(self.tried_again) > SECOND_TRIES
        if too_many:
            say(f"more than {SECOND_TRIES} tests needed a second try: fix them")
        return 1 if self.failed or self.broken or too_many else 0


def _pytest(options: Sequence[str]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "failures")
        with subprocess.Popen([sys.executable, "-m", "pytest", f"--failures={file}", *options]) as pytest:
            try:
                code = orphans.wait_for(pytest)
            except KeyboardInterrupt:
                if not _has_terminal():  # which sends Ctrl-C to all of its processes
                    pytest.send_signal(signal.SIGINT)
                orphans.wait_for(pytest)  # it stops its servers
                raise
        return code, file.read_text().splitlines() if file.exists() else []


def _has_terminal() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def say(line: str) -> None:
    """One line of ours between pytest's."""
    print(f"\033[1m==> {line}\033[0m", flush=True)


def main() -> int:
    """Run what the command line asks for."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", choices=["quick", "full", "planned"])
    parser.add_argument(
        "--minutes", type=float, default=45, help="of planned: how long all of it may take (default 45)"
    )
    parser.add_argument("--second-try", action="store_true", help="run what failed once more, by itself")
    parser.add_argument("--write-durations", action="store_true", help="keep how long each module took")
    options = parser.parse_args()
    orphans.adopt()
    run = Run(options.second_try)
    try:
        _parts(run, options, began)
    except KeyboardInterrupt:
        run.broken.append("the run, which was interrupted,")
    if not orphans.reap(_GONE_WITHIN_S):
        run.broken.append("a process that the tests started still runs")
    return run.end()


def _parts(run: Run, options: argparse.Namespace, began: float) -> None:
    # The slow tests wait for servers: with two at once two cores idle for a fifth of the time.
    count = os.environ.get("JOBS") or ("3" if options.tests == "full" else "2")
    # When one of its processes dies, xdist 3.8 waits forever for the tests that it was to run: end the run instead.
    jobs = ["-n", count, "--dist=loadfile", "--no-loadscope-reorder", "--max-worker-restart=0"]
    also = ["--write-durations"] if options.write_durations else []
    if options.tests == "full":
        run.part("side by side", *jobs, *also, "--alone=without")
        run.part("one by one", *also, "--alone=only")
        return
    run.part("quick tests", *jobs, *also, "--tier=quick")
    if options.tests == "planned":
        left = options.minutes - RESERVE - (time.monotonic() - began) / 60
        run.part("side by side", *jobs, "--tier=rest", "--alone=without", f"--minutes={left * (1 - ALONE):.1f}")
        run.part("one by one", "--tier=rest", "--alone=only", f"--minutes={left * ALONE:.1f}")


if __name__ == "__main__":
    sys.exit(main())
