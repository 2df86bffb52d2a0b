"""However a run of tests ends, nothing of it lives on, and its temporary files are gone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.kafka.broker.embedded import Broker
from tests.support.processes import running
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]
LEAVES = Path(__file__).with_name("leaves.py")
WITHIN_S = 20.0

Said = dict[str, Any]


class Run:
    """A run of pytest on `leaves.py` in a process group of its own."""

    def __init__(
        self, notes: Path, what: str, tests: str, options: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        self._notes = notes
        self.output = notes / ".output"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pytest", LEAVES, "-k", tests, "-p", "no:cacheprovider", *options],
                cwd=ROOT,
                env={**os.environ, "CI": "false", **environment, "NOTES": str(notes), "WHAT": what},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
            )

    def said(self, *names: str) -> list[Said]:
        """What these tests say, once they have started all they start."""

        def all_said() -> bool:
            assert self.process.poll() is None or all((self._notes / name).exists() for name in names), self.text
            return all((self._notes / name).exists() for name in names)

        until(all_said, 90, "the tests have started processes")
        return [json.loads((self._notes / name).read_text()) for name in names]

    @property
    def text(self) -> str:
        return self.output.read_text()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts pytest: `run("hang", "processes", "-n", "2", CI="true")`."""
    started = []

    def start(what: str, tests: str, *options: str, **environment: str) -> Run:
        notes = tmp_path / f"notes{len(started)}"
        notes.mkdir()
        started.append(Run(notes, what, tests, options, environment))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def alive(said: list[Said]) -> list[psutil.Process]:
    """Those of the processes that run."""
    return running(pid for each in said for pid in each["pids"])


def of_the_run(folder: str) -> list[psutil.Process]:
    """The processes, guardians too, that tell by their environment or their command line of what run they are."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [process.environ().get("CONNECT_TEST_RUN", ""), *process.cmdline()]
        except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            continue
        if any(f"{word}/".startswith(f"{folder}/") for word in words):
            found.append(process)
    return found


def guardian_of(folder: str) -> psutil.Process:
    (found,) = [each for each in of_the_run(folder) if "guardian_process.py" in " ".join(each.cmdline())]
    return found


def outermost(said: Said) -> str:
    """The folder of the whole run: this one's own is around it."""
    ours = os.environ["CONNECT_TEST_RUN"]
    return f"{ours}/{Path(said['run']).relative_to(ours).parts[0]}"


def assert_nothing_is_left(said: list[Said], within: float = WITHIN_S) -> None:
    folder = outermost(said[0])
    until(lambda: not alive(said), within, f"they end: {alive(said)}")
    until(lambda: not of_the_run(folder), within, f"they end: {of_the_run(folder)}")
    assert not Path(folder).exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_run_names_what_it_left_behind_and_fails_where_that_is_to_be_seen(
    run: Callable[..., Run], options: tuple[str, ...]
) -> None:
    runs = [run("pass", "processes", *options, CI=ci) for ci in ("true", "false")]
    for each, code in zip(runs, (1, 0), strict=True):
        said = each.said("1", "2")
        assert each.process.wait(90) == code, each.text
        assert "2 passed" in each.text
        for name in ("1", "2"):
            assert each.text.count(f"leaves.py::test_of_processes[{name}] (call): sleep 600") == 3
        assert_nothing_is_left(said)


def test_a_run_that_is_interrupted_leaves_nothing_behind(run: Callable[..., Run]) -> None:
    started = run("hang", "processes and 1")
    said = started.said("1")
    started.process.send_signal(signal.SIGINT)
    assert started.process.wait(30) == pytest.ExitCode.INTERRUPTED, started.text
    assert_nothing_is_left(said)


def test_a_run_that_is_killed_leaves_nothing_behind(run: Callable[..., Run]) -> None:
    started = run("hang", "processes and 1")
    said = started.said("1")
    started.process.kill()
    assert_nothing_is_left(said)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["interrupted", "killed", "all killed", "killed with some guardians"])
def test_a_run_in_several_processes_leaves_nothing_behind(run: Callable[..., Run], end: str) -> None:
    started = run("hang", "processes", "-n", "2")
    said = started.said("1", "2")
    assert len({each["pytest"] for each in said}) == 2
    if end == "killed with some guardians":
        for each in said:
            guardian_of(each["run"]).kill()
    if end == "all killed":
        os.killpg(started.process.pid, signal.SIGKILL)
    else:
        started.process.send_signal(signal.SIGINT if end == "interrupted" else signal.SIGKILL)
    assert_nothing_is_left(said)


@pytest.mark.slow
def test_what_a_killed_process_of_a_run_started_ends_while_the_others_go_on(run: Callable[..., Run]) -> None:
    started = run("hang", "processes", "-n", "2", "--maxfail", "3")
    killed, other = started.said("1", "2")
    os.kill(killed["pytest"], signal.SIGKILL)
    until(lambda: not alive([killed]), WITHIN_S, "they end")
    until(lambda: not of_the_run(killed["run"]), WITHIN_S, "they end")
    assert not Path(killed["run"]).exists()
    assert len(alive([other])) == 5
    assert Path(other["folder"], "log").exists()
    started.process.kill()
    assert_nothing_is_left([killed, other])


@pytest.mark.slow
def test_brokers_and_workers_with_their_tasks_end_with_a_run_that_is_killed(
    run: Callable[..., Run], broker: Broker
) -> None:
    started = run("hang", "worker")
    said = started.said("worker")
    assert len(alive(said)) >= 6
    started.process.kill()
    assert_nothing_is_left(said)


def test_the_folder_of_a_failed_test_stays_until_the_next_run(run: Callable[..., Run]) -> None:
    failed = run("fail", "nothing", CONNECT_TEST_RUN="")  # a run by itself, not one within ours
    (said,) = failed.said("nothing")
    assert failed.process.wait(30) == 1
    assert f"kept until the next run: {said['folder']}\n" in failed.text
    until(lambda: not of_the_run(said["run"]), WITHIN_S, "the guardian ends")
    stays = {str(path) for path in Path(said["run"]).rglob("*") if path.is_file()}
    assert stays == {f"{said['run']}/kept", f"{said['run']}/lock", f"{said['folder']}/log"}

    passed = run("pass", "nothing", CONNECT_TEST_RUN="")
    assert passed.process.wait(30) == 0
    until(lambda: not Path(said["run"]).exists(), WITHIN_S, "it is removed")


def test_what_is_left_of_a_run_whose_guardian_was_killed_ends_with_the_next_run(run: Callable[..., Run]) -> None:
    killed = run("hang", "processes and 1", CONNECT_TEST_RUN="")
    said = killed.said("1")
    guardian_of(said[0]["run"]).kill()
    killed.process.kill()
    killed.process.wait()
    assert len(alive(said)) == 5

    assert run("pass", "nothing", CONNECT_TEST_RUN="").process.wait(60) == 0
    assert_nothing_is_left(said)
