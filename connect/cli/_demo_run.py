"""What every step of the demo needs: a worker of its own, files to start from, something to wait for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import connect
from connect.cli._rest_client import RestClient
from connect.cli._statuses import reason, statuses_of
from connect.connector_states import parts
from connect.errors import ConnectError
from connect.ports import free_port
from connect.worker.guard import die_with

FILES = ("connect-standalone.properties", "connect-file-source.properties", "connect-file-sink.properties")
_ARRIVE_WITHIN_S = 60.0
_STOP_WITHIN_S = 30.0
_ASK_EVERY_S = 1.0


class DemoError(ConnectError):
    """The demo cannot go on."""


def dying_with_us() -> Callable[[], None]:
    """For `preexec_fn`: the new process is killed when this one dies, however it dies."""
    return partial(die_with, os.getpid())


@dataclass(frozen=True)
class Worker:
    """A `connect standalone` of the demo: its process, its log, and the address of its REST API."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str

    def given_up(self) -> str | None:
        """The words of the first connector or task that FAILED and is not restarted; None while there is none."""
        client = RestClient(self.url, timeout=5)
        try:
            for status in statuses_of(client):
                failed = [part for part in parts(status) if part["state"] == "FAILED"]
                if failed and not _comes_back(client, status["name"]):
                    return f"{status['name']}: {reason(failed[0])}"
        except ConnectError:
            pass  # it is starting, or ending
        return None


def _comes_back(client: RestClient, name: str) -> bool:
    """Whether something of a connector is restarted by itself, or failed so lately that this is not decided."""
    failed = [part for part in parts(client.get("connectors", name, "restarts")) if part["state"] == "FAILED"]
    return not failed or any("next_restart_ms" in part or "reason" not in part for part in failed)


@contextmanager
def worker(folder: Path, environment: dict[str, str], log: Path, files: Sequence[str] = FILES) -> Iterator[Worker]:
    """Run `connect standalone` with these files of the folder, and stop it at the end."""
    url = f"http://127.0.0.1:{free_port()}"
    with (folder / files[0]).open("a", encoding="utf-8") as settings:
        settings.write(f"\n# The usual port may be somebody else's.\nlisteners={url}\n")
    command = [sys.executable, "-m", "connect.cli", "standalone", *files]
    with log.open("wb") as output:
        # A group of its own: Ctrl-C reaches this process alone, which then stops the worker.
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=0,
            preexec_fn=dying_with_us(),  # noqa: PLW1509  there is one thread here
        )
    try:
        yield Worker(process, log, url)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_(condition: Callable[[], bool], worker: Worker, within: float = _ARRIVE_WITHIN_S) -> None:
    """Wait for what the worker does.

    Raises:
        DemoError: it ended, failed for good, or does not do it in time. The end of its log is printed.
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
