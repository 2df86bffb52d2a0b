"""Which tests run, and in what order: `--tier`, `--alone`, `--minutes`.

`quick` is what `make test` runs: all unit tests that are not slow, and one path through each real server (marked
`quick`). `rest` is everything else. Modules that took longest the last time run first, so that all processes end at
about the same time, those with Spark, which compute, in turns with those that wait; how long they took stands in
`tests/durations.json`, which `make durations` writes.

With `--minutes` only as much runs as fits. Modules stand in a circle, and every day begins where the day before ended:
what ran longest ago comes first, and no state is needed to know it.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

DURATIONS: Final = Path(__file__).parents[1] / "durations.json"
#: Of a module that nobody measured, in seconds.
UNKNOWN: Final = 5.0
#: How a reason begins with which a test was left for another day.
LEFT: Final = "left for another day"


def add_options(parser: pytest.Parser) -> None:
    """What the command line takes."""
    group = parser.getgroup("selection")
    group.addoption("--tier", choices=["quick", "rest", "all"], default="all", help="which tests (default: all)")
    group.addoption("--alone", choices=["with", "without", "only"], default="with", help="tests marked alone")
    group.addoption("--minutes", type=float, help="run what fits into so many, what ran longest ago first")
    group.addoption("--failures", metavar="FILE", help="write the names of what failed into this file, one a line")
    group.addoption("--write-durations", action="store_true", help=f"keep how long modules took in {DURATIONS.name}")


class Selection:
    """A plug-in for pytest, made in each of its processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds = 60 * (config.getoption("minutes") or 0)
        self._known: dict[str, float] = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
        self._took: Counter[str] = Counter()
        self._left: set[str] = set()
        self._died = False  # one of the processes
        # One day and one end for all processes of a run: they must come to the same tests.
        self._day = int(os.environ.setdefault("CONNECT_TEST_DAY", str(datetime.datetime.now(datetime.UTC).toordinal())))
        self._until = float(os.environ.setdefault("CONNECT_TEST_UNTIL", str(time.monotonic() + self._seconds)))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        tier, alone = self._config.getoption("tier"), self._config.getoption("alone")
        chosen = [item for item in items if tier in {"all", tier_of(item)} and _stands(item, alone)]
        modules = Counter(_module(item) for item in chosen)
        if self._seconds:
            processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
            fitting = todays(self._lengths(modules), self._seconds * processes, self._day)
            self._left = set(modules) - set(fitting)
            chosen = [item for item in chosen if _module(item) not in self._left]
        dropped = set(items) - set(chosen)
        if dropped:
            self._config.hook.pytest_deselected(items=list(dropped))
        # pytest-randomly has shuffled them; the order within a module stays its own.
        turns = in_turns(self._lengths(modules))
        chosen.sort(key=lambda item: turns[_module(item)])
        items[:] = chosen

    def pytest_runtest_setup(self) -> None:
        if self._seconds and time.monotonic() > self._until:
            pytest.skip(f"{LEFT}: the time is over")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[_file(report.nodeid)] += report.duration
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None and not hasattr(self._config, "workerinput"):
            # At once: a run takes an hour, and may be ended before it says what failed.
            reporter.write_line(f"\nFAILED {report.nodeid} ({report.when}): {_words(report)}", red=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._died:  # and some tests did not run
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[LEFT] = sorted(self._left)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        self._died |= error is not None
        self._left.update(getattr(node, "workeroutput", {}).get(LEFT, []))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        late = {
            _file(report.nodeid) for report in terminalreporter.stats.get("skipped", []) if LEFT in str(report.longrepr)
        }
        for what, modules in (("left for another day", self._left), ("not ended in time", late)):
            if modules:
                terminalreporter.section(f"{len(modules)} modules {what}")
                terminalreporter.write_line("\n".join(sorted(modules)))
        if file := self._config.getoption("failures"):
            failed = [report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
            Path(file).write_text("".join(f"{name}\n" for name in dict.fromkeys(failed)))
        if self._config.getoption("write_durations"):
            self._write()

    def _write(self) -> None:
        measured = {module: round(seconds, 1) for module, seconds in self._took.items()}
        known = {module: seconds for module, seconds in self._known.items() if Path(module).exists()}
        DURATIONS.write_text(json.dumps(known | measured, indent=0, sort_keys=True) + "\n")

    def _lengths(self, modules: Counter[str]) -> dict[str, float]:
        return {module: self._known.get(module, UNKNOWN) for module in modules}


def in_turns(lengths: Mapping[str, float]) -> dict[str, int]:
    """The place of each module: what takes long first, and those with Spark, which compute, among those that wait."""
    begins: dict[str, float] = {}  # after which part of its kind
    for spark in (True, False):
        kind = sorted((module for module in lengths if ("spark" in module) is spark), key=lambda m: (-lengths[m], m))
        whole, before = sum(lengths[module] for module in kind), 0.0
        for module in kind:
            begins[module] = before / (whole or 1.0)
            before += lengths[module]
    return {module: place for place, module in enumerate(sorted(begins, key=lambda m: (begins[m], m)))}


def tier_of(item: pytest.Item) -> str:
    """`quick` for what is marked so, and for a unit test that is not slow; else `rest`."""
    if item.get_closest_marker("quick"):
        return "quick"
    if item.get_closest_marker("slow") or item.get_closest_marker("alone"):
        return "rest"
    return "quick" if _module(item).startswith("tests/unit/") else "rest"


def todays(lengths: dict[str, float], seconds: float, day: int) -> list[str]:
    """The modules whose turn it is: they stand in a circle, and each day begins a step further."""
    circle = sorted(lengths)
    whole = sum(lengths.values())
    if whole <= seconds:
        return circle
    # At most what a day has, and the same for days that have a little more or less.
    step = 60.0 * 2 ** math.floor(math.log2(max(seconds / 60, 1)))
    begin = day * step % whole
    chosen, at = [], 0.0
    for module in circle:
        # A module belongs to the day in which it begins; it is the first day's again behind the end of the circle.
        if (at - begin) % whole < seconds:
            chosen.append(module)
        at += lengths[module]
    return chosen


def _stands(item: pytest.Item, alone: str) -> bool:
    return alone == "with" or (item.get_closest_marker("alone") is not None) == (alone == "only")


def _module(item: pytest.Item) -> str:
    return _file(item.nodeid)


def _words(report: pytest.TestReport) -> str:
    """What a failure says, in a line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    said = str(report.longrepr if crash is None else crash.message).strip().splitlines()
    return said[0][:200] if said else ""


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
