"""Task processes under supervision: real ones, that stop, hang, crash, flood and talk nonsense."""

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.worker import messages
from connect.worker.lease import now
from connect.worker.supervisor import Supervisor, TaskProcess
from tests.support.open_files import many_open_files
from tests.support.waiting import until

PLUGINS = str(Path(__file__).with_name("plugins"))
WITHIN_S = 30.0
STRING = "org.apache.kafka.connect.storage.StringConverter"


class Listener:
    """Notes what tasks say and how they end."""

    def __init__(self) -> None:
        self.said: list[tuple[str, messages.AnyMessage]] = []
        self.ends: dict[str, tuple[str | None, str | None]] = {}
        self.was_set: dict[str, bool] = {}
        self.breaks = False

    def task_said(self, task: TaskProcess, message: messages.AnyMessage) -> None:
        self.said.append((task.id, message))
        if self.breaks:
            raise RuntimeError("a listener of ours is broken")

    def task_ended(self, task: TaskProcess, error: str | None, trace: str | None) -> None:
        self.was_set[task.id] = task.ended.is_set()
        self.ends[task.id] = error, trace

    def of(self, task: TaskProcess) -> list[messages.AnyMessage]:
        return [message for name, message in self.said if name == task.id]


class Run:
    """A supervisor and the tasks that it runs."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.supervisor = Supervisor(**settings)
        self.supervisor.start()
        self.listener = Listener()
        self.tasks: list[TaskProcess] = []
        self.folder = folder

    def start(self, do: str, **spec: Any) -> TaskProcess:
        number = len(self.tasks)
        task = self.supervisor.start_task(
            messages.TaskSpec(
                **{
                    "connector": "trying",
                    "task": number,
                    "kind": "source",
                    "connector_class": "trying:TryingConnector",
                    "folder": PLUGINS,
                    "config": {"do": do, "note": str(self.note(number)), "secret": "hunter22"},
                    "connector_config": {},
                    "worker_config": {
                        "bootstrap.servers": "127.0.0.1:1",
                        "key.converter": STRING,
                        "value.converter": STRING,
                    },
                    "plugin_path": [],
                    "secrets": ["hunter22"],
                    "paused": False,
                    "lease_until": self.supervisor.lease_until(),
                    "log_level": logging.INFO,
                    **spec,
                }
            ),
            self.listener,
        )
        self.tasks.append(task)
        self.supervisor.watch(task)
        return task

    def note(self, number: int) -> Path:
        return self.folder / f"note-{number}"

    def last_poll(self, task: TaskProcess) -> float:
        note = self.note(task.spec.task)
        return float(note.read_text() or 0) if note.exists() else 0.0

    def await_polls(self, task: TaskProcess, after: float = 0.0) -> None:
        until(lambda: self.last_poll(task) > after)

    def await_end(self, task: TaskProcess) -> tuple[str | None, str | None]:
        until(lambda: task.id in self.listener.ends)
        assert task.ended.wait(WITHIN_S)
        assert not psutil.pid_exists(task.pid)
        return self.listener.ends[task.id]

    def close(self) -> None:
        self.supervisor.close()
        assert not [task for task in self.tasks if psutil.pid_exists(task.pid)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    yield made
    made.close()


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Run]:
    """A run with a lease of 0.6 s."""
    made = Run(tmp_path, lease=0.6)
    yield made
    made.close()


def test_a_task_runs_in_a_process_of_its_own_and_ends_when_it_is_told(run):
    task = run.start("idle")
    assert task.pid != os.getpid()
    run.await_polls(task)
    until(lambda: messages.Running(False) in run.listener.of(task))
    run.supervisor.stop_task(task, graceful=WITHIN_S)
    assert run.await_end(task) == (None, None)
    assert task.abandoned_member is None


@pytest.mark.promise("P3")
def test_a_task_that_has_just_begun_ends_with_its_supervisor(tmp_path):
    armed, reached, gate = threading.Event(), threading.Event(), threading.Event()

    def entitled_until() -> float:
        if armed.is_set() and threading.current_thread().name == "supervisor":
            reached.set()
            gate.wait(WITHIN_S)  # the thread has done all calls, and will look whether it may end
        return math.inf

    run = Run(tmp_path, lease=0.2, entitled_until=entitled_until)
    armed.set()
    assert reached.wait(WITHIN_S)
    run.start("idle")
    closing = threading.Thread(target=run.close)
    closing.start()
    until(lambda: run.supervisor._closing)
    gate.set()
    closing.join()
    assert not psutil.pid_exists(run.tasks[0].pid)


@pytest.mark.promise("P3")
def test_a_task_that_begins_while_others_are_killed_ends_with_them(run, monkeypatch):
    first = run.start("idle")
    run.await_polls(first)
    second = run.supervisor.start_task(first.spec, run.listener)
    run.tasks.append(second)
    kill = first.kill

    def kill_late() -> None:
        run.supervisor.watch(second)
        if threading.current_thread().name != "supervisor":
            until(lambda: second in run.supervisor._tasks)
        kill()

    monkeypatch.setattr(first, "kill", kill_late)
    run.supervisor.close()
    assert not psutil.pid_exists(second.pid)


def test_whoever_waits_for_the_end_finds_that_the_listener_knows(run):
    task = run.start("idle")
    run.supervisor.stop_task(task, graceful=WITHIN_S)
    assert task.ended.wait(WITHIN_S)
    assert run.listener.was_set == {task.id: False}


def test_a_task_can_begin_paused_pause_and_resume(run):
    task = run.start("idle", paused=True)
    until(lambda: messages.Running(True) in run.listener.of(task))
    task.resume()
    until(lambda: messages.Paused(False) in run.listener.of(task))
    task.pause()
    until(lambda: messages.Paused(True) in run.listener.of(task))


@pytest.mark.promise("P11")
@pytest.mark.parametrize("do", ["hang", "hold the interpreter", "never stop"])
def test_a_task_that_does_not_end_in_time_is_killed(run, do):
    task = run.start(do)
    run.await_polls(task)
    run.supervisor.stop_task(task, graceful=0.1)
    assert run.await_end(task) == (None, None)


@pytest.mark.promise("P11")
def test_a_hanging_task_keeps_no_other_from_ending(run):
    hanging, idle = run.start("hang"), run.start("idle")
    run.await_polls(hanging)
    run.await_polls(idle)
    run.supervisor.stop_task(hanging, graceful=WITHIN_S)
    run.supervisor.stop_task(idle, graceful=WITHIN_S)
    assert run.await_end(idle) == (None, None)
    assert not hanging.ended.is_set()


@pytest.mark.promise("P9")
@pytest.mark.parametrize(
    ("do", "words"),
    [
        ("exit", "The task's process ended by itself with exit code 7."),
        ("crash", "The task's process was ended by SIGSEGV."),
        ("leave", "SystemExit: 3"),
        ("refuse", "KeyError: 'gone'"),
        ("fail to start", "cannot start"),
    ],
)
def test_how_a_task_ended_is_told_in_words(run, do, words):
    error, trace = run.await_end(run.start(do))
    assert error == words
    assert words in (trace or "")


def test_a_task_that_is_killed_from_outside_says_who_may_have_done_it(run):
    task = run.start("idle")
    run.await_polls(task)
    os.kill(task.pid, signal.SIGKILL)
    error, _ = run.await_end(task)
    assert error == "The task's process was ended by SIGKILL. The kernel does this when memory runs out."


@pytest.mark.promise("P8", "P9")
def test_an_error_comes_with_its_trace_and_without_its_secrets(run):
    error, trace = run.await_end(run.start("raise"))
    assert error == "ValueError: cannot log in with [hidden]"
    assert "do_raise" in trace
    assert "hunter22" not in trace


@pytest.mark.promise("P9")
def test_a_class_that_is_no_task_is_named(run):
    error, _ = run.await_end(run.start("idle", connector_class="trying:NoTaskConnector"))
    assert error == "NoTask is not a SourceTask. A source connector's task class extends it."


@pytest.mark.promise("P9")
@pytest.mark.parametrize("target", ["no_such_module:Connector", "trying:no_such_connector"])
def test_a_class_that_is_not_there_is_named(run, target):
    error, _ = run.await_end(run.start("idle", connector_class=target))
    assert "no_such" in error


@pytest.mark.promise("P8")
def test_what_a_task_logs_is_written_here_as_its_own_and_redacted(run, caplog):
    with caplog.at_level(logging.INFO, logger="trying"):
        task = run.start("log")
        until(lambda: [r for r in caplog.records if "do not fit" in r.getMessage()])
    said = {record.getMessage(): record for record in caplog.records if record.name == "trying"}
    assert set(said) == {"the password is [hidden]", "%d (with arguments that do not fit)"}
    record = said["the password is [hidden]"]
    assert record.levelno == logging.WARNING
    assert record.about == task.id


# The lease.


@pytest.mark.promise("P3")
def test_leases_are_renewed_as_long_as_the_worker_owns_its_tasks(short):
    task = short.start("idle")
    short.await_polls(task, after=now() + 1.5)


@pytest.mark.promise("P3")
def test_a_task_whose_worker_lost_its_membership_stops_polling_until_it_is_back(tmp_path):
    until_when = [now() + 1e9]
    run = Run(tmp_path, lease=0.3, entitled_until=lambda: until_when[0])
    task = run.start("idle")
    run.await_polls(task)
    until_when[0] = now()
    leased = now() + 0.3
    until(lambda: now() > leased + 0.3)
    assert run.last_poll(task) < leased + 0.2
    until_when[0] = now() + 1e9
    run.await_polls(task, after=leased + 0.3)
    run.close()


@pytest.mark.promise("P3", "P6")
def test_a_task_that_floods_its_pipe_keeps_no_other_from_being_renewed(short, caplog):
    caplog.set_level(logging.ERROR)
    flooding, idle = short.start("flood", log_level=logging.WARNING), short.start("idle")
    short.await_polls(flooding)
    short.await_polls(idle, after=now() + 1.5)


@pytest.mark.promise("P3", "P6")
def test_a_task_that_never_reads_its_pipe_keeps_no_other_from_being_renewed(short):
    stopped, idle = short.start("idle"), short.start("idle")
    short.await_polls(stopped)
    os.kill(stopped.pid, signal.SIGSTOP)
    sent = [0]

    def fill() -> None:
        while not stopped.ended.is_set():
            stopped.pause()
            sent[0] += 1

    filling = threading.Thread(target=fill)
    filling.start()
    before = -1
    while before != sent[0]:  # until the pipe is full and the sender waits
        before = sent[0]
        time.sleep(0.1)
    short.await_polls(idle, after=now() + 1.5)
    stopped.kill()
    filling.join(WITHIN_S)
    short.await_end(stopped)


# Nonsense.


@pytest.mark.promise("P6", "P9")
def test_a_task_that_asks_and_does_not_listen_is_ended_and_no_other_notices(short):
    asking, idle = short.start("ask and not listen"), short.start("idle")
    error, _ = short.await_end(asking)
    assert error is not None
    assert "64 MiB of questions" in error
    short.await_polls(idle, after=now() + 1.5)


@pytest.mark.promise("P11")
def test_a_task_that_does_not_listen_is_stopped_in_time_whatever_it_was_told(run):
    task = run.start("hold the interpreter")
    run.await_polls(task)
    teller = threading.Thread(target=task.send, args=[messages.Stored(1, "more than the pipe takes" * 100_000)])
    teller.start()
    until(lambda: task.child.channel._is_sending)
    run.supervisor.stop_task(task, graceful=0.5)
    assert run.await_end(task) == (None, None)
    teller.join()


@pytest.mark.promise("P9")
def test_what_is_too_long_to_be_told_is_cut(run, caplog):
    with caplog.at_level(logging.INFO, logger="trying"):
        run.start("log too much")
        said = until(lambda: [r for r in caplog.records if r.name == "trying"])[0].getMessage()
    assert len(said) < 200_000
    assert "characters are left out" in said
    error, trace = run.await_end(run.start("raise too much"))
    for words in (error, trace):
        assert words is not None
        assert len(words) < 200_000
        assert "\\udcff the end" in words


@pytest.mark.promise("P6", "P9")
@pytest.mark.parametrize("do", ["write garbage", "write a giant", "ask nonsense", "say deep", "say no text"])
def test_a_task_that_talks_nonsense_is_ended_and_no_other_notices(short, do):
    talking, idle = short.start(do), short.start("idle")
    error, _ = short.await_end(talking)
    assert error is not None
    assert "control pipe" in error
    short.await_polls(idle, after=now() + 1.5)


@pytest.mark.promise("P6", "P9")
def test_a_task_that_closes_its_pipe_can_still_be_stopped(run):
    task = run.start("close the pipe")
    run.await_polls(task)
    run.supervisor.stop_task(task, graceful=0.1)
    run.await_end(task)


@pytest.mark.promise("P6")
def test_a_listener_that_breaks_ends_nothing(short, caplog):
    short.listener.breaks = True
    task = short.start("idle")
    short.await_polls(task, after=now() + 1.5)
    assert "a listener of ours is broken" in caplog.text
    short.listener.breaks = False
    short.supervisor.stop_task(task, graceful=WITHIN_S)
    short.await_end(task)


def test_a_worker_may_have_more_than_a_thousand_files_open(short):
    with many_open_files():
        task = short.start("idle")
        assert task.child.channel.fileno() > 1024
        short.await_polls(task, after=now() + 1.0)
        short.supervisor.stop_task(task, graceful=WITHIN_S)
        assert short.await_end(task) == (None, None)


def test_closing_ends_everything(tmp_path):
    run = Run(tmp_path)
    for do in ("idle", "hang", "hold the interpreter"):
        run.await_polls(run.start(do))
    run.close()
    assert all(task.ended.is_set() for task in run.tasks)
