"""Pools of simulated workers: nothing that must hold is ever violated, and a seed is the same run every time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.many import Runs, outcomes

_ROOT = Path(__file__).parents[2]
_SEEDS, _MORE = range(1, 151), range(151, 1001)


def _run(seeds: range) -> None:
    for outcome in outcomes(Runs(seeds)):
        replay = f"python -m tests.simulation --seeds 1 --first {outcome.seed} --logs"
        assert not outcome.failure, "\n".join([*outcome.trace, outcome.failure, replay])


@pytest.mark.quick
@pytest.mark.promise("P1", "P3", "P4", "P10")
def test_what_must_hold_holds_at_every_step_and_all_comes_to_rest() -> None:
    _run(_SEEDS)


@pytest.mark.timeout(900)
@pytest.mark.promise("P1", "P3", "P4", "P10")
def test_it_holds_in_a_thousand_pools() -> None:
    _run(_MORE)


def _digests(hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.simulation", "--seeds", "6", "--first", "101", "--digest", "--jobs", "1"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(_ROOT)}
    ran = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=True)
    return "".join(ran.stdout.splitlines(keepends=True)[:6])


@pytest.mark.quick
def test_a_seed_is_the_same_run_twice_and_in_every_process() -> None:
    runs = Runs(range(101, 107))
    once, again = ("".join(f"{one.seed} {one.digest:08x}\n" for one in outcomes(runs)) for _ in range(2))
    assert once == again
    assert _digests("1") == _digests("2") == once
