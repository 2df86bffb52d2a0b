"""P3: a task dies with its worker, works only under its lease, and never beside another instance of itself."""

import itertools
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.processes import is_running
from tests.support.waiting import until

from . import topic as topics
from .conftest import StartWorker
from .worker import Worker, hanging_pid, notes, unruly

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

LEASE_S = 6.0


def hang_in_c(worker: Worker, kind: str, broker: "Broker", topic: str) -> int:
    if kind == "source":
        worker.put("stuck", unruly(worker.folder, topic=topic, hang_in="poll", hang_how="c"))
    else:
        topics.fill(broker.bootstrap_servers, topic, [[b"1"]])
        worker.put("stuck", unruly(worker.folder, "UnrulySink", topics=topic, hang_in="put", hang_how="c"))
    return hanging_pid(worker.folder, "stuck")


@pytest.mark.quick
@pytest.mark.promise("P3")
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_that_holds_the_interpreter_in_c_dies_with_its_worker(
    kind: str, start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    worker = start_worker()
    pid = hang_in_c(worker, kind, broker, new_topic())
    family = worker.family()
    assert pid in family
    os.kill(worker.pid, signal.SIGKILL)
    until(lambda: not is_running(pid), 10, "the task that hangs in C is gone")
    until(lambda: not any(map(is_running, set(family) - {worker.pid})), 10, f"all of {family} are gone")


@pytest.mark.promise("P3", "P9")
def test_a_task_that_holds_the_interpreter_in_c_dies_with_the_fork_server_and_is_failed(
    start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    worker = start_worker()
    pid = hang_in_c(worker, "source", broker, new_topic())
    server = worker.server_pid()
    assert server is not None
    os.kill(server, signal.SIGKILL)
    until(lambda: not is_running(pid), 10, "the task that hangs in C is gone")
    worker.await_task("stuck", "FAILED")


@pytest.mark.promise("P3")
def test_a_task_starts_no_poll_after_its_lease_and_goes_on_with_the_next(
    start_worker: StartWorker, new_topic: Callable[..., str]
) -> None:
    # A task that stores offsets waits for its worker as well, lease or not: here it is the lease that counts.
    worker = start_worker(offset_flush_interval_ms="600000")
    worker.put("numbers", unruly(worker.folder, topic=new_topic(), every_ms="20"))
    until(lambda: len(notes(worker.folder, "numbers")) > 10, 30, "it polls")
    os.kill(worker.pid, signal.SIGSTOP)
    stopped = time.clock_gettime(time.CLOCK_BOOTTIME)

    def is_quiet() -> bool:
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        return now - notes(worker.folder, "numbers")[-1]["at"] > 1.5

    until(is_quiet, 30, "it polls no more")
    last = notes(worker.folder, "numbers")[-1]
    assert last["what"] == "ended"
    assert last["at"] > stopped + LEASE_S / 3, "it stopped before its lease ended"
    assert last["at"] < stopped + LEASE_S + 1, "it worked on after its lease"
    os.kill(worker.pid, signal.SIGCONT)
    until(lambda: notes(worker.folder, "numbers")[-1]["at"] > last["at"], 30, "it goes on")
    assert {note["pid"] for note in notes(worker.folder, "numbers")} == {last["pid"]}, "it is the same process"


def assert_one_owner(writes: list[dict[str, Any]]) -> None:
    """No write of one instance starts before the last one of its predecessor has ended, or its process is gone."""
    pids = [note["pid"] for note in writes]
    changes = sum(before != after for before, after in itertools.pairwise(pids))
    assert changes == len(set(pids)) - 1, f"instances took turns: {pids}"
    assert writes == sorted(writes, key=lambda note: note["at"])
    for note in writes:
        assert note["alone"], f"another instance was alive: {note}"


@pytest.mark.promise("P3")
def test_two_instances_of_a_task_never_write_at_the_same_time(
    start_worker: StartWorker, new_topic: Callable[..., str], chance: Any
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000")
    worker.put("numbers", unruly(worker.folder, topic=new_topic(), every_ms="5"))
    attacks: list[Callable[[int], None]] = [
        lambda pid: os.kill(pid, signal.SIGKILL),
        lambda pid: os.kill(pid, signal.SIGSTOP),  # the restart finds it deaf, and kills it
        lambda pid: os.kill(worker.server_pid() or 0, signal.SIGKILL),
        lambda pid: None,
    ] * 2
    chance.shuffle(attacks)
    for attack in attacks:
        writes = len(notes(worker.folder, "numbers"))
        until(lambda writes=writes: len(notes(worker.folder, "numbers")) > writes + chance.randrange(20), 30, "writes")
        attack(worker.task("numbers")["pid"])
        worker.ask("restart_task", name="numbers", task=0)  # though its connector may be gone with the fork server
    worker.await_task("numbers", "RUNNING")
    worker.stop()
    assert_one_owner(notes(worker.folder, "numbers"))
