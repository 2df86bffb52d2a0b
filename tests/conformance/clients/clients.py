"""Clients that others wrote: how each is installed, at the version and with the sums that stand in its folder, and run.

In the folder of a client is a program that drives it: it takes operations as lines of JSON and answers each with what
the client returned or raised. Installed once into the user's cache, from wherever the tool of its language fetches.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connect.jvm.cache import cache_path
from tests.servers.own_process import staging
from tests.support.java import JavaProgram

HERE = Path(__file__).parent
MINUTES_5 = 300


class ClientUnavailable(Exception):
    """A client cannot be had. The message says why."""


@dataclass(frozen=True)
class Program:
    """What drives a client: a command to which the worker's address is added, and what its environment has more."""

    command: list[str]
    environment: Mapping[str, str]

    @contextmanager
    def driving(self, url: str, log: Path) -> Iterator[Callable[[Mapping[str, Any]], dict[str, Any]]]:
        """Start it against a worker. Gives a function that has the client do one thing, and returns what came of it."""
        with (
            log.open("wb") as errors,
            subprocess.Popen(
                [*self.command, url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **self.environment},
                text=True,
            ) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            to, answers = process.stdin, process.stdout

            def do(ask: Mapping[str, Any]) -> dict[str, Any]:
                to.write(json.dumps(ask) + "\n")
                to.flush()
                line = answers.readline()
                assert line, f"the client ended at {ask}:\n{log.read_text(errors='replace')}"
                found: dict[str, Any] = json.loads(line)
                return found

            yield do


def _of_pypi(folder: Path) -> Program:
    def install(target: Path) -> None:
        # What it needs besides, requests, is here already: jgo needs it too.
        options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
        requirements = str(folder / "requirements.txt")
        _run([sys.executable, "-m", "pip", "install", *options, "--target", str(target), "-r", requirements], target)

    installed = _once(folder, ["requirements.txt"], install)
    return Program([sys.executable, str(folder / "drive.py")], {"PYTHONPATH": str(installed)})


def _of_npm(folder: Path) -> Program:
    node, npm = _tool("node", "Node.js"), _tool("npm", "npm")

    def install(target: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, target)
        _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], target)

    installed = _once(folder, ["package-lock.json"], install)
    return Program([node, str(folder / "drive.mjs")], {"CLIENT_FOLDER": str(installed)})


def _of_maven(folder: Path, java_program: Callable[..., JavaProgram]) -> Program:
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    made = java_program(folder / "Drive.java", jars=["connect-client-java"], options=[quiet])
    return Program(made.command, {})


def _of_go(folder: Path) -> Program:
    go = _tool("go", "Go")

    def install(target: Path) -> None:
        _run([go, "build", "-mod=readonly", "-o", str(target / "drive"), "."], folder)

    return Program([str(_once(folder, ["go.sum", "main.go"], install) / "drive")], {})


#: The clients by their names, each with what makes its program, given the fixture that compiles programs of Java.
#: Raises ClientUnavailable.
CLIENTS: dict[str, Callable[[Callable[..., JavaProgram]], Program]] = {
    "kafka-connect-py (PyPI)": lambda _: _of_pypi(HERE / "kafka_connect_py"),
    "kafka-connect-api (PyPI)": lambda _: _of_pypi(HERE / "kafka_connect_api"),
    "kafka-connect-client (npm)": lambda _: _of_npm(HERE / "npm"),
    "kafka-connect-client (Maven)": lambda java_program: _of_maven(HERE / "java", java_program),
    "go-kafka/connect (Go)": lambda _: _of_go(HERE / "go"),
}


def _once(folder: Path, locks: list[str], install: Callable[[Path], None]) -> Path:
    """Where a client is installed: once for what its lock files say, whichever process is first."""
    sums = hashlib.sha256(b"".join((folder / name).read_bytes() for name in locks)).hexdigest()
    installed = cache_path("test-clients") / f"{folder.name}-{sys.implementation.cache_tag}-{sums[:16]}"
    with staging(installed.parent, folder.name) as parent:
        if not installed.is_dir():
            made = parent / "client"
            made.mkdir()
            install(made)
            made.rename(installed)
    return installed


def _tool(name: str, called: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ClientUnavailable(f'there is no "{name}" on the PATH: install {called}')
    return found


def _run(command: list[str], folder: Path) -> None:
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MINUTES_5,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClientUnavailable(f"{name} did not end within {MINUTES_5} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ClientUnavailable(f"{name} failed: {said[-1] if said else done.returncode}")
