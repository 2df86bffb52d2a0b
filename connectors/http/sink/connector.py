"""The sink connector: topics to a REST API."""

from __future__ import annotations

from collections.abc import Mapping

from connect import SinkConnector, __version__
from connect.settings import ConfigValue
from connectors.http.sink.keys import SinkOptions
from connectors.http.sink.task import HttpSinkTask


class HttpSinkConnector(SinkConnector):
    """Passes its configuration to the tasks. Connects to nothing."""

    settings = SinkOptions.definition()
    version = __version__
    task = HttpSinkTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return self.settings.validate(config, SinkOptions.contradictions)
