"""One local Spark for several processes: started once, used by all, gone after the last, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from connect.errors import ConfigError, ConnectError
from spark_sink.session import open_session
from spark_sink.session.processes import descendants, eventually
from tests.support.spark_keepers import keepers

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_shared_spark", "cache")]

DRIVER = Path(__file__).parent / "driver.py"
SHARED = {"spark.shared.session": "tests", "spark.shared.idle.ms": "5000", "spark.master": "local[2]"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of this test's own, with the jars that are there already. What runs in it at the end is killed."""
    from connect.jvm.cache import cache_path

    jars = cache_path("jars")
    folder = tmp_path / "cache" / "connect-runtime"
    folder.mkdir(parents=True)
    (folder / "jars").symlink_to(jars)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield folder / "spark" / "tests"
    for each in keepers(folder):
        each.kill()


class User:
    """A process that uses the shared Spark; see driver.py."""

    def __init__(self, config: Mapping[str, str], what: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, DRIVER, json.dumps(dict(config)), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def await_ready(self) -> None:
        """Wait until it has a session that works."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "the user ended before Spark worked"

    def end(self) -> None:
        """In order."""
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0


@pytest.fixture
def user(cache: Path) -> Iterator[Callable[..., User]]:
    started = []

    def start(config: Mapping[str, str] = SHARED, what: str = "nothing") -> User:
        started.append(User(config, what))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def test_users_that_start_at_the_same_time_get_the_same_spark(user: Callable[..., User], cache: Path) -> None:
    users = [user() for _ in range(3)]
    for each in users:
        each.await_ready()
    (keeper,) = keepers(cache)
    jvms = [each for each in keeper.children() if each.name() == "java"]

    assert len(jvms) == 1
    assert (cache / "server.json").stat().st_mode & 0o077 == 0
    token = json.loads((cache / "server.json").read_text())["token"]
    assert token not in str(jvms[0].cmdline())
    for each in users:
        each.end()
    assert not psutil.wait_procs([keeper, *jvms], timeout=60)[1]
    assert not (cache / "server.json").exists()


def test_a_spark_that_nobody_uses_for_a_moment_is_found_again(user: Callable[..., User], cache: Path) -> None:
    first = user()
    first.await_ready()
    (keeper,) = keepers(cache)
    first.end()
    second = user()
    second.await_ready()

    assert keepers(cache) == [keeper]
    second.end()


def test_a_user_that_is_killed_takes_its_query_with_it_and_nobody_else(
    user: Callable[..., User], cache: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    stays, dies = user(), user({**SHARED, "checkpoint": str(checkpoint)}, "stream")
    stays.await_ready()
    dies.await_ready()
    commits = checkpoint / "commits"
    assert eventually(lambda: commits.is_dir() and len(list(commits.iterdir())) > 1, 60)

    dies.process.kill()
    assert eventually(lambda: len(list((cache / "users").iterdir())) == 1, 60)
    last = sorted(commits.iterdir())
    time.sleep(3)  # the rate source has a batch each second

    assert sorted(commits.iterdir()) == last
    stays.end()


@pytest.mark.promise("P8")
def test_its_log_has_no_secret_of_a_user_that_came_later(user: Callable[..., User], cache: Path) -> None:
    users = [user()]
    users[0].await_ready()
    users.append(user({**SHARED, "connection.password": "s3cr3t-of-the-second"}, "tells"))
    users[1].await_ready()
    log = cache / "keeper.log"
    assert eventually(lambda: "login with" in log.read_text(), 60), log.read_text()
    assert "login with [hidden]" in log.read_text()
    assert "s3cr3t" not in log.read_text()
    assert not any(file.stat().st_size for file in (cache / "users").iterdir())
    for each in users:
        each.end()


@pytest.mark.parametrize("victim", ["keeper", "server"])
def test_a_spark_that_is_killed_is_started_anew_by_the_next(
    user: Callable[..., User], cache: Path, victim: str
) -> None:
    first = user()
    first.await_ready()
    (keeper,) = keepers(cache)
    (server,) = [each for each in keeper.children() if each.name() == "java"]
    (keeper if victim == "keeper" else server).send_signal(signal.SIGKILL)
    assert not psutil.wait_procs([keeper, server], timeout=30)[1]

    second = user()
    second.await_ready()

    assert len(keepers(cache)) == 1
    second.end()


def test_a_starter_that_is_killed_leaves_a_spark_for_the_next(user: Callable[..., User], cache: Path) -> None:
    starter = user()
    assert eventually(lambda: len(keepers(cache)) == 1, 60)
    (keeper,) = keepers(cache)
    starter.process.kill()
    follower = user()
    follower.await_ready()

    assert keepers(cache) == [keeper]
    follower.end()


def test_a_spark_that_cannot_start_says_why_to_each(cache: Path) -> None:
    for _ in range(2):
        with pytest.raises(ConnectError, match="shared Spark tests cannot start.*banana"):
            open_session({**SHARED, "spark.driver.memory": "banana"}, "memory")

    assert not descendants(os.getpid()) or eventually(lambda: not keepers(cache), 10)


@pytest.mark.parametrize(
    "config",
    [{"spark.shared.session": "a/b"}, {**SHARED, "spark.master": "spark://h:1"}, {**SHARED, "spark.remote": "sc://h"}],
)
def test_what_cannot_be_shared(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        open_session(config, "not shared")
