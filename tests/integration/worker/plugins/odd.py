"""Connectors whose faults are configured: they cut wrongly, hang at the end, and tell secrets."""

import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path

from connect import (
    ConnectError,
    SinkBatch,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    settings,
)


class NumbersTask(SourceTask):
    """Numbers to `topic`, from where it stopped, as many as `count` says; `hang.at` is where it hangs.

    Several topics, separated by commas, take turns.
    """

    def start(self, config: Mapping[str, str]) -> None:
        self.config = config
        _leak(config, "task.start")
        self.partition = {"numbers": config["number"]}
        stored = self.context.offset(self.partition)
        self.next = int(stored["next"]) if stored else 0

    def poll(self) -> list[SourceRecord] | None:
        _leak(self.config, "poll")
        if self.config.get("hang") == "poll":
            threading.Event().wait()
        if self.next >= int(self.config.get("count", "0")):
            return None
        self.next += 1
        topics = self.config["topic"].split(",")
        return [
            SourceRecord(
                topics[(self.next - 1) % len(topics)],
                f"{self.config['number']}:{self.next - 1}",
                source_partition=self.partition,
                source_offset={"next": self.next},
            )
        ]

    def stop(self) -> None:
        if self.config.get("hang") == "stop":
            threading.Event().wait()


class NumbersConnector(SourceConnector):
    """`tasks` is how many tasks it makes, whatever it may; `tasks.file` holds a number that it follows."""

    task = NumbersTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        _leak(config, "connector.start")
        self.ended = threading.Event()
        if "tasks.file" in config:
            threading.Thread(target=self._follow, daemon=True).start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        _leak(self.config, "task_configs")
        count = int(self.config.get("tasks", "1"))
        if "tasks.file" in self.config:
            count = int(Path(self.config["tasks.file"]).read_text())
        return [{**self.config, "number": str(number)} for number in range(count)]

    def stop(self) -> None:
        self.ended.set()
        _leak(self.config, "connector.stop")
        if self.config.get("hang") == "connector.stop":
            threading.Event().wait()
        if self.config.get("die") == "connector.stop":
            os.kill(os.getpid(), signal.SIGKILL)

    def _follow(self) -> None:
        file = Path(self.config["tasks.file"])
        known = file.read_text()
        while not self.ended.wait(0.02):
            if (text := file.read_text()) != known:
                known = text
                self.context.request_task_reconfiguration()


class NoTask:
    """Is no task."""


class NoTaskConnector(SourceConnector):
    task = NoTask


class LeakySinkTask(SinkTask):
    """Tells its secrets where `leak` says."""

    def start(self, config: Mapping[str, str]) -> None:
        self.config = config
        _leak(config, "sink.start")

    def put(self, batch: SinkBatch) -> None:
        if len(batch):
            _leak(self.config, "put")

    def flush(self, offsets: object) -> None:
        _leak(self.config, "flush")


class LeakySinkConnector(SinkConnector):
    task = LeakySinkTask
    settings = settings.define(settings.Password("word", default="", doc="What no name says."))

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        _leak(config, "connector.start")


def _leak(config: Mapping[str, str], where: str) -> None:
    if config.get("leak") == where:
        try:
            raise OSError(f"server said: no user {config['url'].partition(':')[2]}")
        except OSError as error:
            raise ConnectError(f"cannot log in with {config.get('word') or config['secret']}") from error
