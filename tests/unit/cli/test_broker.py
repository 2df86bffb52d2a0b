"""`connect broker` where none runs."""

import json
import signal
import subprocess
import sys

import pytest

from connect.cli import main


@pytest.fixture
def broker_command(tmp_path):
    return lambda *words: main(["broker", *words, "--data", str(tmp_path / "data")])


def test_status_of_none_is_unreachable_and_says_how_to_start(broker_command, capsys):
    assert broker_command("status") == 3
    assert "start it with: connect broker start" in capsys.readouterr().out


def test_status_as_json(broker_command, capsys):
    assert broker_command("status", "--json") == 3
    assert json.loads(capsys.readouterr().out) == {"running": False}


def test_a_broker_that_ended_by_itself_is_told_from_one_that_was_stopped(broker_command, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "broker.pid").write_text("1")
    assert broker_command("status") == 3
    assert "ended without being stopped" in capsys.readouterr().out


def test_stop_of_none_is_done(broker_command, capsys):
    assert broker_command("stop") == 0
    assert "no broker was running" in capsys.readouterr().out


def test_logs_shows_the_last_lines(broker_command, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "broker.log").write_text("one\ntwo\nthree\n")
    assert broker_command("logs", "--lines", "2") == 0
    assert capsys.readouterr().out == "two\nthree\n"


def test_logs_are_followed_into_the_log_of_the_next_broker(tmp_path):
    log = tmp_path / "broker.log"
    log.write_text("one\n")
    command = [sys.executable, "-m", "connect.cli", "broker", "logs", "--data", str(tmp_path), "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        try:
            assert following.stdout.readline() == "one\n"
            with log.open("a") as file:
                file.write("two\n")
            log.replace(tmp_path / "broker.log.1")
            log.write_text("three\n")
            assert [following.stdout.readline() for _ in range(2)] == ["two\n", "three\n"]
        finally:
            following.send_signal(signal.SIGINT)


def test_logs_of_none_fails_in_one_line(broker_command, capsys):
    assert broker_command("logs") == 1
    assert "no broker has run in" in capsys.readouterr().err
