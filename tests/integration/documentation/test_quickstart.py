"""docs/quickstart.md: its files and commands, one after another, in an empty folder. Only the port is another."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, our_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = (Path(__file__).parents[3] / "docs" / "quickstart.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
INSTALLATION = 3


class Terminal:
    """Runs commands as a reader of the page does."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        # A Kafka of its own: where the page says embedded, none of another test is meant.
        self.environment = {**os.environ, "CONNECT_URL": url, "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"}

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        program, *words = shlex.split(command)
        assert program == "connect"
        return subprocess.run(
            [sys.executable, "-m", "connect.cli", *words],
            cwd=self._folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def says(self, command: str) -> str:
        """What a command prints that succeeds."""
        done = self.run(command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def terminal(broker: Broker, tmp_path: Path) -> Iterator[Terminal]:
    """In a folder with the files of the page. The usual broker is asked for so that its jars and a Java are there."""
    port = free_port()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with (tmp_path / "worker.properties").open("a") as file:
        file.write(f"listeners=http://127.0.0.1:{port}\n")
    made = Terminal(tmp_path, f"http://127.0.0.1:{port}")
    start = COMMANDS[INSTALLATION]
    assert start == "connect distributed worker.properties"
    worker = WorkerProcess(
        our_command(*shlex.split(start)[1:]), tmp_path / "worker.log", cwd=tmp_path, env=made.environment
    )
    try:
        worker.start().until_answering(port, "/health/ready", within=180)
        yield made
    finally:
        worker.close()
        made.run("connect broker stop")


def test_its_commands_do_what_it_says(terminal: Terminal, tmp_path: Path) -> None:
    assert COMMANDS[INSTALLATION - 1] == "pip install 'connect-runtime[rest,broker,test]'"
    said: dict[str, str] = {}
    for command in COMMANDS[INSTALLATION + 1 :]:
        if command.startswith("connect status"):
            # What was created runs a moment later.
            until(lambda command=command: "RUNNING" in terminal.says(command), 120, every=0.5)
        if command == "connect delete --yes archive orders":
            until(lambda: (tmp_path / "archive.txt").stat().st_size > 0, 120)
        said[command] = terminal.says(command)
    assert "orderid" in said["connect tap orders --records 1"]
    (tried,) = [output for command, output in said.items() if command.startswith("connect try ")]
    assert "orderunits" in tried
    lines = (tmp_path / "archive.txt").read_text().splitlines()
    assert all(re.fullmatch(r"\{.*orderid.*itemid.*\}", line) for line in lines), lines[:3]
    assert "orders" in said["connect top --once"]
    assert terminal.run("connect broker status").returncode != 0
