"""A real worker in a process of its own, seen from the tests that kill it and its children."""

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from tests.support.processes import is_running
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, last_words

RUNNER = Path(__file__).with_name("runner.py")
PLUGINS = Path(__file__).with_name("plugins")
STOPPED = -1  # the number of its last word, see runner.py

TEXT = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


def unruly(folder: Path, kind: str = "UnrulySource", **config: str) -> dict[str, str]:
    return {
        "connector.class": f"unruly.{kind}",
        "folder": str(folder),
        **{key.replace("_", "."): value for key, value in config.items()},
    }


def hanging_pid(folder: Path, name: str) -> int:
    """The process that hangs, once it does."""
    note = folder / f"hangs-{name}"
    return int(until(lambda: note.exists() and note.read_text(), 30, f"{name} hangs"))


def notes(folder: Path, name: str, task: int = 0) -> list[dict[str, Any]]:
    """The writes that a task noted down."""
    path = folder / f"writes-{name}-{task}"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Worker:
    """A worker on one offset file, started and restarted.

    Args:
        folder: for its properties, its offsets and its log.
        bootstrap: the brokers.
        properties: of the worker, beyond those that all of these tests have.
    """

    def __init__(self, folder: Path, bootstrap: str, **properties: str) -> None:
        self.folder = folder
        self.log = folder / "worker.log"
        self.connectors: dict[str, dict[str, str]] = {}
        self._properties = folder / "worker.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(1)
        self.took = 0.0
        values = {
            "bootstrap.servers": bootstrap,
            "offset.storage.file.filename": str(folder / "offsets"),
            "offset.flush.interval.ms": "200",
            "plugin.path": str(PLUGINS),
            "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
            **TEXT,
            **{key.replace("_", "."): value for key, value in properties.items()},
        }
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in values.items()))

    # Its life.

    def start(self) -> "Worker":
        """Start it, with all connectors that it was given before."""
        command = [sys.executable, str(RUNNER), str(self._properties)]
        started = WorkerProcess(command, self.log, stdin=subprocess.PIPE, stdout=subprocess.PIPE).start()
        self._process = started.process
        self._rest, self._answers = b"", {}
        self._answer(0, 30)
        for name, config in self.connectors.items():
            self.ask("put", name=name, config=config)
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End it as a power cut of one process does, and wait until it and all its children are gone."""
        family = self.family()
        self._end(signal.SIGKILL)
        until(lambda: not any(map(is_running, family)), 20, f"the worker's children {family} die with it")

    def stop(self, within: float = 60) -> float:
        """Ask it to stop. Returns how long it took, in seconds, by its own clock, without the end of its process."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        took = float(self._answer(STOPPED, within)["took"])
        self._process.wait(within)
        self._end(signal.SIGKILL)
        return took

    def _end(self, number: int) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(number)
        process.wait(20)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        self._process = None

    # Its connectors.

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector; it is created again whenever the worker starts."""
        self.connectors[name] = {"name": name, "tasks.max": "1", **config}
        self.ask("put", name=name, config=self.connectors[name])

    def delete(self, name: str) -> None:
        """Delete a connector for good."""
        self.ask("delete", name=self.connectors.pop(name)["name"])

    def ask(self, do: str, *, within: float = 120, **wish: Any) -> Any:
        """Have something done, and wait for it. Raises `AssertionError` with the worker's error."""
        return self.answer(self.begin(do, **wish), within)

    def begin(self, do: str, **wish: Any) -> int:
        """Have something done, without waiting. The number is for `answer`."""
        assert self._process is not None
        assert self._process.stdin is not None
        number = next(self._numbers)
        self._process.stdin.write(json.dumps({"id": number, "do": do, **wish}).encode() + b"\n")
        self._process.stdin.flush()
        return number

    def answer(self, number: int, within: float = 120) -> Any:
        """Wait for what was begun. `took` says then how long it took, by the worker's own clock."""
        answer = self._answer(number, within)
        assert "error" not in answer, answer["error"]
        self.took = float(answer["took"])
        return answer["result"]

    def _answer(self, number: int, within: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + within
        while number not in self._answers:
            left = deadline - time.monotonic()
            assert left > 0, f"no answer within {within:g} s\n{self.last_words()}"
            if select.select([self._process.stdout], [], [], left)[0]:
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                assert data, f"the worker ended\n{self.last_words()}"
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._answers.update((answer["id"], answer) for answer in map(json.loads, lines))
        return self._answers.pop(number)

    def status(self, name: str) -> dict[str, Any]:
        return self.ask("status", name=name)  # type: ignore[no-any-return]

    def task(self, name: str, number: int = 0) -> dict[str, Any]:
        """A task's state, trace, pid."""
        found: dict[str, Any] = self.status(name)["tasks"].get(str(number), {})
        return {"state": None, "trace": None, "pid": None, "alive": False, "records": 0, **found}

    def await_task(self, name: str, state: str, within: float = 30, number: int = 0) -> dict[str, Any]:
        """Wait until a task is in this state."""
        until(
            lambda: self.task(name, number)["state"] == state,
            within,
            lambda: f"{name}-{number} is {state}: {self.status(name)}\n{self.last_words()}",
        )
        return self.task(name, number)

    # Its processes.

    def server_pid(self) -> int | None:
        """The fork server."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "multiprocessing.forkserver" in " ".join(child.cmdline()):
                        return child.pid
        return None

    def forked(self) -> list[int]:
        """The children of the fork server: tasks and connectors' hosts."""
        server = self.server_pid()
        with contextlib.suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(server).children()] if server else []
        return []

    def task_pids(self) -> list[int]:
        """The processes of all tasks that run."""
        tasks = [task for name in self.connectors for task in self.status(name)["tasks"].values()]
        return [task["pid"] for task in tasks if task["alive"]]

    def host_pids(self) -> list[int]:
        """The processes of connectors."""
        return sorted(set(self.forked()) - set(self.task_pids()))

    def family(self) -> list[int]:
        """The worker, the fork server and everything that it forked."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return [self.pid, *(child.pid for child in psutil.Process(self.pid).children(recursive=True))]
        return []

    def last_words(self) -> str:
        return last_words(self.log)


@contextlib.contextmanager
def running(worker: Worker) -> Iterator[Worker]:
    """A worker that runs, and leaves nothing behind."""
    family: list[int] = []
    try:
        yield worker.start()
    finally:
        if worker._process is not None:
            family = worker.family()
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGCONT)
            worker._end(signal.SIGKILL)
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
