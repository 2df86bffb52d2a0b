"""The source connector: responses of REST APIs into a topic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from connect import ConnectError, ExactlyOnceSupport, SourceConnector, __version__
from connect.kit import shared_out
from connect.settings import ConfigValue
from connectors.http.source import positions
from connectors.http.source.keys import WORK, SourceOptions
from connectors.http.source.task import HttpSourceTask


class HttpSourceConnector(SourceConnector):
    """Distributes URLs among the tasks. Connects to nothing."""

    settings = SourceOptions.definition()
    version = __version__
    task = HttpSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._options = SourceOptions.parse(self.config)
        self._options.check()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.config, WORK: json.dumps(share)} for share in shared_out(self._options.urls, max_tasks)]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return self.settings.validate(config, SourceOptions.contradictions)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        # A page that has changed since it was read in part is read again.
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], changed: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in changed.items():
            partition = dict(frozen)
            if offset is None:
                continue
            if set(partition) != {"url"}:
                raise ConnectError('A source partition of a REST API reads {"url": "https://host/path"}.')
            if wrong := positions.problem(offset):
                raise ConnectError(f"The offset of {partition} is wrong: {wrong}.")
        return True
