"""A task on Spark from its start to its end: what it opens is closed, however far its start came."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connect.errors import ConnectError
from connect.plugins.lifetime import Lifetime
from connect.telemetry.metrics import Registry
from spark_sink.query import supervised
from spark_sink.query.progress import QueryProgress
from spark_sink.query.supervised import Query, SupervisedTask
from spark_sink.session.folders import locked_folder


class Task(SupervisedTask):
    """Its `prepare` does what the test says."""

    def __init__(self, prepare: Callable[[], None] = lambda: None) -> None:
        self.calls: list[str] = []
        self.prepare = prepare  # type: ignore[method-assign]
        self.context: Any = SimpleNamespace(
            exit_stack=ExitStack(),
            connector="c",
            worker_config={},
            connector_config={},
            plugin_path=(),
            redact=str,
            is_stopping=False,
            lease_until=lambda: 1e12,
            stopping=lambda: self.context.is_stopping,
        )

    def prepare(self) -> None: ...

    def begin(self, query: Query) -> Any:
        return None

    def last_report(self, interrupted: Sequence[Query]) -> None:
        self.calls.append("last report")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def opens(monkeypatch: pytest.MonkeyPatch, task: Task) -> None:
    session = SimpleNamespace(
        turns=None, page="", close=lambda: task.calls.append("session closed"), ended=lambda: None
    )
    monkeypatch.setattr(supervised, "open_session", lambda *_, **__: session)


def test_a_stop_reports_and_then_the_session_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task()
    opens(monkeypatch, task)
    life = Lifetime(task)
    life.start(paused=False)
    assert [folder.name.startswith("connect-spark-") for folder in tmp_path.iterdir()] == [True]
    life.end()
    assert task.calls == ["last report", "session closed"]
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_task_that_was_killed_goes_with_the_next(tmp_path: Path) -> None:
    code = """if True:
        import os, signal, types
        from tests.unit.spark_sink.query import test_supervised as tests
        task = tests.Task()
        tests.supervised.open_session = lambda *_, **__: types.SimpleNamespace(turns=None, page="", close=None)
        task.start(paused=False)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [(folder / "lease").is_file() for folder in tmp_path.iterdir()] == [True]
    folder, lock = locked_folder()
    with lock:
        assert list(tmp_path.iterdir()) == [folder]


def test_a_session_that_cannot_be_opened_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ConnectError("There is no Java.")

    monkeypatch.setattr(supervised, "open_session", fail)
    with pytest.raises(ConnectError, match="There is no Java"):
        Lifetime(Task()).start(paused=False)
    assert list(tmp_path.iterdir()) == []


def test_a_session_is_closed_where_the_rest_of_the_start_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ConnectError("There is no such topic.")

    task = Task(fail)
    opens(monkeypatch, task)
    with pytest.raises(ConnectError, match="There is no such topic"):
        Lifetime(task).start(paused=False)
    assert task.calls == ["session closed"]
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_was_given_up_is_stopped_and_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait() -> None:
        task.keep_going()

    task = Task(wait)
    task.context.is_stopping = True
    opens(monkeypatch, task)
    life = Lifetime(task)
    life.start(paused=False)
    life.end()
    assert task.calls == ["session closed"]


class Stream:
    """Stands in for a StreamingQuery."""

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []
        self.isActive = True
        self.status = {"isTriggerActive": False, "message": ""}

    def exception(self) -> None:
        return None

    def awaitTermination(self, seconds: float) -> None: ...  # noqa: N802 - Spark's name

    def stop(self) -> None:
        self.isActive = False

    def report(self, batch: int) -> None:
        """A batch has ended."""
        told: dict[str, Any] = {"runId": "r", "timestamp": str(batch), "sources": []}
        self.recentProgress.append(told)


class Streaming(Task):
    """Runs one query.

    Attributes:
        streams: its runs.
    """

    def __init__(self, **config: str) -> None:
        super().__init__()
        self.context.connector_config = {key.replace("_", "."): value for key, value in config.items()}
        self.streams: list[Stream] = []

    def begin(self, query: Query) -> Any:
        self.streams.append(Stream())
        return self.streams[-1]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Streaming]]:
    """Starts a task with one query: `started(trigger="available_now")`."""
    lives = []

    def start(worker: Mapping[str, str] | None = None, **config: str) -> Streaming:
        task = Streaming(**config)
        task.context.worker_config = dict(worker or {})
        opens(monkeypatch, task)
        lives.append(Lifetime(task))
        lives[-1].start(paused=False)
        task.queries.append(Query("all", QueryProgress("all", Registry().labelled())))
        task.watch(0)
        return task

    yield start
    for life in lives:
        life.end()


@pytest.mark.promise("P9")
def test_a_query_that_somebody_else_ends_is_begun_anew(started: Callable[..., Streaming], caplog: Any) -> None:
    task = started()
    task.streams[0].isActive = False
    task.watch(0)
    assert not task.queries[0].done
    assert "was ended, and Spark gives no error" in caplog.text
    task.queries[0].due = 0.0
    task.watch(0)
    assert len(task.streams) == 2


def test_a_query_that_has_read_what_there_was_rests(started: Callable[..., Streaming]) -> None:
    task = started(trigger="available_now")
    task.streams[0].isActive = False
    task.watch(0)
    assert task.queries[0].done


@pytest.mark.parametrize(
    ("config", "here"),
    [
        ({}, True),
        ({"spark.master": "spark://h:7077"}, True),
        ({"spark.remote": "sc://h:15002"}, False),
        ({"spark.master": "sc://h"}, False),
        ({"spark.remote": "sc://127.0.0.1"}, True),
        ({"spark.remote": "sc://localhost:15002/;token=t"}, True),
    ],
)
@pytest.mark.parametrize("whose", ["worker", "connector"])
def test_where_the_driver_is(started: Callable[..., Streaming], config: dict[str, str], here: bool, whose: str) -> None:
    task = started(worker=config) if whose == "worker" else started(**config)
    assert task.driver_is_here() is here


@pytest.mark.promise("P3")
def test_a_query_on_a_server_elsewhere_is_ended_behind_its_batch_while_it_may_not_go_on(
    started: Callable[..., Streaming],
) -> None:
    task = started(spark_remote="sc://h:15002")
    (stream,) = task.streams
    stream.report(0)
    stream.status["isTriggerActive"] = True
    task.watch(0)
    task.pause()
    task.watch(0)
    assert stream.isActive  # it is writing a batch
    stream.report(1)  # and writes the next one, which comes again
    task.watch(0)
    assert not stream.isActive
    task.watch(0)
    assert len(task.streams) == 1
    task.resume()
    task.watch(0)
    assert len(task.streams) == 2
    task.pause()
    task.watch(0)
    assert not task.streams[1].isActive


def test_a_query_whose_driver_sees_the_lease_goes_on(started: Callable[..., Streaming]) -> None:
    task = started()
    task.pause()
    task.watch(0)
    assert task.streams[0].isActive
