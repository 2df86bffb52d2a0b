"""Parts run as `make bench` runs them: real processes, started by a program that stands for `python -m bench`."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.machine import ROOT
from connect.telemetry import processes

GOOD = """
def measure(settings):
    (settings.folder / "something").write_text("")
    rows = {"index": {"ours": {"rounds": [], "median": {}, "ratio": {"client": {"rate": {"median": RATE}}}}}}
    return {"settings": {"rounds": settings.repeat()}, "versions": {"Peer": "1"}, "rows": rows}
def table(document):
    return "| the table of " + document["part"] + " |"
"""
BAD = """
def measure(settings):
    raise RuntimeError("nothing to measure with")
def table(document):
    raise AssertionError("nobody may ask")
"""
#: It does not end when it is told to, and leaves a process in a session of its own, as a broker is.
HANGING = """
import os, pathlib, signal, subprocess, sys, time
def measure(settings):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    left = subprocess.check_output(
        [sys.executable, "-c", "import subprocess as s, sys; "
         "print(s.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True, "
         "stdin=s.DEVNULL, stdout=s.DEVNULL, stderr=s.DEVNULL).pid)"])
    pathlib.Path(os.environ["LEFT"]).write_text(f"{os.getpid()} {int(left)} {settings.folder}")
    time.sleep(600)
def table(document):
    return ""
"""
PROGRAM = """
import json, os, sys
from pathlib import Path
from bench import run
from bench.part import Part
class Short(Part):
    def limit(self, *, quick):
        return {"hanging": 3}.get(self.name, 60)
run.STOP_WITHIN = 1.0
parts = [Short(name, module, 1.5, 0.5) for name, module in json.loads(sys.argv[1])]
code = run.run(run.Order(parts, Path(sys.argv[2]), quick="quick" in sys.argv))
print("left:", len([each for each in run.tree.below(os.getpid())]))
sys.exit(code)
"""


@dataclass
class Bench:
    """Where made-up parts are, and where their documents go."""

    folder: Path
    left: Path

    def run(self, *parts: tuple[str, str], quick: bool = False) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, json.dumps(parts), str(self.folder / "results")]
        path = os.pathsep.join([str(self.folder), str(ROOT)])
        return subprocess.run(
            command + ["quick"] * quick,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "LEFT": str(self.left)},
            capture_output=True,
            text=True,
            check=False,
        )

    def document(self, part: str) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.folder / "results" / f"{part}.json").read_text(encoding="utf-8"))
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name, text in (
        ("fast_part", GOOD.replace("RATE", "1.5")),
        ("slow_part", GOOD.replace("RATE", "0.5")),
        ("bad_part", BAD),
        ("hanging_part", HANGING),
    ):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return Bench(tmp_path, tmp_path / "left")


def test_with_all_bars_held_it_ends_well_and_keeps_what_was_measured(bench: Bench) -> None:
    done = bench.run(("elasticsearch", "fast_part"))
    assert done.returncode == 0, done.stderr
    assert "All bars are held." in done.stdout
    assert "| the table of elasticsearch |" in done.stdout
    found = bench.document("elasticsearch")
    assert found["settings"] == {"rounds": 3}
    assert found["versions"] == {"Peer": "1"}
    assert {"commit", "date", "took_s", "load_before", "machine", "rows"} <= found.keys()
    assert "quick" not in found


def test_a_missed_bar_is_a_line_with_part_figure_and_bar(bench: Bench) -> None:
    done = bench.run(("elasticsearch", "slow_part"), ("other", "fast_part"))
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if line.startswith("MISSED")]
    assert lines == [
        "MISSED  elasticsearch, index: rate, ours to client is 0.5, the bar is ≥0.9: as fast as parallel_bulk, nearly"
    ]
    assert bench.document("other")["part"] == "other"


def test_a_part_that_fails_ends_no_other_and_leaves_its_document(bench: Bench) -> None:
    bench.run(("elasticsearch", "fast_part"))
    before = bench.document("elasticsearch")
    done = bench.run(("elasticsearch", "bad_part"), ("other", "fast_part"))
    assert done.returncode == 2
    assert "FAILED  elasticsearch: it ended with 1; what it said stands above" in done.stdout
    assert "RuntimeError: nothing to measure with" in done.stderr
    assert bench.document("elasticsearch") == before
    assert bench.document("other")["part"] == "other"


def test_a_part_that_hangs_is_ended_with_all_that_it_started(bench: Bench) -> None:
    began = time.monotonic()
    done = bench.run(("hanging", "hanging_part"), ("other", "fast_part"))
    assert done.returncode == 2, done.stderr
    assert "FAILED  hanging: it was not done within 1 min" in done.stdout
    assert time.monotonic() - began < 60
    pid, orphan, folder = bench.left.read_text(encoding="utf-8").split()
    assert processes.look(int(pid)) is None
    assert processes.look(int(orphan)) is None
    assert "left: 0" in done.stdout
    assert not Path(folder).exists()
    assert bench.document("other")["part"] == "other"


def test_tiny_sizes_are_held_to_no_bar_and_marked(bench: Bench) -> None:
    done = bench.run(("elasticsearch", "slow_part"), quick=True)
    assert done.returncode == 0, done.stderr
    assert "Every part works." in done.stdout
    assert "MISSED" not in done.stdout
    found = bench.document("elasticsearch")
    assert (found["quick"], found["settings"]) == (True, {"rounds": 1})


def test_it_says_before_it_begins_how_long_it_will_take(bench: Bench) -> None:
    done = bench.run(("elasticsearch", "fast_part"), ("other", "fast_part"))
    announced, _, _ = done.stderr.partition("==> elasticsearch")
    assert "elasticsearch about   2 min, given up after 1 min" in announced
    assert "together      about   3 min, until " in announced


def test_how_long_a_part_took_is_what_is_expected_the_next_time(bench: Bench) -> None:
    bench.run(("elasticsearch", "fast_part"))
    path = bench.folder / "results" / "elasticsearch.json"
    path.write_text(json.dumps({**bench.document("elasticsearch"), "took_s": 600}), encoding="utf-8")
    done = bench.run(("elasticsearch", "fast_part"))
    assert "elasticsearch about  10 min" in done.stderr


def test_a_wrong_part_is_named_before_anything_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "jdbc", "nope"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'There is no part "nope". There are: files, chain' in done.stderr


def test_a_part_by_itself_judges_its_bars(bench: Bench) -> None:
    program = "import sys; from bench import one; sys.exit(one.main('slow_part', 'elasticsearch'))"
    path = os.pathsep.join([str(bench.folder), str(ROOT)])
    answers = [
        subprocess.run(
            [sys.executable, "-c", program, *words],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        for words in ([], ["--quick"])
    ]
    assert [done.returncode for done in answers] == [1, 0]
    assert "MISSED  elasticsearch, index: rate" in answers[0].stdout
    assert "| the table of elasticsearch |" in answers[1].stdout
