"""A worker that a command runs for itself: started from files, used over REST, stopped at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from connect.cli._rest_client import RestClient
from connect.cli._statuses import reason, statuses_of
from connect.connector_states import parts
from connect.errors import ConnectError
from connect.ports import free_port
from connect.worker.guard import die_with

_STOP_WITHIN_S: Final = 30.0


def dying_with_us() -> Callable[[], None]:
    """For `preexec_fn`: the kernel kills the new process when this one dies."""
    return partial(die_with, os.getpid())


@dataclass(frozen=True)
class Worker:
    """A `connect standalone` of a command's own: its process, its log, and the address of its REST API."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str

    def given_up(self) -> str | None:
        """The error of the first connector or task that FAILED and is not restarted; None while there is none."""
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
    """Whether a part of a connector is restarted automatically, or failed so recently that this is not decided."""
    failed = [part for part in parts(client.get("connectors", name, "restarts")) if part["state"] == "FAILED"]
    return not failed or any("next_restart_ms" in part or "reason" not in part for part in failed)


@contextmanager
def worker(folder: Path, environment: dict[str, str], log: Path, files: Sequence[str]) -> Iterator[Worker]:
    """Run `connect standalone` in a folder with these files, the worker's first, and stop it at the end."""
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
