"""`connect demo`: lines flow from a file through Kafka into another file, by the same means as everywhere else."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import connect
from connect.cli._exit import OK
from connect.errors import ConnectError
from connect.kafka import broker as embedded
from connect.storage.file_lock import FileLock, Locked

NAME = "demo"
HELP = """\
Watch lines flow from a file through a real Kafka broker into another file. It takes the property files of Kafka's own
quickstart, runs `connect standalone` with them in a temporary folder, and removes that folder at the end. The broker is
the demo's own and is stopped; what it keeps in the user's data folder makes the next time quicker."""

FILES = ("connect-standalone.properties", "connect-file-source.properties", "connect-file-sink.properties")
_LINES_BEFORE = ("foo", "bar")
_LINES_WHILE = ("a line that is appended while the worker runs", "another one", "ümläuts, 漢字 and 🚀 as well")
_MANY = 100_000
_ARRIVE_WITHIN_S = 60.0
_STOP_WITHIN_S = 30.0


class DemoError(ConnectError):
    """The demo cannot go on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def run(args: argparse.Namespace) -> int:
    """Show it, step by step."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what was started is stopped all the same
    # The worker looks for its embedded broker in the user's data folder. The demo's is inside it, beside the user's.
    data_home = embedded.default_data().parent / "demo"
    with (
        _alone(data_home),
        tempfile.TemporaryDirectory(prefix="connect-demo-") as folder,
        _broker(data_home / "connect-runtime" / "broker"),
    ):
        _show(Path(folder), {**os.environ, "XDG_DATA_HOME": str(data_home)}, began)
    _say("")
    _say("Done; nothing of it runs any more. What to try next:")
    for command in _next_commands():
        _say(f"    {command}")
    return OK


@contextmanager
def _alone(data_home: Path) -> Iterator[None]:
    """Two demos would read each other's topic."""
    data_home.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(data_home / "demo.lock")
    except Locked as other:
        raise DemoError(f"A demo runs already (process {other.pid}). Wait until it has ended.") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _broker(data: Path) -> Iterator[None]:
    """A broker as long as the demo needs it."""
    _say("1. Start Apache Kafka on this machine (the first time its jars are fetched)")
    started = time.monotonic()
    try:
        broker = embedded.ensure_running(data, say=lambda line: _say(f"   {line}"))
        _say(f"   it serves on {broker.bootstrap_servers} after {time.monotonic() - started:.1f} s")
        yield
    finally:
        embedded.stop(data)


def _show(folder: Path, environment: dict[str, str], began: float) -> None:
    _say("2. Take the property files of Kafka's quickstart")
    _copy_files(folder)
    _say(f"   {FILES[0]}   the worker")
    _say(f"   {FILES[1]}  test.txt -> topic connect-test")
    _say(f"   {FILES[2]}    topic connect-test -> test.sink.txt")
    source, sink, log = folder / "test.txt", folder / "test.sink.txt", folder / "worker.log"
    _append(source, _LINES_BEFORE)
    _say(f"3. Run them: connect standalone {' '.join(FILES)}")
    with _worker(folder, environment, log) as worker:

        def arrived() -> bool:
            """Whether the one file ends with the other: a demo that was killed may have left lines in the topic."""
            there = sink.stat().st_size if sink.exists() else 0
            return there >= source.stat().st_size and sink.read_bytes().endswith(source.read_bytes())

        _await(arrived, worker, log)
        before = " and ".join(f'"{line}"' for line in _LINES_BEFORE)
        _say(f"   {before} were in test.txt, and are in test.sink.txt {time.monotonic() - began:.1f} s after the start")
        _say("4. Append lines to test.txt while it runs")
        for line in _LINES_WHILE:
            appended = time.monotonic()
            _append(source, [line])
            _await(arrived, worker, log)
            last = sink.read_text(encoding="utf-8").splitlines()[-1]
            _say(f'   test.txt <- "{line}"')
            _say(f'   test.sink.txt -> "{last}"  ({(time.monotonic() - appended) * 1000:.0f} ms)')
        appended = time.monotonic()
        _append(source, (f"line {number} of many" for number in range(1, _MANY + 1)))
        _await(arrived, worker, log)
        _say(f"   and {_MANY:,} lines more: all there, byte for byte, after {time.monotonic() - appended:.1f} s")
        _say("5. Stop the worker and the broker")


@contextmanager
def _worker(folder: Path, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "connect.cli", "standalone", *FILES]
    with log.open("wb") as output:
        # A group of its own: Ctrl-C reaches this process alone, which then stops the worker.
        worker = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=0,
        )
    try:
        yield worker
    finally:
        worker.terminate()
        try:
            worker.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def _await(condition: Callable[[], bool], worker: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _ARRIVE_WITHIN_S
    while not condition():
        ended = worker.poll()
        if ended is None and time.monotonic() < deadline:
            time.sleep(0.01)
            continue
        print("the end of the worker's log:", file=sys.stderr)
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]:
            print(f"  {line}", file=sys.stderr)
        if ended is None:
            raise DemoError(f"The lines did not arrive within {_ARRIVE_WITHIN_S:.0f} s.")
        raise DemoError(f"The worker ended with exit code {ended}.")


def _copy_files(folder: Path) -> None:
    """Take the files as they are, but for the offsets, which are to go with the folder."""
    config = _config_folder()
    for name in FILES:
        text = (config / name).read_text(encoding="utf-8")
        text = re.sub(r"(?m)^offset\.storage\.file\.filename=.*$", "offset.storage.file.filename=connect.offsets", text)
        (folder / name).write_text(text, encoding="utf-8")


def _config_folder() -> Path:
    """Where the property files are: in the checkout, or in the installed package."""
    package = Path(connect.__file__).parent
    for folder in (package.parent / "config", package / "_config"):
        if (folder / FILES[0]).exists():
            return folder
    raise DemoError(f"{FILES[0]} is neither beside the package nor in it. Install connect-runtime again.")


def _append(path: Path, lines: Iterable[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _next_commands() -> list[str]:
    command = "connect" if shutil.which("connect") else os.path.relpath(Path(sys.prefix, "bin", "connect"))
    config = os.path.relpath(_config_folder())
    return [
        f"{command} standalone {' '.join(f'{config}/{name}' for name in FILES)}",
        "echo hello >> test.txt; cat test.sink.txt        # in another terminal, while it runs",
        f"{command} standalone --help",
        f"{command} plugins list",
        f"{command} broker --help",
    ]


def _say(line: str) -> None:
    print(line, flush=True)
