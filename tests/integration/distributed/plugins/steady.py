"""A source of as many tasks as it may have. They do nothing, or fail where a file of the folder tells them to."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path

from connect import ConnectError, SourceConnector, SourceRecord, SourceTask

log = logging.getLogger("steady")

#: Keys that are for the runtime, and that tasks are not told of.
RUNTIME = ("value.converter", "producer.override.")


class SteadyTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.fault = Path(config["folder"]) / f"fail-{config['number']}"
        if "starts" in config:
            # What it was started with, seen by all: one line for each start.
            with Path(config["starts"]).open("a") as file:
                file.write(f"{config['number']} {config.get('mark', '')}\n")

    def poll(self) -> list[SourceRecord] | None:
        log.debug("there is nothing")
        if self.fault.exists():
            raise ConnectError(f"told to fail by {self.fault.name}")
        return None


class SteadySource(SourceConnector):
    """`folder` is where it looks for `fail-0`, `fail-1`, ..., `fail-connector` and `fail-stop`.

    `starts` names a file to which each task adds a line when it starts: its number, and `mark` as the task has it. The
    connector takes `cut.seconds` to cut its work.
    """

    task = SteadyTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        if (Path(config["folder"]) / "fail-connector").exists():
            raise ConnectError("told to fail by fail-connector")

    def stop(self) -> None:
        if (Path(self.config["folder"]) / "fail-stop").exists():
            raise ConnectError("told to fail by fail-stop")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        log.debug("the work is cut")
        time.sleep(float(self.config.get("cut.seconds", "0")))
        own = {key: value for key, value in self.config.items() if not key.startswith(RUNTIME)}
        return [{**own, "number": str(number)} for number in range(max_tasks)]
