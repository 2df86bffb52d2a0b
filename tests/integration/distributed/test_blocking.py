"""P6, P11 in a pool: a plug-in that never returns costs its own connector, and nobody else (BlockingConnectorTest)."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chaos.worker import hanging_pid, notes, unruly
from tests.support.processes import is_running
from tests.support.rest import Answer

from .pool import Pool, PoolWorker, a_pool, steady

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

GRACEFUL_S = 1.5
#: For a connector to be given up on a busy machine. A call that is not ended goes on for a minute.
SOON_S = 30.0


@pytest.fixture(scope="module")
def shared(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool of two workers, in which a connector of another plug-in behaves well."""
    folder = tmp_path_factory.mktemp("blocking")
    graceful = str(int(GRACEFUL_S * 1000))
    with a_pool(broker.bootstrap_servers, folder, 2, task_shutdown_graceful_timeout_ms=graceful) as made:
        made.up[0].create("well", unruly(folder, "WellBehavedSource", topic=f"{made.name}-well"))
        made.until(lambda: all(worker.runs("well", 1) for worker in made.up), "it runs")
        yield made


@pytest.fixture
def asked(shared: Pool) -> PoolWorker:
    return shared.followers()[0]


def others_are_unharmed(pool: Pool, asked: PoolWorker, folder: Path, name: str) -> None:
    """Records of another connector flow, and connectors are made, changed and deleted, at any worker."""
    before = len(notes(pool.folder, "well"))
    pool.until(lambda: len(notes(pool.folder, "well")) > before + 4, "the other connector runs on", SOON_S)
    new = f"{name}-new"
    asked.create(new, steady(folder, 2))
    pool.until(lambda: all(worker.runs(new, 2) for worker in pool.up), "a new one runs", SOON_S)
    pool.leader().do("PUT", f"/connectors/{new}/config", steady(folder, 3))
    pool.until(lambda: all(worker.runs(new, 3) for worker in pool.up), "it is changed", SOON_S)
    asked.do("PUT", f"/connectors/{new}/pause")
    pool.until(lambda: all(worker.runs(new, 3, "PAUSED") for worker in pool.up), "it is paused", SOON_S)
    asked.do("DELETE", f"/connectors/{new}")
    pool.until(lambda: not any(worker.states(new) for worker in pool.up), "it is gone", SOON_S)
    assert all(worker.runs("well", 1) for worker in pool.up)


def is_deleted(pool: Pool, asked: PoolWorker, name: str, pid: int) -> None:
    asked.do("DELETE", f"/connectors/{name}")
    pool.until(lambda: not any(worker.states(name) for worker in pool.up), "it is gone", SOON_S)
    pool.until(lambda: not is_running(pid), "its process is ended", SOON_S)


def comes_back(pool: Pool, asked: PoolWorker, name: str, folder: Path) -> None:
    """Under the same name, without what made it hang, at once."""
    asked.create(name, unruly(folder, topic=f"t-{name}"))
    pool.until(lambda: all(worker.runs(name, 1) for worker in pool.up), "it runs under its name", SOON_S)
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.promise("P6")
@pytest.mark.parametrize("how", ["created", pytest.param("changed", marks=pytest.mark.slow)])
def test_a_connector_that_hangs_in_validate(
    shared: Pool, asked: PoolWorker, name: str, tmp_path: Path, how: str
) -> None:
    config = unruly(tmp_path, topic=f"t-{name}")
    if how == "changed":
        asked.create(name, config)
        shared.until(lambda: all(worker.runs(name, 1) for worker in shared.up), "it runs")
    answers: list[Answer] = []

    def ask() -> None:
        answers.append(asked.ask("PUT", f"/connectors/{name}/config", config | {"name": name, "hang.in": "validate"}))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        pid = hanging_pid(tmp_path, name)
        others_are_unharmed(shared, asked, tmp_path, name)
        assert not answers, "it was looked at while it hung"
        if how == "created":
            with suppress(ProcessLookupError):  # on a busy machine half a minute is over, and it was given up
                os.kill(pid, signal.SIGKILL)
    finally:
        asking.join(100)
    assert answers[0].status == 400
    ended = ["did not return from validate", *(["The connector's process"] if how == "created" else [])]
    assert any(words in answers[0].body["message"] for words in ended)
    if how == "changed":
        shared.until(lambda: all(worker.runs(name, 1) for worker in shared.up), "it runs as before", SOON_S)
        asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.promise("P6", "P11")
