"""What every step of the demo needs: initial files, and waiting for a result."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import connect
from connect.cli._own_worker import Worker
from connect.errors import ConnectError

FILES = ("connect-standalone.properties", "connect-file-source.properties", "connect-file-sink.properties")
_ARRIVE_WITHIN_S = 60.0
_ASK_EVERY_S = 1.0


class DemoError(ConnectError):
    """The demo cannot continue."""


def await_(condition: Callable[[], bool], worker: Worker, within: float = _ARRIVE_WITHIN_S) -> None:
    """Wait for a result of the worker.

    Raises:
        DemoError: it ended, failed for good, or took too long. The end of its log is printed.
    """
    deadline = time.monotonic() + within
    asked = time.monotonic()
    while not condition():
        now = time.monotonic()
        ended, why = worker.process.poll(), None
        if ended is None and now - asked >= _ASK_EVERY_S:
            asked, why = now, worker.given_up()
        if ended is None and why is None and now < deadline:
            time.sleep(0.01)
            continue
        print("the end of the worker's log:", file=sys.stderr)
        for line in worker.log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]:
            print(f"  {line}", file=sys.stderr)
        if why is not None:
            raise DemoError(f"It cannot go on. {why}")
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
    """The folder of the property files: in the checkout, or in the installed package."""
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
