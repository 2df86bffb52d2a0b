"""A source and a sink whose tasks have the faults that files of their folder tell of, and note each start."""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from connect import (
    ConfigError,
    ConnectError,
    SinkBatch,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
)


class Faults:
    """The folder of a connector: `fault-<number>` holds a word, `starts-<number>` a line for each start."""

    def __init__(self, config: Mapping[str, str], number: str) -> None:
        folder = Path(config["folder"])
        self.file = folder / f"fault-{number}"
        with (folder / f"starts-{number}").open("a") as starts:
            starts.write(f"{os.getpid()}\n")

    def strike(self) -> None:
        """Have what the file says happen. While it says `block`, this does not return."""
        while True:
            fault = self.file.read_text() if self.file.exists() else ""
            if fault != "block":
                break
            time.sleep(0.02)
        if fault == "busy":
            until = time.process_time() + 0.2
            while time.process_time() < until:
                pass
        if fault == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "fire":
            raise ConnectError("the target is on fire")
        if fault == "config":
            raise ConfigError("folder", "is no good. Write another one.")


class FrailTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.faults = Faults(config, config["number"])

    def poll(self) -> list[SourceRecord] | None:
        self.faults.strike()
        return None


class FrailSource(SourceConnector):
    """Fails itself where `fault-connector` says so."""

    task = FrailTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        Faults(config, "connector").strike()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.config, "number": str(number)} for number in range(max_tasks)]


class FrailSinkTask(SinkTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.faults = Faults(config, "0")
        self.out = Path(config["folder"], "out")

    def put(self, batch: SinkBatch) -> None:
        if len(batch):
            self.faults.strike()
            with self.out.open("a") as out:
                out.writelines(f"{record.value}\n" for record in batch)


class FrailSink(SinkConnector):
    task = FrailSinkTask
