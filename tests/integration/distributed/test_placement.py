"""Who gets which tasks: numbers are even, and so is the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from .pool import Pool


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_newcomer_gets_its_part_of_what_is_heavy(pool: Pool, tmp_path: Path) -> None:
    """By numbers alone it would get the last two tasks, which do all the work."""
    pool.settings["task.stalled.after.ms"] = "6000"  # so that processes are heard of every two seconds
    pool.settings["log.level"] = "DEBUG"
    (first,) = pool.start(1)
    for number in (2, 3):
        (tmp_path / f"fault-{number}").write_text("busy")
    first.create("mixed", {"connector.class": "frail.FrailSource", "tasks.max": "4", "folder": str(tmp_path)})
    pool.until(lambda: first.runs("mixed", 4), "it runs")
    pool.until(
        lambda: all(f"mixed-{number}  uses " in first.log for number in range(4)), "it was measured what they cost"
    )
    (second,) = pool.start(1)
    pool.until(lambda: pool.shared(1, 4), "tasks are shared")
    owners = [first.states("mixed")[str(number)][1] for number in range(4)]
    assert owners[2] != owners[3]
    assert owners[0] != owners[1]
    assert owners.count(second.id) == 2
