"""A worker in a process of its own, in tests: started as its users start it, seen through its log, and ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import psutil

from tests.servers.own_process import kill_tree
from tests.support.rest import answers
from tests.support.waiting import until

#: Seconds. Generous: it ends a run that hangs, and measures nothing.
PATIENCE_S = 90.0


def our_command(mode: str, *files: str | Path) -> list[str]:
    """The command that runs a worker of ours, `standalone` or `distributed`, with these property files."""
    return [sys.executable, "-m", "connect.cli", mode, *map(str, files)]


def last_words(log: Path, lines: int = 40) -> str:
    """The end of a log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


class WorkerProcess:
    """A worker, in a session of its own, that may be started again after its end. Its standard input is closed.

    Args:
        command: what runs it; `our_command`, or that of another worker.
        log: the file for what it says, which every start goes on with.
        options: for `subprocess.Popen`, beyond these or instead.
    """

    def __init__(self, command: Sequence[str | Path], log: Path, **options: Any) -> None:
        self.log_file = log
        self._command = command
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it, and wait for nothing."""
        with self.log_file.open("ab") as log:
            options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **self._options}
            self._process = subprocess.Popen(self._command, start_new_session=True, **options)
        return self

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that was started last."""
        assert self._process is not None, "it was never started"
        return self._process

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def until(self, condition: Callable[[], Any], within: float = PATIENCE_S, what: str = "it does not happen") -> None:
        """Wait for something that the worker does. Fails with the log's end, and at once when the worker has ended."""

        def holds() -> bool:
            if condition():
                return True
            code = self.process.poll()
            assert code is None, f"the worker ended with {code}; the log:\n{last_words(self.log_file, 200)}"
            return False

        until(holds, within, lambda: f"{what}; the log:\n{last_words(self.log_file, 200)}", every=0.02)

    def until_logged(self, text: str) -> None:
        self.until(lambda: text in self.log)

    def until_answering(self, port: int, path: str = "/health", within: float = PATIENCE_S) -> None:
        """Wait until its REST API, at this port, has a good answer at this path."""
        self.until(lambda: answers(port, path), within, f"no answer at port {port}")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, within: float = PATIENCE_S) -> int:
        """Have it end in good order. Returns its exit code. What takes longer is killed, and an error."""
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end within {within:g} s:\n{last_words(self.log_file, 200)}") from None
        finally:
            self.kill_tree()

    def kill(self) -> None:
        """Kill it, and nothing that it has started."""
        self.process.kill()
        self.process.wait()

    def kill_tree(self) -> None:
        """Kill it with all that it has started, if it still runs."""
        if self.alive:
            kill_tree(psutil.Process(self.process.pid))
            self.process.wait()

    def close(self, within: float = 30) -> None:
        """End it, whatever state it is in: in good order if it does so in so many seconds, else as `kill_tree`."""
        if not self.alive:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill_tree()