@pytest.mark.parametrize(
    "place",
    ["connector.start", pytest.param("task_configs", marks=pytest.mark.slow)],
)
def test_a_connector_that_hangs_when_it_starts(
    shared: Pool, asked: PoolWorker, name: str, tmp_path: Path, place: str
) -> None:
    asked.create(name, unruly(tmp_path, topic=f"t-{name}", hang_in=place, hang_how="c"))
    pid = hanging_pid(tmp_path, name)
    others_are_unharmed(shared, asked, tmp_path, name)
    is_deleted(shared, asked, name, pid)
    comes_back(shared, asked, name, tmp_path)


@pytest.mark.slow
@pytest.mark.promise("P6", "P11")
def test_a_connector_that_hangs_when_it_stops(shared: Pool, asked: PoolWorker, name: str, tmp_path: Path) -> None:
    asked.create(name, unruly(tmp_path, topic=f"t-{name}", hang_in="connector.stop"))
    shared.until(lambda: all(worker.runs(name, 1) for worker in shared.up), "it runs")
    asked.do("DELETE", f"/connectors/{name}")
    pid = hanging_pid(tmp_path, name)
    others_are_unharmed(shared, asked, tmp_path, name)
    shared.until(lambda: not is_running(pid), "its process is ended", SOON_S)
    comes_back(shared, asked, name, tmp_path)


@pytest.mark.promise("P6", "P11")
@pytest.mark.parametrize(
    ("kind", "place"),
    [
        pytest.param("UnrulySource", "start", marks=pytest.mark.slow),
        ("UnrulySource", "poll"),
        pytest.param("UnrulySource", "stop", marks=pytest.mark.slow),
        pytest.param("UnrulySink", "start", marks=pytest.mark.slow),
        pytest.param("UnrulySink", "open", marks=pytest.mark.slow),
        ("UnrulySink", "put"),
        pytest.param("UnrulySink", "pre_commit", marks=pytest.mark.slow),
        pytest.param("UnrulySink", "close", marks=pytest.mark.slow),
        pytest.param("UnrulySink", "stop", marks=pytest.mark.slow),
    ],
)
def test_a_task_that_hangs(
    shared: Pool, asked: PoolWorker, name: str, tmp_path: Path, new_topic: Any, kind: str, place: str
) -> None:
    topic = new_topic()
    config = unruly(tmp_path, kind, hang_in=place, hang_how="c")
    if kind == "UnrulySink":
        config |= {"topics": topic}
        asked.create(f"{name}-fill", unruly(tmp_path, topic=topic))
    else:
        config |= {"topic": topic}
    asked.create(name, config)
    at_the_end = place in ("stop", "close")
    if at_the_end:
        # A sink's first batches are empty: it has no partition yet, and so none to close.
        shared.until(lambda: any(note.get("values", True) for note in notes(tmp_path, name)), "it writes")
        asked.do("DELETE", f"/connectors/{name}")
    pid = hanging_pid(tmp_path, name)
    others_are_unharmed(shared, asked, tmp_path, name)
    if at_the_end:
        shared.until(lambda: not any(worker.states(name) for worker in shared.up), "it is gone", SOON_S)
        shared.until(lambda: not is_running(pid), "its process is ended", SOON_S)
    else:
        is_deleted(shared, asked, name, pid)
    if kind == "UnrulySink":
        asked.do("DELETE", f"/connectors/{name}-fill")
    comes_back(shared, asked, name, tmp_path)


@pytest.mark.slow
@pytest.mark.promise("P6", "P11")
@pytest.mark.parametrize("place", ["connector.start", "connector.stop", "poll"])
def test_a_worker_with_one_that_hangs_stops_in_time_and_starts_again(pool: Pool, tmp_path: Path, place: str) -> None:
    (worker,) = pool.start(1, task_shutdown_graceful_timeout_ms=str(int(GRACEFUL_S * 1000)))
    worker.create("well", unruly(tmp_path, "WellBehavedSource", topic=f"{pool.name}-well"))
    pool.until(lambda: worker.runs("well", 1), "it runs")
    worker.create("stuck", unruly(tmp_path, topic=f"{pool.name}-stuck", hang_in=place, hang_how="c"))
    if place == "connector.stop":
        pool.until(lambda: worker.runs("stuck", 1), "it runs")
    else:
        hanging_pid(tmp_path, "stuck")
    assert worker.process is not None
    worker.signal(signal.SIGTERM)
    assert worker.process.wait(SOON_S) == 0
    hanging_pid(tmp_path, "stuck")
    worker.start()
    pool.until(worker.ready, "it answers again")
    pool.until(lambda: worker.states("well").get("0", ("",))[0] == "RUNNING", "the other connector runs")
    before = len(notes(tmp_path, "well"))
    pool.until(lambda: len(notes(tmp_path, "well")) > before + 4, "and writes")
    worker.do("DELETE", "/connectors/stuck")
    pool.until(lambda: not worker.states("stuck"), "it is gone", SOON_S)
