"""What the Tab key completes."""

import os
import shutil
import subprocess
import sys

import pytest

from connect.cli import main
from connect.cli._main import COMMANDS
from connect.cli.completion import FILES, candidates


@pytest.fixture
def cluster(server):
    server.answers["GET /connectors"] = (200, ["orders", "order lines", "customers", "a:b"])
    server.answers["GET /admin/loggers"] = (200, {"root": {}, "org.x": {}})
    return server


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("des", ["describe"]),
        ("nonsense x", []),
        ("offsets ", ["get", "reset", "set"]),
        ("offsets s", ["set"]),
        ("offsets get o", ["order lines", "orders"]),
        ("offsets get --c", ["--ca", "--cacert", "--cert"]),
        ("offsets get --u", ["--url", "--user"]),
        ("pause cust", ["customers"]),
        ("pause customers ", ["a:b", "order lines", "orders"]),
        ("get customers ", []),
        ("get --json o", ["order lines", "orders"]),
        ("restart --task ", []),
        ("restart --task 1 c", ["customers"]),
        ("restart --ta", ["--task", "--tasks"]),
        ("logs level ", ["org.x", "root"]),
        ("logs level root D", ["DEBUG"]),
        ("apply -f ", [FILES]),
        ("apply -f a.json b", [FILES]),
        ("apply -f a.json --d", ["--debug", "--dry-run"]),
        ("list --ca ", [FILES]),
        ("offsets set orders -f ", [FILES]),
        ("doctor ", [FILES]),
        ("doctor worker.properties --connector a.json ", [FILES]),
        ("completion ", ["bash", "fish", "zsh"]),
    ],
)
def test_the_next_word_is_completed(cluster, words, found):
    assert candidates(words.split(" ")) == found


def test_every_command_is_completed(cluster):
    assert candidates([""]) == sorted(COMMANDS)
    assert cluster.asked == []


def test_the_cluster_that_the_words_name_is_asked(cluster, monkeypatch):
    monkeypatch.setenv("CONNECT_URL", "http://127.0.0.1:1")
    assert candidates(["get", "o"]) == []
    assert candidates(["get", "--url", cluster.url, "o"]) == ["order lines", "orders"]
    assert candidates(["get", "--url", "nonsense", "o"]) == []


def test_only_known_shells_have_a_script(capsys):
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert "completion --words" in capsys.readouterr().out
    for words in (["tcsh"], []):
        with pytest.raises(SystemExit) as ended:
            main(["completion", *words])
        assert ended.value.code == 2


@pytest.fixture
def program(tmp_path):
    """A folder with the program `connect`, to go onto the PATH."""
    program = tmp_path / "connect"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m connect.cli "$@"\n')
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("connect des", ["describe"]),
        ("connect pause cu", ["customers"]),
        ("connect get --url {url} cu", ["customers"]),
        ("connect get order", [r"order\ lines", "orders"]),
        ("connect get a:", ["b"]),
        ("connect status zzz", []),  # what was typed stays
        ("connect bogus", []),
        ("connect apply -f ", []),
    ],
)
def test_bash_completes_with_the_script(cluster, program, monkeypatch, line, found):
    if not (bash := shutil.which("bash")):
        pytest.skip("there is no bash")
    line = line.format(url=cluster.url)
    # Bash itself splits the line into words, as at a prompt. `compopt` works only there.
    script = """
        compopt() { echo "compopt $*" >&2; }
        eval "$(connect completion bash)"
        COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
        _connect_complete connect
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    words = _as_bash_splits(line)
    environment = {**os.environ, "PATH": f"{program}:{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "-c", script, "bash", line, *words], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:-1] == (found or [""])
    assert ("compopt -o default" in done.stderr) == line.endswith("-f ")


def _as_bash_splits(line):
    """COMP_WORDS: blanks separate, and every colon or equals sign is a word of its own."""
    words = [""]
    for char in line:
        if char == " ":
            words.append("")
        elif char in ":=":
            words += [char, ""]
        else:
            words[-1] += char
    kept = [word for word in words[:-1] if word]
    return [*kept, words[-1]] if words[-1] or line.endswith(" ") else kept


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_is_what_the_shell_can_read(program, shell):
    if not (found := shutil.which(shell)):
        pytest.skip(f"there is no {shell}")
    script = subprocess.run([program / "connect", "completion", shell], capture_output=True, text=True, check=True)
    subprocess.run([found, "-n"], input=script.stdout, text=True, check=True)
