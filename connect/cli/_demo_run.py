"""What every step of the demo needs: a worker of its own, files to start from, something to wait for."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import connect
from connect.errors import ConnectError

FILES = ("connect-standalone.properties", "connect-file-source.properties", "connect-file-sink.properties")
_ARRIVE_WITHIN_S = 60.0
_STOP_WITHIN_S = 30.0


class DemoError(ConnectError):
    """The demo cannot go on."""


@contextmanager
def worker(
    folder: Path, environment: dict[str, str], log: Path, files: Sequence[str] = FILES
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "connect.cli", "standalone", *files]
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


def await_(
    condition: Callable[[], bool], worker: subprocess.Popen[bytes], log: Path, within: float = _ARRIVE_WITHIN_S
) -> None:
    deadline = time.monotonic() + within
    while not condition():
        ended = worker.poll()
        if ended is None and time.monotonic() < deadline:
            time.sleep(0.01)
            continue
        print("the end of the worker's log:", file=sys.stderr)
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]:
            print(f"  {line}", file=sys.stderr)
        if ended is None:
            raise DemoError(f"The lines did not arrive within {within:.0f} s.")
        raise DemoError(f"The worker ended with exit code {ended}.")


def copy_changed(name: str, folder: Path, changes: Mapping[str, str], new_name: str | None = None) -> str:
    """Copy a file of config/ into a folder, with other values for some of its keys. Returns its text."""
    text = (config_folder() / name).read_text(encoding="utf-8")
    for key, value in changes.items():
        line, pattern = f"{key}={value}", rf"(?m)^{re.escape(key)}=.*$"
        escaped = line.replace("\\", r"\\")
        text = re.sub(pattern, escaped, text) if re.search(pattern, text) else f"{text}\n{line}\n"
    (folder / (new_name or name)).write_text(text, encoding="utf-8")
    return text


def config_folder() -> Path:
    """Where the property files are: in the checkout, or in the installed package."""
    package = Path(connect.__file__).parent
    for folder in (package.parent / "config", package / "_config"):
        if (folder / FILES[0]).exists():
            return folder
    raise DemoError(f"{FILES[0]} is neither beside the package nor in it. Install connect-runtime again.")


def append(path: Path, lines: Iterable[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def say(line: str) -> None:
    print(line, flush=True)
