"""S3SinkConnector: topics into the objects of a bucket."""

from __future__ import annotations

from collections.abc import Mapping

from connect import ConfigError, SinkConnector, __version__
from connect.settings import ConfigValue
from connectors.s3.bucket import with_aliases
from connectors.s3.bucket.keys import problems
from connectors.s3.sink.keys import ALIASES, SETTINGS
from connectors.s3.sink.task import S3SinkTask


class S3SinkConnector(SinkConnector):
    """Hands its configuration to the tasks. Connects to nothing."""

    settings = SETTINGS
    version = __version__
    task = S3SinkTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        from connectors.s3.sink.options import Options

        named = with_aliases(config, ALIASES)
        values = super().validate(named)
        found = {value.name: value for value in values}
        parsed = {setting.name: setting.value(named) for setting in self.settings if not found[setting.name].errors}
        for key, why in problems(parsed):
            found[key].errors.append(why)
        if not any(value.errors for value in values):
            try:
                Options.of(config)
            except ConfigError as error:
                found[error.key].errors.append(error.message)
        return values
