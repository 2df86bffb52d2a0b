"""Processes that wait for tasks: who gets one, when the next is started, when they end."""

import os
import signal

import msgspec
import psutil
import pytest

from connect.settings.isolation_keys import PACKED
from connect.worker import spares
from connect.worker.messages import Spare
from connect.worker.processes import ChildProcess
from tests.support.waiting import until

from .test_supervisor import PLUGINS, WITHIN_S, Run

#: Waiting processes try to load it, and wait all the same.
ENGINE = "of a test"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A worker with one spare process."""
    monkeypatch.setattr(spares, "QUIET_S", 0.05)
    monkeypatch.setattr(spares, "KEPT_S", 0.2)
    made = Run(tmp_path, spares=spares.Spares(1))
    yield made
    waiting = waiting_of(made)
    made.close()
    assert not any(map(psutil.pid_exists, waiting))


def waiting_of(run: Run) -> list[int]:
    return [child.pid for child in run.supervisor._spares._waiting.get(ENGINE, [])]


def start(run: Run, name: str, **more):
    task = run.start("idle", isolation=PACKED, pack=name, spare=ENGINE, **more)
    run.await_polls(task)
    return task


def stop(run: Run, task) -> None:
    run.supervisor.stop_task(task, graceful=WITHIN_S)
    run.await_end(task)


def test_no_process_waits_before_the_first_task_and_the_second_takes_the_one_that_does(run):
    assert not waiting_of(run)
    first = start(run, "one")
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    second = start(run, "other")
    assert first.pid != second.pid == spare
    until(lambda: waiting_of(run) and waiting_of(run) != [spare])


def test_the_first_task_takes_one_that_was_begun_when_it_was_expected(run, monkeypatch):
    monkeypatch.setattr(spares, "KEPT_S", 60.0)
    run.supervisor._spares.expect(ENGINE, None)
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    run.supervisor._spares.expect(ENGINE, None)  # by who runs the connector, after who wrote its configuration
    assert start(run, "one").pid == spare


def test_one_that_was_begun_for_a_task_that_does_not_come_ends(run):
    run.supervisor._spares.expect(ENGINE, None)
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    until(lambda: not waiting_of(run))
    until(lambda: not psutil.pid_exists(spare))


def test_one_that_waits_is_told_the_plugin_of_the_task_before_it(run, monkeypatch):
    told = []

    def child(target, spec):
        told.append(msgspec.msgpack.decode(spec, type=Spare))
        return ChildProcess(target, spec)

    monkeypatch.setattr(spares, "ChildProcess", child)
    start(run, "one", folder=PLUGINS)
    until(lambda: waiting_of(run))
    assert told == [Spare(ENGINE, {}, PLUGINS)]


def test_tasks_of_one_name_share_the_one_that_was_taken(run):
    start(run, "one")
    until(lambda: waiting_of(run))
    second, third = start(run, "other"), start(run, "other")
    assert second.pid == third.pid
    assert second.shares == 2


def test_it_ends_some_time_after_the_last_task(run):
    first, second = start(run, "one"), start(run, "other")
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    stop(run, first)
    assert waiting_of(run) == [spare]
    stop(run, second)
    until(lambda: not waiting_of(run))
    until(lambda: not psutil.pid_exists(spare))


def test_a_task_that_is_restarted_finds_it(run, monkeypatch):
    monkeypatch.setattr(spares, "KEPT_S", 60.0)
    task = start(run, "one")
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    stop(run, task)
    assert start(run, "one").pid == spare


def gone(pid: int) -> bool:
    """Whether a process has ended, whoever is still to be told."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_one_that_was_killed_is_given_to_nobody(run):
    start(run, "one")
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    os.kill(spare, signal.SIGKILL)
    until(lambda: gone(spare))
    task = start(run, "other")
    assert task.pid != spare
    until(lambda: waiting_of(run) and waiting_of(run) != [spare])


def test_a_worker_that_is_to_have_none_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(spares, "QUIET_S", 0.0)
    run = Run(tmp_path, spares=spares.Spares(0))
    run.supervisor._spares.expect(ENGINE, None)
    start(run, "one")
    start(run, "other")
    assert not run.supervisor._spares._timers
    run.close()


def test_tasks_without_an_engine_of_that_kind_leave_it_alone(run):
    start(run, "one")
    until(lambda: waiting_of(run))
    (spare,) = waiting_of(run)
    task = run.start("idle", isolation=PACKED, pack="another")
    run.await_polls(task)
    assert task.pid != spare
    assert waiting_of(run) == [spare]
