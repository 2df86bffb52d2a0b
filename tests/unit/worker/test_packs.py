"""Tasks that share a process: they end, hang and crash, and what becomes of the others."""

from __future__ import annotations

import math
import os
import signal
import threading

import pytest

from connect.settings.isolation_keys import AUTO, PACKED, PROCESS
from connect.worker import packs
from connect.worker.lease import now
from tests.support.waiting import until

from .test_supervisor import WITHIN_S, Run, run, short

__all__ = ["run", "short"]


def started(run: Run, *what: str, **spec: object) -> list:
    tasks = [run.start(do, isolation=PACKED, **spec) for do in what]
    for task in tasks:
        run.await_polls(task)
    return tasks


def test_tasks_of_a_plugin_share_a_process_and_each_ends_when_it_is_told(run):
    first, second = started(run, "idle", "idle")
    assert first.pid == second.pid
    assert (first.shares, second.shares) == (2, 2)
    run.supervisor.stop_task(first, graceful=WITHIN_S)
    assert first.ended.wait(WITHIN_S)
    assert run.listener.ends[first.id] == (None, None)
    assert not first.uprooted
    moment = run.last_poll(second)
    run.await_polls(second, after=moment)
    assert second.shares == 1
    run.supervisor.stop_task(second, graceful=WITHIN_S)
    assert run.await_end(second) == (None, None)  # and the process is gone


def test_one_with_a_process_of_its_own_is_in_no_pack(run):
    first, second = run.start("idle", isolation=PACKED), run.start("idle", isolation=PROCESS)
    assert first.pid != second.pid
    assert second.shares == 1


def test_tasks_with_other_code_are_in_other_packs(run):
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    (first,) = started(run, "idle")
    (second,) = started(run, "idle", connector_config=json)
    (third,) = started(run, "idle", connector_config={**json, "value.converter.plugin.version": "latest"})
    assert len({first.pid, second.pid, third.pid}) == 3


def test_a_pack_takes_so_many_and_no_more(run, monkeypatch):
    monkeypatch.setattr(packs, "MOST_TASKS", 2)
    first, second, third = started(run, "idle", "idle", "idle")
    assert first.pid == second.pid != third.pid


def test_by_default_the_first_tasks_of_a_worker_have_processes_of_their_own(run, monkeypatch):
    monkeypatch.setattr(packs, "FIRST_TASKS", 2)
    tasks = []
    for _ in range(4):
        tasks.append(run.start("idle", isolation=AUTO))
        run.await_polls(tasks[-1])
    assert len({task.pid for task in tasks}) == 3
    assert tasks[2].pid == tasks[3].pid


@pytest.mark.promise("P8", "P9")
def test_an_error_of_one_is_its_own(run):
    (idle,) = started(run, "idle")
    failing = run.start("raise", isolation=PACKED)
    assert failing.pid == idle.pid
    assert failing.ended.wait(WITHIN_S)
    error, trace = run.listener.ends[failing.id]
    assert error == "ValueError: cannot log in with [hidden]"
    assert "do_raise" in trace
    assert not failing.uprooted
    run.await_polls(idle, after=run.last_poll(idle))


@pytest.mark.promise("P8")
def test_each_logs_in_its_own_name(run, caplog):
    with caplog.at_level("INFO"):
        started(run, "idle", "log")
        until(lambda: any("the password is" in record.getMessage() for record in caplog.records))
    (found,) = [record for record in caplog.records if "the password is" in record.getMessage()]
    assert found.about == "trying-1"
    assert "hunter22" not in found.getMessage()


@pytest.mark.promise("P11")
@pytest.mark.parametrize("do", ["hang", "never stop", "hold the interpreter"])
def test_one_that_does_not_end_in_time_takes_the_others_with_it_and_they_are_not_to_blame(run, do):
    (idle,) = started(run, "idle")
    stuck = run.start(do, isolation=PACKED)
    run.await_polls(stuck)
    run.supervisor.stop_task(stuck, graceful=0.1)
    assert run.await_end(stuck) == (None, None)
    assert not stuck.uprooted
    assert run.await_end(idle) == (None, None)
    assert idle.uprooted == "trying-1 had to be ended, with which it shared a process."
    assert not idle.needs_own_process


@pytest.mark.promise("P9")
@pytest.mark.parametrize("do", ["exit", "crash"])
def test_when_a_pack_crashes_nobody_knows_whose_fault_it_is_and_each_is_to_start_alone(run, do):
    started(run, "idle", "idle")
    run.start(do, isolation=PACKED)
    for task in run.tasks:
        assert run.await_end(task) == (None, None)
        assert task.uprooted == "The process ended that it shared with other tasks."
        assert task.needs_own_process


@pytest.mark.promise("P9")
def test_a_pack_of_one_that_crashes_failed(run):
    error, _ = run.await_end(run.start("exit", isolation=PACKED))
    assert error == "The task's process ended by itself with exit code 7."


@pytest.mark.promise("P3")
def test_one_that_leaves_a_thread_behind_has_not_ended_before_its_process_has(run):
    (leaving,) = started(run, "start a thread")
    pid = leaving.pid
    run.supervisor.stop_task(leaving, graceful=WITHIN_S)
    assert run.await_end(leaving) == (None, None)  # no such process is there any more
    again = run.start("idle", isolation=PACKED)
    assert again.pid != pid
    assert again.shares == 1
    assert isinstance(again.child, packs.OwnProcess), "a plug-in that leaves threads is in packs no more"


def test_a_plugin_may_insist_on_a_process_of_its_own(run):
    task = run.start("idle", isolation=PACKED, connector_class="trying:LonelyConnector")
    assert task.ended.wait(WITHIN_S)
    assert run.listener.ends[task.id] == (None, None)
    assert task.uprooted == "It needs a process of its own."
    assert task.needs_own_process
    again = run.start("idle", isolation=PACKED, connector_class="trying:LonelyConnector")
    run.await_polls(again)
    assert isinstance(again.child, packs.OwnProcess)


@pytest.mark.promise("P3")
def test_without_a_lease_all_stand_still(short, monkeypatch):
    tasks = started(short, "idle", "idle")
    monkeypatch.setattr(short.supervisor, "_entitled_until", lambda: 0.0)
    until(lambda: all(now() - short.last_poll(task) > 1.5 for task in tasks))
    monkeypatch.setattr(short.supervisor, "_entitled_until", lambda: math.inf)
    until(lambda: all(now() - short.last_poll(task) < 0.5 for task in tasks))


def test_a_pack_that_was_killed_from_outside_is_started_anew(run):
    first, _ = started(run, "idle", "idle")
    os.kill(first.pid, signal.SIGKILL)
    for task in list(run.tasks):
        run.await_end(task)
    (third,) = started(run, "idle")
    assert third.pid != first.pid


def test_many_begin_and_end_at_once(run):
    tasks = [run.start("idle", isolation=PACKED) for _ in range(20)]
    assert len({task.pid for task in tasks}) == 1
    for task in tasks:
        run.await_polls(task)
    threads = [threading.Thread(target=run.supervisor.stop_task, args=(task, WITHIN_S)) for task in tasks]
    for thread in threads:
        thread.start()
    more = [run.start("idle", isolation=PACKED) for _ in range(10)]
    for thread in threads:
        thread.join()
    for task in tasks:
        assert task.ended.wait(WITHIN_S)
        assert run.listener.ends[task.id] == (None, None)
        assert not task.uprooted
    for task in more:
        run.await_polls(task)
