"""Connectors that misbehave where and how their configuration says, and note down each write that they start.

Keys: hang.in (where to hang), hang.how (python: asleep; c: the interpreter is held), fail.at (the value that put does
not take), fail.task_configs (whether the work cannot be cut), tasks (into how many it is), folder (for notes).
"""

import contextlib
import ctypes
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from connect import (
    Offsets,
    SinkBatch,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
    Transformation,
)

#: How much longer a write of a sink takes while there is a file `slow` among the notes, as on a disk that is busy.
SLOW_S = 0.5


def hang(config: Mapping[str, str], place: str) -> None:
    """Never return, if the configuration says to hang here. A note says that it has begun."""
    if config.get("hang.in") != place:
        return
    Path(config["folder"], f"hangs-{config['name']}").write_text(str(os.getpid()))
    while True:
        if config.get("hang.how") == "c":
            ctypes.PyDLL(None).sleep(3600)  # a PyDLL keeps the interpreter's lock: no other thread runs
        else:
            time.sleep(3600)


class Notes:
    """The writes of a task: a line when one starts and one when it ended, by a clock that all processes share."""

    def __init__(self, config: Mapping[str, str], task: int) -> None:
        path = Path(config["folder"], f"writes-{config['name']}-{task}")
        before = path.read_bytes().splitlines() if path.exists() else []
        self._others = {int(json.loads(line)["pid"]) for line in before} - {os.getpid()}
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @contextlib.contextmanager
    def write(self, **about: Any) -> Iterator[None]:
        self._note("begins", about)
        yield
        self._note("ended", about)

    def _note(self, what: str, about: Mapping[str, Any]) -> None:
        alone = not any(map(_runs, self._others))
        at = time.clock_gettime(time.CLOCK_BOOTTIME)
        note = {"what": what, "pid": os.getpid(), "at": at, "alone": alone, **about}
        os.write(self._file, json.dumps(note).encode() + b"\n")


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


class UnrulySourceTask(SourceTask):
    """A record every `every.ms` milliseconds: its number."""

    def start(self, config: Mapping[str, str]) -> None:
        self._config = config
        hang(config, "start")
        self._notes = Notes(config, self.context.task_id)
        self._next = (self.context.offset({"source": "numbers"}) or {"next": 0})["next"]

    def poll(self) -> list[SourceRecord]:
        hang(self._config, "poll")
        with self._notes.write(number=self._next):
            time.sleep(int(self._config.get("every.ms", "20")) / 1000)
            number, self._next = self._next, self._next + 1
        return [
            SourceRecord(
                topic=self._config["topic"],
                value=str(number),
                source_partition={"source": "numbers"},
                source_offset={"next": number + 1},
            )
        ]

    def stop(self) -> None:
        hang(self._config, "stop")


class UnrulySource(SourceConnector):
    """A connector with one task; or with as many as `tasks` says, whatever it may have."""

    task = UnrulySourceTask

    def start(self, config: Mapping[str, str]) -> None:
        hang(config, "connector.start")
        super().start(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        hang(self.config, "task_configs")
        if "fail.task_configs" in self.config:
            raise OSError("the work cannot be cut")
        return [dict(self.config)] * int(self.config.get("tasks", "1"))

    def validate(self, config: Mapping[str, str]) -> Any:
        hang(config, "validate")
        return super().validate(config)

    def stop(self) -> None:
        hang(self.config, "connector.stop")


class WellBehavedSource(UnrulySource):
    """The same in a host process of its own."""


class UnrulySinkTask(SinkTask):
    def start(self, config: Mapping[str, str]) -> None:
        self._config = config
        hang(config, "start")
        self._notes = Notes(config, self.context.task_id)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        hang(self._config, "open")

    def pre_commit(self, offsets: Offsets) -> Offsets:
        hang(self._config, "pre_commit")
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        hang(self._config, "close")

    def put(self, batch: SinkBatch) -> None:
        if len(batch):
            hang(self._config, "put")
        values = [str(record.value) for record in batch]
        if self._config.get("fail.at") in values:
            raise OSError("the target is on fire")
        with self._notes.write(values=values):
            time.sleep(int(self._config.get("every.ms", "20")) / 1000)
            if Path(self._config["folder"], "slow").exists():
                time.sleep(SLOW_S)

    def stop(self) -> None:
        hang(self._config, "stop")


class UnrulySink(SinkConnector):
    task = UnrulySinkTask

    def start(self, config: Mapping[str, str]) -> None:
        hang(config, "connector.start")
        super().start(config)


class Slow(Transformation):
    """Lets records through unchanged, some thousands a second, so that there is time to attack."""

    _seen = 0

    def apply(self, record: Any) -> Any:
        self._seen += 1
        if self._seen % 50 == 0:
            time.sleep(0.004)
        return record


class Leaky(Transformation):
    """Keeps 100 bytes of each record forever."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def apply(self, record: Any) -> Any:
        self._kept.append(bytes(60))  # with its header and its place in the list
        return record
