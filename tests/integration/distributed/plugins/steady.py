"""A source of as many tasks as it may have. They do nothing, or fail where a file of the folder tells them to."""

from collections.abc import Mapping
from pathlib import Path

from connect import ConnectError, SourceConnector, SourceRecord, SourceTask


class SteadyTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.fault = Path(config["folder"]) / f"fail-{config['number']}"

    def poll(self) -> list[SourceRecord] | None:
        if self.fault.exists():
            raise ConnectError(f"told to fail by {self.fault.name}")
        return None


class SteadySource(SourceConnector):
    """`folder` is where it looks for `fail-0`, `fail-1`, ... and `fail-connector`."""

    task = SteadyTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        if (Path(config["folder"]) / "fail-connector").exists():
            raise ConnectError("told to fail by fail-connector")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.config, "number": str(number)} for number in range(max_tasks)]
