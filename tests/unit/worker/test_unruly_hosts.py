"""Connectors that hang, crash or are killed, and their neighbours in the process of their plug-in."""

import os
import signal
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import psutil
import pytest

from connect.errors import ConnectError
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError
from tests.support.waiting import until

from .host_run import TRYING, WITHIN_S


@pytest.mark.promise("P6")
@pytest.mark.parametrize("how", ["hang", "hold the interpreter"])
def test_a_connector_that_hangs_is_given_up_and_its_neighbours_are_told(run, how):
    for name in ("good", "fair"):
        run.start(name)
    before = run.pid("good")
    with pytest.raises(ConnectorCallError, match=r"Connector bad did not return from start within 0.3 s"):
        run.start("bad", timeout=0.3, start__do=how)
    until(lambda: {("lost", "good"), ("lost", "fair")} <= {*run.listener.events})
    assert not psutil.pid_exists(before)
    for name in ("good", "fair", "bad"):
        run.start(name)
    assert run.pid("good") == run.pid("fair")
    assert run.pid("good") != run.pid("bad")  # it will not take its neighbours with it again


@pytest.mark.promise("P6")
def test_neighbours_start_and_stop_while_connectors_hang(run):
    run.start("good")
    stuck = [threading.Thread(target=partial(hang, run, f"bad-{number}"), daemon=True) for number in range(3)]
    for thread in stuck:
        thread.start()
    run.start("new", timeout=WITHIN_S / 2)
    assert run.pid("new") == run.pid("good")
    run.hosts.call(TRYING, "good", messages.StopConnector(), WITHIN_S / 2, type(None))
    assert all(thread.is_alive() for thread in stuck)


def hang(run, name: str) -> None:
    with suppress(ConnectorCallError):  # at the end of the test
        run.start(name, timeout=WITHIN_S, start__do="hang")


@pytest.mark.promise("P6")
def test_whoever_checks_a_configuration_meanwhile_gets_the_answer(run, tmp_path):
    asked = tmp_path / "asked"
    answers: list[Any] = []
    config = {"name": "new", "connector.class": "trying.TryingConnector", "hangs.once": str(asked)}
    checking = threading.Thread(target=lambda: answers.append(run.hosts.validate(TRYING, {}, config, [], WITHIN_S)))
    checking.start()
    until(lambda: asked.exists() and asked.read_text())
    with pytest.raises(ConnectorCallError, match="Connector bad did not return"):
        run.start("bad", timeout=0.3, start__do="hang")
    checking.join(WITHIN_S)
    assert len(answers) == 1
    assert asked.read_text() == "asked\nasked\n"


@pytest.mark.promise("P6")
def test_whoever_checks_a_configuration_while_the_deleted_one_of_its_name_is_forgotten_gets_the_answer(run, tmp_path):
    asked = tmp_path / "asked"
    answers: list[Any] = []
    with pytest.raises(ConnectorCallError, match="Connector again did not return"):
        run.start("again", timeout=0.3, start__do="hang")
    config = {"name": "again", "connector.class": "trying.TryingConnector", "hangs.once": str(asked)}
    checking = threading.Thread(target=lambda: answers.append(run.hosts.validate(TRYING, {}, config, [], WITHIN_S)))
    checking.start()
    until(lambda: asked.exists() and asked.read_text())
    run.hosts.forget("again")
    checking.join(WITHIN_S)
    assert len(answers) == 1
    assert asked.read_text() == "asked\nasked\n"


@pytest.mark.promise("P6")
def test_a_connector_that_hung_comes_back_while_its_process_is_still_dying(run):
    config = {"name": "bad", "connector.class": "trying.TryingConnector"}
    for _ in range(10):
        run.start("good")
        run.listener.events.clear()
        with pytest.raises(ConnectorCallError, match="Connector bad did not return"):
            run.start("bad", timeout=0.1, start__do="hang")
        run.hosts.forget("bad")  # it was deleted, and is recreated at once
        assert run.hosts.validate(TRYING, {}, config, [], WITHIN_S)
        until(lambda: ("lost", "good") in run.listener.events)
        run.hosts.forget("good")


@pytest.mark.promise("P6")
@pytest.mark.parametrize(
    ("how", "words"), [("exit", "exit code 7"), ("crash", "The connector's process was ended by SIGSEGV")]
)
def test_a_connector_that_crashes_is_told_in_words_and_its_neighbours_too(run, how, words):
    run.start("good")
    with pytest.raises(ConnectorCallError, match=words):
        run.start("bad", start__do=how)
    until(lambda: ("lost", "good") in run.listener.events)
    run.start("good")
    run.pid("good")


@pytest.mark.promise("P9")
def test_a_connector_alone_in_its_process_that_dies_has_failed(run, tmp_path):
    when = tmp_path / "now"
    with pytest.raises(ConnectorCallError):
        run.start("a", start__do="exit")  # from here on it has a process of its own
    run.start("a", start__do="exit later", when=str(when))
    run.listener.events.clear()
    when.touch()
    event = until(lambda: [event for event in run.listener.events if event[0] == "failed"])[0]
    assert event[:2] == ("failed", "a")
    assert "exit code 7" in event[2]


def test_a_host_that_is_killed_fails_the_calls_that_wait(run):
    run.start("a")
    pid = run.pid("a")
    errors: list[Exception] = []

    def call() -> None:
        try:
            run.start("b", start__do="hang")
        except ConnectError as error:
            errors.append(error)

    waiting = threading.Thread(target=call)
    waiting.start()
    os.kill(pid, signal.SIGKILL)
    waiting.join(WITHIN_S)
    assert "SIGKILL" in str(errors[0]) or "gone" in str(errors[0])
