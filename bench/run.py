"""Runs parts one after another, each in a process of its own with a time limit, and keeps what they measure.

What fails does not end the others: its document stays what it was, and its bars count as not measured.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import document, machine
from bench.bars import judge
from bench.machine import ROOT, say
from bench.part import Part
from connect.telemetry import processes as tree

HELD, MISSED, FAILED = 0, 1, 2
STOP_WITHIN = 60.0  # seconds in which a part that is given up may stop its servers by itself
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Order:
    """What is to be run.

    Attributes:
        results: the folder of the documents.
        quick: tiny sizes; no bar is judged.
        rounds: in place of the parts' own number.
    """

    parts: Sequence[Part]
    results: Path
    quick: bool = False
    rounds: int | None = None


def run(order: Order) -> int:
    """Measure, and say at the end what failed and which bars are missed.

    Returns:
        0 when all bars are held, 1 when one is missed, 2 when a part failed, whatever the others did.
    """
    about = machine.describe()
    say(", ".join(str(value) for value in about.values()) + f"; load {machine.load()}")
    _announce(order)
    failures: dict[str, str] = {}
    missed: list[str] = []
    with _adopting_orphans():
        for part in order.parts:
            say(f"\n==> {part.name}")
            began, load = time.monotonic(), machine.load()
            try:
                measured = _measure(part, order)
            except _PartFailed as error:
                failures[part.name] = str(error)
                say(f"{part.name} FAILED: {error}")
                continue
            took = time.monotonic() - began
            found = _document(part.name, about, load, took, measured)
            say(f"{part.name} took {took:.0f} s; written: {_shown(document.write(found, order.results))}")
            print(f"\n## {part.name}\n\n{part.load().table(found)}", flush=True)
            missed += [str(each) for each in judge(found) if not each.held]
    print()
    for name, why in failures.items():
        print(f"FAILED  {name}: {why}")
    for line in missed:
        print(f"MISSED  {line}")
    if not failures and not missed:
        print("Every part works." if order.quick else "All bars are held.")
    return FAILED if failures else MISSED if missed else HELD


def seconds(part: Part, order: Order) -> float:
    """How long a part will take: what it took the last time in full, else what its author thinks."""
    if order.quick:
        return 60 * part.quick_minutes
    last = document.read(part.name, order.results) or {}
    return float(last.get("took_s", 60 * part.minutes))


def _announce(order: Order) -> None:
    times = {part.name: seconds(part, order) for part in order.parts}
    for part in order.parts:
        say(f"  {part.name:13} about {_minutes(times[part.name]):>7}, given up after {_minutes(_limit(part, order))}")
    total = sum(times.values())
    until = time.strftime("%H:%M", time.localtime(time.time() + total))
    say(f"  together      about {_minutes(total):>7}, until {until}")


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


def _limit(part: Part, order: Order) -> float:
    return part.limit(quick=order.quick)


def _document(name: str, about: dict[str, Any], load: float, took: float, measured: dict[str, Any]) -> dict[str, Any]:
    commit, changed = machine.commit()
    return {
        "part": name,
        "commit": commit,
        **({"changed": True} if changed else {}),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "took_s": round(took),
        "load_before": load,
        "machine": about,
        **measured,
    }


class _PartFailed(Exception):
    """A part ended without figures. The message says how."""


def _measure(part: Part, order: Order) -> dict[str, Any]:
    """What a part measured in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="connect-bench-", ignore_cleanup_errors=True) as name:
        folder, answer = Path(name) / "folder", Path(name) / "answer.json"
        folder.mkdir()
        # Servers that run as another user have their data below it.
        Path(name).chmod(0o755)
        folder.chmod(0o755)
        command = [sys.executable, "-m", "bench.one", part.module, "--folder", str(folder), "--json", str(answer)]
        command += ["--quick"] if order.quick else []
        command += ["--rounds", str(order.rounds)] if order.rounds else []
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        others = {each.pid for each in tree.below(os.getpid())}
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": path},
        )
        try:
            code = process.wait(_limit(part, order))
        except subprocess.TimeoutExpired:
            raise _PartFailed(f"it was not done within {_minutes(_limit(part, order))}") from None
        finally:
            _end(process, others)
        if code != 0:
            raise _PartFailed(f"it ended with {code}; what it said stands above")
        measured: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return measured


def _end(process: subprocess.Popen[bytes], others: set[int]) -> None:
    """End a part that still runs, and whatever it left: all that descends from us now and did not before."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_WITHIN)
    while left := {each.pid for each in tree.below(os.getpid())} - others:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
        process.poll()
        for pid in left - {process.pid}:
            with suppress(ChildProcessError):  # another's child, until that one is gone
                os.waitpid(pid, os.WNOHANG)


@contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Make what loses its parent below us our child: a broker runs detached, and must not outlive its part."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
