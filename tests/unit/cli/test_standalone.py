"""`connect standalone` and Kafka's own name for it."""

import subprocess
import sys
from pathlib import Path

import pytest

from connect.cli import _main, main


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
