"""`connect top` against a worker of Java and one of ours: one table, one document, and a terminal with keys."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace

import pytest

from connect.ports import free_port
from tests.integration.cli_client.conftest import Commands, running, worker_file
from tests.support.worker_process import WorkerProcess, our_command

pytestmark = pytest.mark.slow

LEFT = b"\x1b[?1049l"
WITHIN_S = 60.0


@pytest.fixture
def flowing(connect, name, source):
    """The name of a connector whose task runs."""
    connect("apply", "-f", source, "--yes")
    running(connect, name)
    return name


class Terminal:
    """A command that has a terminal for itself."""

    def __init__(self, process, master):
        self.process = process
        self.master = master
        self.all = b""

    def until(self, pattern):
        """Wait until the last screen matches, without colours."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            drawn = self.all.rpartition(b"\x1b[H")[2]
            screen = re.sub(rb"\x1b\[\d*[mKJ]", b"", drawn).decode(errors="replace")
            if drawn.endswith(b"\x1b[J") and re.search(pattern, screen):
                return
            ready = select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]
            assert ready, f"no {pattern!r} in {screen!r}"
            self.all += os.read(self.master, 65536)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def rest(self):
        """All that it still writes, once it has ended."""
        while select.select([self.master], [], [], 0)[0]:
            self.all += os.read(self.master, 65536)
        return self.all

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)


@contextmanager
def terminal(connect, *words, columns=150, lines=24):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    before = termios.tcgetattr(slave)
    environment = {**connect.environment, "TERM": "xterm"}
    with subprocess.Popen(
        connect.command(*words), env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    ) as process:
        found = Terminal(process, master)
        try:
            yield found
            assert process.wait(WITHIN_S) is not None
            assert LEFT in found.rest()
            assert termios.tcgetattr(slave) == before
        finally:
            process.kill()
            process.wait()
            os.close(slave)
            os.close(master)


def row_of(screen, name):
    return next(line for line in screen.splitlines() if line.startswith(f"{name}-0"))


def test_once_prints_a_table_with_what_the_workers_tell(connect, flowing):
    printed = connect("top", "--once", "--interval", "0.2")
    workers, tasks = printed.split("\n\n")
    assert re.match(r"WORKER +CONNECTORS +TASKS", workers)
    row = row_of(tasks, flowing)
    assert "RUNNING" in row
    if connect.hides_secrets:  # a worker of ours
        assert re.search(r"\d[KM] ", row)
    else:
        assert row.count("\u2013") == 9
    assert "\x1b" not in printed


def test_json_is_one_document(connect, flowing):
    found = json.loads(connect("top", "--json", "--interval", "0.2", "--filter", flowing))
    (task,) = found["tasks"]
    assert (task["connector"], task["task"], task["type"], task["state"]) == (flowing, 0, "source", "RUNNING")
    assert task["worker"] in {worker["worker"] for worker in found["workers"]}
    if connect.hides_secrets:
        assert task["memory_bytes"] > 1_000_000
        assert task["cpu_percent"] >= 0
        assert task["errors"] == 0
    else:
        assert {task["memory_bytes"], task["cpu_percent"], task["records_out"], task["errors"]} == {None}


def test_a_terminal_is_redrawn_follows_keys_and_is_given_back(connect, flowing):
    with terminal(connect, "top", "--interval", "0.2") as top:
        top.until(rf"\n{flowing}-0 +RUNNING")
        if connect.hides_secrets:
            top.until(rf"\n{flowing}-0 +RUNNING +source .* \d+\.\d +\d+\.?\d*M")
        top.press("n")
        top.until("NAME▲")
        top.press("n")
        top.until("NAME▼")
        top.press("/no such")
        top.until(rf"/no such▏(?s:(?!{flowing}-0).)*$")
        top.press("\x1b")
        top.until(rf"\n{flowing}-0 ")
        top.press("t")
        top.until(rf"\n{flowing} +RUNNING")
        top.press("t ")
        top.until("paused: ")
        top.resize(50, 12)
        top.until(r"\A([^\n]{0,49}(\r\n|\Z))+\Z")
        top.press("q")
        assert top.process.wait(WITHIN_S) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_give_the_terminal_back(connect, flowing, number, code):
    with terminal(connect, "top", "--interval", "0.2") as top:
        top.until(rf"\n{flowing}-0 +RUNNING")
        top.process.send_signal(number)
        assert top.process.wait(WITHIN_S) == code


def test_a_change_is_seen_while_it_runs(connect, flowing):
    with terminal(connect, "top", "--interval", "0.2") as top:
        top.until(rf"\n{flowing}-0 +RUNNING")
        connect("pause", flowing)
        top.until(rf"\n{flowing}-0 +PAUSED")
        top.press("q")


def test_what_failed_stands_first_and_is_counted(connect, flowing, name):
    failing = f"zz-{name}"
    sink = {"connector.class": "FileStreamSink", "topics": name, "file": "/dev/null/no-such-folder/out.txt"}
    connect("apply", "-f", connect.write("sink.json", {"name": failing, "config": sink}), "--yes")
    # The second look of a worker of ours has CPU, by which the one that runs would stand first.
    runs = rf"{flowing}-0 +RUNNING" + (r" +source .* \d+\.\d +\d+\.?\d*M" if connect.hides_secrets else "")
    with terminal(connect, "top", "--interval", "0.2") as top:
        top.until(rf"\A[^\n]*2 tasks: 1 FAILED, 1 RUNNING(?s:.*)\n{failing}-0 +FAILED(?s:.*)\n{runs}")
        top.press("q")


def test_a_worker_that_goes_away_is_named_and_its_return_is_seen(broker, tmp_path, name):
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    (tmp_path / "in.txt").write_text("one\n")
    config = {"connector.class": "FileStreamSource", "topic": name, "file": str(tmp_path / "in.txt")}
    connector = tmp_path / "source.json"
    connector.write_text(json.dumps({"name": name, "config": config}))
    command = our_command("standalone", worker_file(broker, tmp_path, address), connector)
    with closing(WorkerProcess(command, tmp_path / "worker.log").start()) as worker:
        worker.until_answering(port)
        with terminal(Commands(tmp_path, address, True), "top", "--interval", "0.2") as top:
            top.until(rf"\A{address} (?s:.*)\n{name}-0 +RUNNING")
            worker.stop()
            top.until(rf"\ANo Connect worker answers at {address}(?s:.*)\n{name}-0 ")
            worker.start()
            top.until(rf"\A{address} (?s:.*)\n{name}-0 +RUNNING")
            top.press("q")
            assert top.process.wait(WITHIN_S) == 0


def test_an_exception_gives_the_terminal_back():
    code = (
        "from connect.cli._screen import Screen\nwith Screen() as s:\n s.draw(['drawn'])\n raise RuntimeError('broken')"
    )
    fails = SimpleNamespace(command=lambda: [sys.executable, "-c", code], environment=dict(os.environ))
    with terminal(fails) as shown:
        assert shown.process.wait(WITHIN_S) == 1
    assert b"RuntimeError: broken" in shown.all.partition(LEFT)[2]


def test_an_error_is_a_line_and_leaves_the_terminal_alone(connect):
    assert "No Connect worker answers" in connect("top", "--url", "http://127.0.0.1:1", code=3)
    assert "--interval" in connect("top", "--interval", "0", code=2)
