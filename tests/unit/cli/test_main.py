"""The command line: what is imported, what is printed, and the exit codes."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from connect.cli import _main, main
from connect.errors import ConfigError, ConnectError
from connect.kafka.admin.answers import NO_ANSWER, AdminError
from connect.kafka.clients.errors import NotLetInError
from connect.settings.properties import ConfigFileError


@pytest.fixture
def command(monkeypatch):
    """Puts a command `try` into the table that runs the given function."""

    def put(run):
        module = SimpleNamespace(HELP="Try it.", configure=lambda parser: None, run=run)
        monkeypatch.setitem(_main.COMMANDS, "try", "try it")
        monkeypatch.setattr(_main, "_load", lambda name: module)

    return put


def raising(error):
    def run(args):
        raise error

    return run


def test_the_code_of_a_command_is_the_exit_code(command):
    command(lambda args: 3)
    assert main(["try"]) == 3


class ServerAway(Exception):
    user_message = True
    exit_code = 3


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (ConnectError("The file is gone. Restore it."), "connect: The file is gone. Restore it.", 1),
        (ConfigError("file", "is missing"), 'connect: key "file": is missing', 2),
        (ServerAway("No broker at h:1."), "connect: No broker at h:1.", 3),
        (ConfigFileError("a.json: there is no such file"), "connect: a.json: there is no such file", 2),
        (PermissionError(13, "Permission denied", "out/a.json"), "connect: out/a.json: permission denied.", 1),
    ],
)
def test_an_error_that_a_user_can_mend_is_one_line(command, capsys, error, line, code):
    command(raising(error))
    assert main(["try"]) == code
    assert capsys.readouterr().err == line + "\n"


def test_brokers_that_do_not_answer_are_unreachable_whoever_asks_them(command):
    def run(args):
        try:
            raise AdminError(NO_ANSWER, "No broker answers at h:1", passes=True)
        except AdminError as error:
            raise ConnectError("Topic t cannot be read.") from error

    command(run)
    assert main(["try"]) == 3
    command(raising(NotLetInError("Who are you?", "sasl.jaas.config")))
    assert main(["try"]) == 3
    command(raising(AdminError("TOPIC_AUTHORIZATION_FAILED", "No.", passes=False)))
    assert main(["try"]) == 1


def test_an_error_that_nobody_foresaw_names_the_way_to_its_traceback(command, capsys):
    command(raising(ValueError("what\nis this")))
    assert main(["try"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("connect: ValueError: what is this\n")
    assert "--debug" in shown
    assert "Traceback" not in shown


def test_debug_shows_the_traceback(command, capsys):
    command(raising(ConnectError("gone")))
    assert main(["try", "--debug"]) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.endswith("connect: gone\n")


def test_ctrl_c_is_no_error(command, capsys):
    command(raising(KeyboardInterrupt()))
    assert main(["try"]) == 130
    assert capsys.readouterr().err == ""


def test_options_that_do_not_go_together_are_invalid(capsys):
    assert main(["demo", "--cluster", "2"]) == 2
    assert capsys.readouterr().err == 'connect: key "--cluster": needs --only-spark.\n'


@pytest.mark.parametrize("words", [[], ["nonsense"], ["broker"], ["broker", "start", "--port", "70000"]])
def test_a_wrong_command_line_is_invalid(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_help_lists_every_command_and_imports_none():
    code = (
        "import sys\nfrom connect.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'confluent_kafka', 'kafka', 'pyarrow', 'connect.kafka', 'connect.cli.broker'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(f"    {name}" in shown for name in _main.COMMANDS)
    assert "examples:" in shown
    assert "exit codes:" in shown


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("connect-runtime ")


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path):
    (tmp_path / "broker.log").write_text("a line of a log\n" * 100_000)
    shown = subprocess.run(
        f"{sys.executable} -m connect.cli broker logs --data {tmp_path} -n 100000 | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "a line of a log\n"
    assert shown.stderr == ""


@pytest.mark.parametrize("words", [["--version"], ["list", "--help"], ["init", "--help"]])
def test_a_reader_that_is_gone_already_ends_it_quietly(words):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "connect.cli", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("words", "closed", "code", "said"),
    [
        ("broker logs", ">&-", 0, ""),
        ("broker logs", "2>&-", 0, ""),
        ("users add a --file users", "<&-", 1, "connect: There is no password."),
    ],
)
def test_a_closed_stream_is_no_error(tmp_path, words, closed, code, said):
    (tmp_path / "broker.log").write_text("a line\n")
    data = f"--data {tmp_path}" if words.startswith("broker") else ""
    command = f"exec {sys.executable} -m connect.cli {words} {data} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("stats", 'there is no command "stats". Did you mean status? See connect --help.'),
        ("metrics", 'there is no command "metrics". See connect --help.'),
    ],
)
def test_a_command_that_is_not_there_is_said_with_those_that_look_like_it(capsys, word, said):
    with pytest.raises(SystemExit, match="2"):
        main([word, "--json"])
    assert capsys.readouterr().err.endswith(f"connect: error: {said}\n")


def test_a_full_disk_behind_the_output_is_no_unexpected_error():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "connect.cli", "plugins", "list"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    said = b"connect: What the command writes has no room: no space left on device. Make room.\n"
    assert (done.returncode, done.stderr) == (1, said)
