"""`connect standalone` and Kafka's own name for it."""

import contextlib
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path
from types import SimpleNamespace

import pytest

from connect.cli import _main, main
from connect.cli._worker import _REDRAW_EVERY_S, _REPORT_EVERY_S, _watch
from connect.storage import MemoryStatusStore


def test_kafka_s_own_name_is_the_same_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["connect-standalone", "--help"])
    with pytest.raises(SystemExit) as ended:
        _main.standalone_main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: connect standalone")


def test_without_files_the_command_line_is_invalid(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["standalone"])
    assert ended.value.code == 2
    assert "WORKER.properties" in capsys.readouterr().err


def test_its_name_is_installed():
    command = Path(sys.executable).with_name("connect-standalone")
    shown = subprocess.run([command, "absent.properties"], capture_output=True, text=True, check=False)
    assert shown.returncode == 2
    assert shown.stderr.startswith("absent.properties: there is no such file")


def test_a_worker_outlives_its_terminal(monkeypatch):
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    looks = []

    class Stop:
        def wait(self, seconds):
            looks.append(seconds)
            if len(looks) == 2:
                os.close(master)
            return len(looks) == 4

    worker = SimpleNamespace(statuses=MemoryStatusStore(), tasks=None)
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.suppress(OSError), os.fdopen(slave, "w") as terminal:  # closing it fails as well
        monkeypatch.setattr(sys, "stderr", terminal)
        _watch(SimpleNamespace(worker=worker), Stop())
    assert looks == [_REDRAW_EVERY_S, _REDRAW_EVERY_S, _REPORT_EVERY_S, _REPORT_EVERY_S]
