"""Runs many seeds, in as many processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from typing import Final, NamedTuple

from tests.simulation.mutations import mutated
from tests.simulation.replacing import replaced
from tests.simulation.telling import logs_told
from tests.simulation.world import Outcome, simulate

_AT_A_TIME: Final = 20


class Runs(NamedTuple):
    """What is run.

    Attributes:
        seeds: which.
        steps: of each, see `World.run`.
        mutation: see `mutations`; empty for none.
        jobs: processes.
        lines: of the trace of a failure.
        logs: whether the trace has what the product logs. Only in one process.
        keep_going: whether those behind a seed that fails are run as well.
    """

    seeds: range
    steps: int = 1000
    mutation: str = ""
    jobs: int = 1
    lines: int = 40
    logs: bool = False
    keep_going: bool = False


def outcomes(runs: Runs) -> Iterator[Outcome]:
    """The outcome of each seed, in order."""
    if runs.jobs == 1:
        with replaced(), mutated(runs.mutation), logs_told() if runs.logs else nullcontext():
            for seed in runs.seeds:
                yield simulate(seed, runs.steps, runs.lines)
        return
    seeds = runs.seeds
    parts = [runs._replace(seeds=seeds[at : at + _AT_A_TIME], jobs=1) for at in range(0, len(seeds), _AT_A_TIME)]
    with ProcessPoolExecutor(runs.jobs, multiprocessing.get_context("spawn")) as pool:
        try:
            for found in pool.map(_in_one_process, parts):
                yield from found
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_one_process(runs: Runs) -> list[Outcome]:
    found = []
    for outcome in outcomes(runs):
        found.append(outcome)
        if outcome.failure and not runs.keep_going:
            break
    return found
