"""A standalone worker that obeys the lines of its standard input and answers each with a line of JSON.

    python runner.py WORKER.properties

A wish reads {"id": 1, "do": "put", "name": "lines", "config": {...}}, its answer {"id": 1, "took": 0.2, "result": ...}
or {"id": 1, "took": 0.2, "error": "..."}, with seconds by this process's own clock; answers come as wishes are done, in
any order. The end of standard input stops the worker, and how long that took is its last word.
"""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec

from connect.herder.errors import HerderError
from connect.herder.worker_herder import WorkerHerder, standalone
from connect.settings.properties import load
from connect.settings.resolver import Resolver
from connect.settings.worker_keys import STANDALONE
from connect.storage import FileOffsetStore
from connect.telemetry import logs

STOPPED = -1  # the number of the last word


class Wishes:
    """What can be wished. Every method is one; each runs in a thread of its own."""

    def __init__(self, herder: WorkerHerder) -> None:
        self._herder = herder

    def put(self, name: str, config: dict[str, str]) -> None:
        self._herder.put_connector(name, config).result()

    def delete(self, name: str) -> None:
        self._herder.delete_connector(name).result()

    def restart(self, name: str) -> None:
        with suppress(HerderError):  # it fails once more, as its status says
            self._herder.restart_connector(name).result()

    def restart_task(self, name: str, task: int) -> None:
        self._herder.restart_task(name, task).result()

    def pause(self, name: str) -> None:
        self._herder.pause(name).result()

    def resume(self, name: str) -> None:
        self._herder.resume(name).result()

    def validate(self, config: dict[str, str]) -> Any:
        return msgspec.to_builtins(self._herder.validate(config).result())

    def offsets(self, name: str) -> list[Any]:
        stored = self._herder.worker.offsets.all(name)
        return [[dict(partition), dict(offset)] for partition, offset in stored]

    def status(self, name: str) -> dict[str, Any]:
        statuses = self._herder.worker.statuses
        connector, running = statuses.connector(name), self._herder.worker.tasks.of(name)
        return {
            "state": connector.state.value if connector else None,
            "trace": connector.trace if connector else None,
            "tasks": {
                task.task: {
                    "state": task.state.value,
                    "trace": task.trace,
                    "pid": running[task.task].process.pid if task.task in running else None,
                    "alive": task.task in running and not running[task.task].process.ended.is_set(),
                    "records": running[task.task].progress.records if task.task in running else 0,
                }
                for task in statuses.tasks(name)
            },
        }


def main(path: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else prints, the answers stay clean
    raw = dict(load(path))
    config = STANDALONE.parse(raw)
    logs.configure(config["log.level"], config["log.format"])
    offsets = FileOffsetStore(config["offset.storage.file.filename"])
    herder = standalone(raw, config, Resolver.from_worker_config(raw), offsets)
    herder.start()
    wishes = Wishes(herder)
    answering = threading.Lock()

    def fulfil(wish: dict[str, Any]) -> None:
        number, do = wish.pop("id"), wish.pop("do")
        began = time.monotonic()
        try:
            answer = {"result": getattr(wishes, do)(**wish)}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        tell(number, began, answer)

    def tell(number: int, began: float, answer: dict[str, Any]) -> None:
        with answering:
            print(json.dumps({"id": number, "took": time.monotonic() - began, **answer}), file=answers, flush=True)

    threads = ThreadPoolExecutor(64)
    with answering:
        print(json.dumps({"id": 0, "result": "ready"}), file=answers, flush=True)
    # Not sys.stdin: its buffer would be read ahead of the tasks that share it.
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            threads.submit(fulfil, json.loads(line))
    began = time.monotonic()
    herder.stop()
    tell(STOPPED, began, {"result": None})
    threads.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    main(sys.argv[1])
