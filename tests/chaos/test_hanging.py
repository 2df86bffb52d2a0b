"""P6, P11: a plug-in that hangs costs nobody else anything, and stopping takes no longer than it may."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import is_running
from tests.support.waiting import until

from . import topic as topics
from .conftest import StartWorker
from .worker import Worker, hanging_pid, notes, unruly

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

GRACEFUL_S = 1.5  # in less, a busy machine may not get as far as to the hang
#: For threads to have their turn and processes to be killed, by the worker's own clock.
SLACK_S = 2.0


@pytest.fixture
def worker(start_worker: StartWorker, new_topic: Callable[..., str]) -> Worker:
    """A worker with a connector that behaves well, of another plug-in."""
    made = start_worker(task_shutdown_graceful_timeout_ms=str(int(GRACEFUL_S * 1000)))
    made.put("well", unruly(made.folder, "WellBehavedSource", topic=new_topic()))
    await_more_writes(made.folder)
    return made


def await_more_writes(folder: Path) -> None:
    before = len(notes(folder, "well"))
    until(lambda: len(notes(folder, "well")) > before + 4, 30, "the other connector runs on")


@pytest.mark.promise("P6", "P11")
@pytest.mark.parametrize(
    ("kind", "place", "how"),
    [
        ("UnrulySource", "start", "c"),
        pytest.param("UnrulySource", "poll", "python", marks=pytest.mark.slow),
        ("UnrulySource", "poll", "c"),
        ("UnrulySource", "stop", "c"),
        ("UnrulySink", "put", "c"),
        pytest.param("UnrulySink", "stop", "python", marks=pytest.mark.slow),
    ],
)
def test_a_task_that_hangs_is_killed_and_the_others_run_on(
    kind: str, place: str, how: str, worker: Worker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    topics.fill(broker.bootstrap_servers, topic, [[b"1"]])
    stuck = unruly(worker.folder, kind, topic=topic, topics=topic, hang_in=place, hang_how=how)
    worker.put("stuck", {key: value for key, value in stuck.items() if key != "topics" or kind == "UnrulySink"})
    if place == "stop":
        until(lambda: notes(worker.folder, "stuck"), 30, "it writes")
        stopping = worker.begin("delete", name="stuck")
        pid = hanging_pid(worker.folder, "stuck")
    else:
        pid = hanging_pid(worker.folder, "stuck")
        stopping = worker.begin("delete", name="stuck")
    await_more_writes(worker.folder)
    worker.answer(stopping)
    assert worker.took < GRACEFUL_S + SLACK_S
    assert not is_running(pid)
    await_more_writes(worker.folder)
    assert worker.task("well")["state"] == "RUNNING"


@pytest.mark.promise("P11")
def test_a_worker_stops_in_time_though_tasks_hang_in_c(
    worker: Worker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    topics.fill(broker.bootstrap_servers, topic, [[b"1"]])
    worker.put("a", unruly(worker.folder, topic=topic, hang_in="poll", hang_how="c"))
    worker.put("b", unruly(worker.folder, "UnrulySink", topics=topic, hang_in="put", hang_how="c"))
    pids = [hanging_pid(worker.folder, name) for name in "ab"]
    assert worker.stop() < GRACEFUL_S + SLACK_S
    assert not any(map(is_running, pids))


@pytest.mark.promise("P6", "P11")
@pytest.mark.parametrize("place", ["connector.start", "task_configs", "validate", "connector.stop"])
def test_a_connector_that_hangs_holds_nobody_up_and_the_worker_stops_in_time(place: str, worker: Worker) -> None:
    config = {"name": "stuck", **unruly(worker.folder, topic="unused", hang_in=place, hang_how="c")}
    if place == "validate":
        worker.begin("validate", config=config)
    elif place == "connector.stop":
        worker.ask("put", name="stuck", config=config)
        until(lambda: notes(worker.folder, "stuck"), 30, "it runs")
        worker.begin("restart", name="stuck")
    else:
        worker.begin("put", name="stuck", config=config)
    pid = hanging_pid(worker.folder, "stuck")
    await_more_writes(worker.folder)
    assert worker.status("well")["state"] == "RUNNING"
    worker.ask("pause", name="well", within=30)
    worker.await_task("well", "PAUSED")
    worker.ask("resume", name="well", within=30)
    await_more_writes(worker.folder)
    assert worker.stop() < GRACEFUL_S + SLACK_S
    assert not is_running(pid)


@pytest.mark.slow
@pytest.mark.promise("P6")
def test_forty_connectors_that_hang_in_start_hold_nobody_up(worker: Worker) -> None:
    for name in (f"stuck-{number}" for number in range(40)):
        config = unruly(worker.folder, topic="unused", hang_in="connector.start", hang_how="python")
        worker.begin("put", name=name, config={"name": name, **config})
    until(lambda: len(list(worker.folder.glob("hangs-stuck-*"))) >= 32, 60, "as many hang as may start at once")
    worker.ask("pause", name="well", within=30)  # a start may take a minute
    worker.await_task("well", "PAUSED")
    until(lambda: len(list(worker.folder.glob("hangs-stuck-*"))) == 40, 30, "the others hang, too")


@pytest.mark.slow
@pytest.mark.promise("P6", "P9")
@pytest.mark.parametrize("place", ["connector.start", "task_configs", "validate", "connector.stop"])
def test_a_connector_that_hangs_is_given_up_and_its_neighbours_get_another_process(
    place: str, worker: Worker, new_topic: Callable[..., str]
) -> None:
    worker.put("neighbour", unruly(worker.folder, topic=new_topic()))
    worker.await_task("neighbour", "RUNNING")
    config = {"name": "stuck", **unruly(worker.folder, topic=new_topic(), hang_in=place)}
    if place == "validate":
        wish = worker.begin("validate", config=config)
    elif place == "connector.stop":
        worker.ask("put", name="stuck", config=config)
        wish = worker.begin("restart", name="stuck")
    else:
        wish = worker.begin("put", name="stuck", config=config)
    pid = hanging_pid(worker.folder, "stuck")
    until(lambda: not is_running(pid), 120, "its process is given up")
    if place == "validate":
        assert "did not return from validate" in str(worker.answer(wish))
    else:
        worker.answer(wish)
        if place == "connector.stop":
            assert worker.status("stuck")["state"] == "RUNNING", "it is started all the same"
        else:
            assert worker.status("stuck")["state"] == "FAILED"
            assert "did not return from" in worker.status("stuck")["trace"]
    until(lambda: worker.status("neighbour")["state"] == "RUNNING", 30, lambda: f"{worker.status('neighbour')}")
    worker.ask("restart", name="neighbour", within=30)
    assert worker.status("neighbour")["state"] == "RUNNING"
