"""Child processes: their pipe, their end in words, and the fork server behind them."""

import os
import select
import signal
import socket
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path

import msgspec
import psutil
import pytest

from connect.worker import host_process, messages
from connect.worker.host_process import HostSpec
from connect.worker.processes import ChildProcess, how_it_ended, start_server
from tests.support.processes import is_running
from tests.support.waiting import until

WITHIN_S = 30.0


def child() -> ChildProcess:
    """A host process without connectors: it waits for calls, and ends when its pipe is closed."""
    start_server()
    return ChildProcess(host_process.main, msgspec.msgpack.encode(HostSpec([], 30)))


def test_a_child_ends_when_its_pipe_is_closed():
    made = child()
    assert made.alive
    assert psutil.Process(made.pid).ppid() != os.getpid()  # the fork server's
    made.channel._socket.shutdown(socket.SHUT_RDWR)
    until(lambda: not made.alive)
    assert made.reap() == 0


def test_a_killed_child_is_gone_and_killing_it_again_is_harmless():
    made = child()
    made.kill()
    made.kill()
    assert made.reap() == -signal.SIGKILL
    assert not psutil.pid_exists(made.pid)


INTERRUPTED = """
import os, signal, time
from multiprocessing import forkserver
from pathlib import Path
from connect.worker.processes import start_server

def catches(pid, number):
    (caught,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt")]
    return int(caught.split()[1], 16) >> number - 1 & 1

start_server()
signal.signal(signal.SIGINT, signal.SIG_IGN)
server = forkserver._forkserver._forkserver_pid
here = Path(f"/proc/{server}/exe").exists
while here() and not catches(server, signal.SIGTERM):  # as it does with its own handlers, once it has them
    os.kill(server, signal.SIGINT)
    time.sleep(0.001)
assert here(), "the server is gone"
"""


def test_ctrl_c_at_the_start_is_nothing_to_the_fork_server():
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_child_has_no_signals_blocked():
    made = child()
    status = Path(f"/proc/{made.pid}/status").read_text()
    assert "SigBlk:\t0000000000000000" in status
    made.kill()
    made.reap()


@pytest.mark.promise("P3", "P10")
def test_children_die_with_the_fork_server_and_the_next_one_gets_another():
    made = child()
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    os.kill(server, signal.SIGKILL)
    assert select.select([made.sentinel], [], [], WITHIN_S)[0]
    assert made.reap() == 255
    assert not is_running(made.pid)
    another = child()
    another.channel.send(messages.Call(1, "nobody", messages.CutTasks(1)))
    answer = another.channel.receive()
    assert isinstance(answer, messages.Answer)
    another.kill()
    another.reap()


FULL_HEAP = "A JVM does this when its heap is full: see -Xmx in java.options."


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "The task's process ended by itself with exit code 0."),
        (1, "The task's process ended by itself with exit code 1."),
        (3, f"The task's process ended by itself with exit code 3. {FULL_HEAP}"),
        (-9, "The task's process was ended by SIGKILL. The kernel does this when memory runs out."),
        (-11, "The task's process was ended by SIGSEGV."),
        (-64, "The task's process was ended by SIGRTMAX."),
        (-99, "The task's process was ended by 99."),
    ],
)
def test_an_exit_code_in_words(code, words):
    assert how_it_ended(code) == words
