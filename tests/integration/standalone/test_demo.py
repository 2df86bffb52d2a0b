"""`connect demo` shows lines flowing and leaves nothing running, however it ends."""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from connect.kafka.broker import embedded
from connect.kafka.broker.embedded import Broker
from tests.support.waiting import until

pytestmark = pytest.mark.slow

DEMO = [sys.executable, "-m", "connect.cli", "demo"]
WITHIN_S = 30.0


class User:
    """One who never ran the demo, with folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.data, self.temporary = folder / "data", folder / "tmp"
        self.temporary.mkdir()
        self.broker = self.data / "connect-runtime" / "demo" / "connect-runtime" / "broker"
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.data), "TMPDIR": str(self.temporary)}

    def processes(self) -> list[psutil.Process]:
        """All that run in this environment, or one made from it."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("XDG_DATA_HOME", "").startswith(str(self.data)):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
                pass
        return found

    def has(self, word: str) -> bool:
        """Whether one of the processes has this in its command line."""
        for process in self.processes():
            try:
                if word in " ".join(process.cmdline()):
                    return True
            except psutil.NoSuchProcess:
                pass
        return False

    def run(self, *options: str) -> None:
        """Run the demo to its end."""
        command = [*DEMO, *options]
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=250)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert 'test.sink.txt -> "another one"' in ended.stdout
        assert "all there, byte for byte" in ended.stdout
        assert "What to try next" in ended.stdout

    @contextmanager
    def run_until(self, moment: Callable[[str], bool], *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """A demo at a moment, which what it has said so far tells, or what runs."""
        output = self.data.parent / "output"
        with output.open("wb") as said:
            demo = subprocess.Popen([*DEMO, *options], env=self.environment, stdout=said, stderr=said)
        try:
            until(lambda: moment(output.read_text()) or demo.poll() is not None, 250, "the demo comes to this moment")
            assert demo.poll() is None, output.read_text()
            yield demo
        finally:
            demo.kill()
            demo.wait()

    def has_nothing(self) -> bool:
        """Whether no process of the demo runs, and it has no temporary file."""
        return not self.processes() and not list(self.temporary.iterdir())


@pytest.fixture
def user(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> Iterator[User]:
    """The session's broker shows that jars and Java are here."""
    made = User(tmp_path_factory.mktemp("user"))  # a short name: a worker makes sockets in its temporary folder
    yield made
    embedded.stop(made.broker)


@pytest.mark.timeout(600)
def test_the_demo_shows_lines_arriving_and_leaves_nothing_running(user: User) -> None:
    for _ in range(2):  # the second time with what the first one left
        user.run()
        assert user.has_nothing()


@pytest.mark.timeout(900)
def test_a_demo_that_is_killed_at_any_moment_leaves_nothing_behind(user: User) -> None:
    moments: list[Callable[[str], bool]] = [
        lambda _: user.has("_demo_guard"),
        lambda said: "1. Start" in said,
        lambda _: (user.broker / "broker.pid").exists(),
        lambda said: "3. Run them" in said,
        lambda _: user.has("multiprocessing.forkserver"),
        lambda said: "another one" in said,
        lambda said: "5. Stop" in said,
    ]
    for number, moment in enumerate(moments):
        with user.run_until(moment, "--no-spark") as demo:
            demo.kill()
        until(user.has_nothing, WITHIN_S, f"nothing is left after moment {number}: {user.processes()}")
    user.run("--no-spark")
    assert user.has_nothing()


@pytest.mark.timeout(400)
def test_a_demo_that_is_killed_while_spark_writes_a_table_leaves_nothing_behind(
    user: User, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    if importlib.util.find_spec("pyspark") is None:
        cannot_have("Spark", "pyspark is not installed")
    with user.run_until(lambda _: user.has("org.apache.spark.deploy.SparkSubmit")) as demo:
        demo.kill()
    until(user.has_nothing, WITHIN_S, f"nothing is left: {user.processes()}")


@pytest.mark.timeout(400)
def test_ctrl_c_ends_a_demo_with_all_it_started(user: User) -> None:
    for said in ("1. Start", "another one"):
        with user.run_until(lambda output, said=said: said in output, "--no-spark") as demo:  # type: ignore[misc]
            demo.send_signal(signal.SIGINT)
            assert demo.wait(60) == 130
            assert user.has_nothing()


@pytest.mark.timeout(400)
def test_ctrl_c_again_and_again_ends_a_demo_at_once_and_all_it_started_soon(user: User) -> None:
    for said in ("1. Start", "another one"):
        with user.run_until(lambda output, said=said: said in output, "--no-spark") as demo:  # type: ignore[misc]
            while demo.poll() is None:
                demo.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    demo.wait(0.05)
        until(user.has_nothing, WITHIN_S, f"nothing is left: {user.processes()}")


@pytest.mark.timeout(400)
def test_what_a_demo_left_that_was_killed_with_its_guard_goes_with_the_next_one(user: User) -> None:
    with user.run_until(lambda said: "another one" in said, "--no-spark") as demo:
        for process in user.processes():
            if "_demo_guard" in " ".join(process.cmdline()):
                process.kill()
        demo.kill()
    until(lambda: not user.has("connect.cli standalone"), WITHIN_S, "the worker ends")
    assert user.has("kafka.Kafka")
    assert list(user.temporary.iterdir())
    user.run("--no-spark")
    assert user.has_nothing()
