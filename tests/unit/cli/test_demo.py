"""The demo says what went wrong, and takes the property files as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from connect.cli import _demo_run, _own_worker, demo


@pytest.fixture
def worker_of(log):
    """Starts a Python program in place of a worker."""
    started = []

    def start(code):
        started.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE))
        return _own_worker.Worker(started[-1], log, "http://127.0.0.1:9")

    yield start
    for one in started:
        one.kill()
        one.communicate()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "worker.log"
    path.write_text("".join(f"line {number}\n" for number in range(100)))
    return path


def test_a_worker_that_ended_is_told_of_with_the_end_of_its_log(worker_of, log, capsys):
    worker = worker_of("raise SystemExit(7)")
    worker.process.wait(60)
    with pytest.raises(_demo_run.DemoError, match="exit code 7"):
        _demo_run.await_(lambda: False, worker)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "the end of the worker's log:"
    assert told[1:] == [f"  line {number}" for number in range(75, 100)]


def test_lines_that_do_not_arrive_in_time_are_told_of(worker_of):
    with pytest.raises(_demo_run.DemoError, match="did not arrive within"):
        _demo_run.await_(lambda: False, worker_of("input()"), within=0.0)


def test_only_one_demo_runs_at_a_time(tmp_path):
    with demo._alone(tmp_path), pytest.raises(_demo_run.DemoError, match="runs already"), demo._alone(tmp_path):
        pass
    with demo._alone(tmp_path):
        pass


def test_the_files_are_those_of_the_quickstart_but_for_where_offsets_are_kept(tmp_path):
    demo._copy_files(tmp_path)
    config = Path(__file__).parents[3] / "config"
    for name in _demo_run.FILES:
        ours, theirs = (tmp_path / name).read_text().splitlines(), (config / name).read_text().splitlines()
        changed = [line for line in ours if line not in theirs]
        assert len(ours) == len(theirs)
        assert changed == (["offset.storage.file.filename=connect.offsets"] if name == _demo_run.FILES[0] else [])
