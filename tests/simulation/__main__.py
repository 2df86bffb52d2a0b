"""Runs many seeds, on all cores: `python -m tests.simulation --seeds 1000 --first 1 --steps 1000`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tests.simulation.many import Runs, outcomes
from tests.simulation.mutations import MUTATIONS
from tests.simulation.world import Outcome

_LINES = 40


def main() -> int:
    """Returns the exit code: 1 when a seed fails."""
    asked = _arguments()
    began = time.perf_counter()
    total, steps, seconds = Counter[str](), 0, 0.0
    done, failed = 0, list[Outcome]()
    seeds = range(asked.first, asked.first + asked.seeds)
    runs = Runs(seeds, asked.steps, asked.mutation, asked.jobs, asked.lines, asked.logs, asked.keep_going)
    for outcome in outcomes(runs):
        done += 1
        steps += outcome.steps
        seconds += outcome.seconds
        total.update(outcome.counts)
        if asked.digest:
            _say(outcome.seed, f"{outcome.digest:08x}")
        if outcome.failure:
            failed.append(outcome)
            if not asked.keep_going:
                break
            _say(f"seed {outcome.seed}, step {outcome.steps}: {outcome.failure}")
    took = time.perf_counter() - began
    _say(
        f"{done} seeds in {took:.1f} s: {done / took:.1f} a second, {1e6 * took * asked.jobs / max(1, steps):.0f} us of"
        f" a core for each of {steps:,} steps; {seconds / 3600:.1f} hours of virtual time"
    )
    _say(", ".join(f"{what}: {count:,}" for what, count in total.most_common()))
    if not failed:
        return 0
    first = failed[0]
    _say("\n".join(first.trace))
    mutation = f" --mutation '{asked.mutation}'" if asked.mutation else ""
    _say(f"seed {first.seed}, step {first.steps}: {first.failure}")
    _say(f"replay: python -m tests.simulation --seeds 1 --first {first.seed} --steps {asked.steps}{mutation} --logs")
    if asked.keep_going:
        _say(f"failed: {len(failed)} of {done}: {' '.join(str(outcome.seed) for outcome in failed)}")
    return 1


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--steps", type=int, default=1000, help="of each, until faults end and all has to come to rest")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--logs", action="store_true", help="what the product logs stands in the trace")
    parser.add_argument("--lines", type=int, default=_LINES, help="of the trace of a failure")
    parser.add_argument("--digest", action="store_true", help="print the digest of each trace")
    parser.add_argument("--keep-going", action="store_true", help="run all seeds, and list those that fail")
    parser.add_argument("--mutation", default="", choices=["", *MUTATIONS], help="break the product so")
    asked = parser.parse_args()
    asked.jobs = 1 if asked.logs else min(asked.jobs, asked.seeds)
    return asked


if __name__ == "__main__":
    sys.exit(main())
