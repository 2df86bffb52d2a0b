"""On a terminal a line for each connector stands below the log."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

DRAWN = re.compile(r"\x1b\[\d+;1H\x1b\[2K")


@pytest.fixture
def terminal(standalone):
    """Runs the command on a terminal of 100 columns and 20 lines. Gives a function that reads until a text is there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 100, 0, 0))
    started = []

    def run(*files):
        environment = {**os.environ, "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        process = subprocess.Popen(
            standalone.command(*files),
            cwd=standalone.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            process_group=0,
        )
        started.append(process)
        shown = ""

        def until(condition):
            nonlocal shown
            deadline = time.monotonic() + 60
            while not condition(shown):
                assert time.monotonic() < deadline, shown[-2000:]
                if select.select([ours], [], [], 0.1)[0]:
                    shown += os.read(ours, 65536).decode()
                elif process.poll() is not None:
                    assert condition(shown), shown
            return shown

        return process, until

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
    os.close(ours)
    os.close(theirs)


def test_a_line_for_each_connector_stands_below_the_log(standalone, topic, terminal):
    (standalone.folder / "in.txt").write_text("one\n" * 1000)
    failing = standalone.sink(topic, "failing", file="nowhere/out.txt")
    process, until = terminal(standalone.source(topic), failing)
    shown = until(lambda shown: re.search(r"source +\x1b\[32mRUNNING\x1b\[0m .* 1,000 in all", shown))
    shown = until(lambda shown: re.search(r"failing +\x1b\[31mFAILED\x1b\[0m +key .file.: Cannot write", shown))
    process.send_signal(signal.SIGINT)
    shown = until(lambda shown: "source-0  ended" in shown)
    assert process.wait(60) == 0
    # The two lines are the terminal's last; the region above scrolls, and is the whole terminal again at the end.
    assert "\x1b[1;18r" in shown
    assert {int(row) for row in re.findall(r"\x1b\[(\d+);1H\x1b\[2K", shown)} == {19, 20}
    assert shown.index("\x1b[1;18r") < shown.index("\x1b[r") < shown.index("stopping")
    # What is logged begins at a line's beginning.
    for line in re.findall(r"[^\n]*source-0  running", shown):
        assert re.match(r"(\x1b.*)?\d{4}-\d\d-\d\dT", line), line


def test_what_a_sink_writes_to_the_terminal_is_not_torn(standalone, topic, terminal):
    (standalone.folder / "in.txt").write_text("".join(f"<{number}>\n" for number in range(2000)))
    sink = {"name": f"{topic}-stdout", "connector.class": "FileStreamSink", "topics": topic}
    files = standalone.source(topic), standalone.properties("stdout.properties", sink)
    process, until = terminal(*files)
    until(lambda shown: "<1999>\r\n" in shown and DRAWN.search(shown))
    process.send_signal(signal.SIGINT)
    shown = until(lambda shown: "source-0  ended" in shown)
    assert process.wait(60) == 0
    assert all(f"<{number}>\r\n" in shown for number in range(2000))
