#!/usr/bin/env python3
"""What a newcomer does, by the words of the pages alone, with the wheel and nothing of a checkout, each step timed.

    .ci/newcomer.py                  here
    .ci/fresh .ci/newcomer.py        on an empty Debian 12, as a plain user

First it builds the wheel and installs it once, so that packages and Kafka are in the user's caches. Then it installs it
into a new environment, does docs/quickstart.md until the first record has come, and makes a plug-in by docs/plugins.md,
installs it for the worker that runs, and has it bring records.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = "rest,broker,test"
WORKER = "http://127.0.0.1:8083"
PATIENCE = 180.0  # seconds for anything


class Newcomer:
    """A user with a folder, an environment of Python's in it, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.worker: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        self._environment = {**os.environ, "NO_COLOR": "1"}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Say how long something took."""
        began = time.monotonic()
        yield
        now = time.monotonic()
        print(f"{now - self._began:7.1f} s   {name}: {now - began:.1f} s", flush=True)

    def begin(self) -> None:
        """From here on the clock counts."""
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def enter(self, environment: Path) -> None:
        """Make an environment and use it, as `. bin/activate` does."""
        self.run(f"{shlex.quote(sys.executable)} -m venv {environment}")
        self._environment["PATH"] = f"{environment / 'bin'}:{os.environ['PATH']}"

    def run(self, command: str) -> str:
        """What a command prints, which must succeed."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{command} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start_worker(self, command: str) -> None:
        """Until it answers that it is ready."""
        with (self.folder / "worker.log").open("ab") as log:
            self.worker = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self._environment, stdout=log, stderr=log
            )
        self.until(_ready, "the worker is not ready")

    def stop_worker(self) -> None:
        """In order, as `kill` does."""
        if self.worker is not None:
            self.worker.terminate()
            self.worker.wait(PATIENCE)
            self.worker = None

    def until(self, holds: Callable[[], bool], otherwise: str) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end or (self.worker is not None and self.worker.poll() is not None):
                sys.exit(f"{otherwise}; its log:\n{(self.folder / 'worker.log').read_text()}")
            time.sleep(0.1)


def _get(path: str) -> bytes:
    with urllib.request.urlopen(WORKER + path, timeout=5) as answer:  # noqa: S310, it is http
        body: bytes = answer.read()
    return body


def _ready() -> bool:
    with suppress(OSError):
        return bool(_get("/health/ready"))
    return False


def _has_started(connector: str) -> bool:
    tasks = json.loads(_get(f"/connectors/{connector}/status"))["tasks"]
    return {each["state"] for each in tasks} == {"RUNNING"}


def quickstart(newcomer: Newcomer, wheel: Path) -> None:
    """Everything of the page until the first record."""
    newcomer.begin()
    with newcomer.step("a new environment"):
        newcomer.enter(newcomer.folder / "connect")
    with newcomer.step(f"pip install 'connect-runtime[{EXTRAS}]'"):
        newcomer.run(f"pip install '{wheel}[{EXTRAS}]'")
    page = newcomer.run("connect docs quickstart")
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL):
        (newcomer.folder / name).parent.mkdir(exist_ok=True)
        (newcomer.folder / name).write_text(text)
    assert f"pip install 'connect-runtime[{EXTRAS}]'" in page
    with newcomer.step("connect distributed worker.properties, until it is ready"):
        newcomer.start_worker("connect distributed worker.properties")
    commands = next(block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "connect tap orders" in block)
    for command in commands.splitlines():
        with newcomer.step(command):
            said = newcomer.run(command)
    assert "orderid" in said
    print(f"{newcomer.seconds():7.1f} s   the first record has come", flush=True)


def plugin(newcomer: Newcomer) -> None:
    """Make one, test it, install it for the worker, and read what it brings."""
    page = newcomer.run("connect docs plugins")
    newcomer.begin()
    make, install = re.findall(r"^    (connect init plugin orders .*)\n    (cd orders && .*)$", page, re.MULTILINE)[0]
    with newcomer.step(make):
        newcomer.run(make)
    with newcomer.step(install):
        tested = newcomer.run(install)
    assert " passed" in tested, tested
    with newcomer.step("the worker is started again"):
        newcomer.stop_worker()
        newcomer.start_worker("connect distributed worker.properties")
    with newcomer.step("connect plugins list"):
        assert "OrdersSourceConnector" in newcomer.run(f"connect plugins list --url {WORKER}")
    readme = (newcomer.folder / "orders" / "README.md").read_text()
    properties = re.search(r"# source\.properties\n((?:    \S.*\n)+)", readme)
    assert properties is not None
    source = newcomer.folder / "in.txt"
    source.write_text("the first line\n")
    (newcomer.folder / "source.properties").write_text(re.sub(r"(?m)^ +", "", properties[1]) + f"file={source}\n")
    with newcomer.step("connect apply --yes -f source.properties"):
        newcomer.run("connect apply --yes -f source.properties")
    with newcomer.step("its task runs"):
        newcomer.until(lambda: _has_started("lines"), "the plug-in's task does not run")
    with newcomer.step("connect tap lines --records 1"):
        tap = f"(sleep 1; echo 'the second line' >> {source}) & connect tap lines --records 1"
        assert "the second line" in newcomer.run(tap)
    print(f"{newcomer.seconds():7.1f} s   the plug-in serves", flush=True)


def main() -> None:
    """All of it; ends with 0 when everything came."""
    with tempfile.TemporaryDirectory() as folder:
        before, newcomer = Newcomer(Path(folder)), Newcomer(Path(folder) / "quickstart")
        newcomer.folder.mkdir()
        with before.step("the wheel, and what it needs, into the caches"):
            before.enter(before.folder / "before")
            before.run(f"pip wheel --no-deps --wheel-dir dist {ROOT}")
            (wheel,) = (before.folder / "dist").glob("*.whl")
            before.run(f"pip install '{wheel}[{EXTRAS},testing]' hatchling mypy ruff")
            before.run("connect broker start && connect broker stop")
        try:
            quickstart(newcomer, wheel)
            plugin(newcomer)
            newcomer.run("connect delete --yes lines orders")
        finally:
            newcomer.stop_worker()
            newcomer.run("connect broker stop || true")


if __name__ == "__main__":
    main()
