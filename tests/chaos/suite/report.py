"""What a run did and survived: tables for people, JSON for programs."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos.suite import checks, leaks
from tests.chaos.suite.flows.flow import SinkFlow
from tests.chaos.suite.leaks import Sample
from tests.chaos.suite.picture import picture
from tests.chaos.suite.run import Run
from tests.chaos.suite.world import World


class Row(NamedTuple):
    """What became of a flow."""

    flow: str
    promise: str
    written: int
    arrived: int
    repeated: int
    lost: int
    excused: int
    dead_letters: int
    longest_standstill_s: float


def rows(world: World) -> list[Row]:
    """A row for each flow whose target answers."""
    found = []
    for name, flow in world.flows.items():
        try:
            written, arrived = set(flow.written()), flow.arrived()
        except Exception:  # reported as an error already
            continue
        there = set(arrived)
        found.append(
            Row(
                name,
                "once" if flow.once else "at least once",
                len(written),
                len(there & written),
                sum(checks.repeats(arrived).values()),
                len(written - there - flow.excused_lost),
                len((written - there) & flow.excused_lost),
                len(set(flow.dead())) if isinstance(flow, SinkFlow) else 0,
                round(world.timeline.standstill(name), 1),
            )
        )
    return found


def table(head: list[str], lines: list[list[Any]]) -> str:
    """Columns of their widths; numbers to the right."""
    cells = [head, *[[f"{each:,}" if isinstance(each, int) else str(each) for each in line] for line in lines]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    numeric = [all(isinstance(line[column], (int, float)) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )


def recoveries(world: World) -> list[list[Any]]:
    """For each kind of fault how often it came, and the median and longest time until all ran again."""
    found: dict[str, list[float]] = defaultdict(list)
    count: dict[str, int] = defaultdict(int)
    for event in world.timeline.events:
        count[event.kind] += 1
        if event.recovery is not None:
            found[event.kind].append(event.recovery)
    return [
        [
            kind,
            count[kind],
            f"{statistics.median(found[kind]):.1f} s" if found[kind] else "-",
            f"{max(found[kind]):.1f} s" if found[kind] else "-",
        ]
        for kind in sorted(count)
    ]


def growth(samples: dict[str, list[Sample]]) -> list[list[Any]]:
    """The processes that grow most for certain, of those that were seen for long enough."""
    found = []
    for name, history in samples.items():
        warm = leaks.warmed(name, history)
        if len(warm) < 20:
            continue
        line = leaks.growth(warm, "pss")
        hour = 3600 / (1 << 20)
        more = [round(max(getattr(each, what) for each in warm)) for what in ("threads", "descriptors")]
        found.append([name, round(warm[-1].at - warm[0].at), round(warm[-1].pss / (1 << 20)), line, hour, *more])
    found.sort(key=lambda line: -line[3].certain)
    return [
        [name, seconds, size, f"{line.slope * hour:+.0f} ± {line.within * hour:.0f}", threads, descriptors]
        for name, seconds, size, line, hour, threads, descriptors in found[:8]
    ]


def text(world: World, run: Run, command: str) -> str:
    """For people."""
    parts = [
        table(
            ["flow", "promise", "written", "arrived", "repeated", "lost", "excused", "dead", "stood still s"],
            [list(row) for row in rows(world)],
        ),
        table(["fault", "times", "until all runs: median", "longest"], recoveries(world)),
        table(["process", "seen s", "MiB", "MiB an hour", "threads", "descriptors"], growth(dict(run.sampler.samples))),
    ]
    parts += [f"left out: {name}: {why}" for name, why in world.missing.items()]
    parts += [f"PROBLEM {problem}" for problem in run.problems]
    mode = "exactly once" if world.exactly_once else "at least once"
    verdict = f"{len(run.problems)} problems" if run.problems else "nothing lost, nothing repeated, nothing leaked"
    parts.append(f"{verdict}: {world.timeline.now():.0f} s, sources {mode}, {world.workers} workers, seed {world.seed}")
    parts.append(f"again: {command}")
    return "\n\n".join(parts)


def write(world: World, run: Run, folder: Path, command: str) -> None:
    """report.json, report.txt and timeline.svg; logs of workers if something is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {
        "command": command,
        "seed": world.seed,
        "seconds": world.timeline.now(),
        "exactly_once": world.exactly_once,
        "workers": world.workers,
        "flows": [row._asdict() for row in rows(world)],
        "left_out": world.missing,
        "problems": [problem.__dict__ for problem in run.problems],
        "processes": {name: [list(each) for each in history] for name, history in run.sampler.samples.items()},
        **world.timeline.as_json(),
    }
    (folder / "report.json").write_text(json.dumps(said), encoding="utf-8")
    (folder / "report.txt").write_text(text(world, run, command) + "\n", encoding="utf-8")
    title = f"seed {world.seed}, {world.workers} workers, {'exactly' if world.exactly_once else 'at least'} once"
    (folder / "timeline.svg").write_text(picture(world.timeline, title), encoding="utf-8")
    if run.problems:
        for worker in world.pool.workers:
            (folder / f"worker-{worker.number + 1}.log").write_bytes(worker.log_file.read_bytes())
        for name in {problem.flow for problem in run.problems} & set(world.flows):
            flow = world.flows[name]
            found = {"arrived": flow.arrived(), "places": flow.places(), "excused": sorted(flow.excused_lost)}
            (folder / f"flow-{name}.json").write_text(json.dumps(found), encoding="utf-8")
        for notes in world.folder.glob("writes-*"):
            (folder / notes.name).write_bytes(notes.read_bytes())
