"""S3SinkConnector: writes topics to the objects of a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connect import ConfigError, SinkConnector, __version__
from connect.data.evolution_policy import EvolutionOptions
from connect.settings import ConfigValue
from connectors.s3.bucket.keys import problems
from connectors.s3.sink.keys import S3SinkOptions
from connectors.s3.sink.task import S3SinkTask


class S3SinkConnector(SinkConnector):
    """Passes its configuration to the tasks. Connects to nothing."""

    settings = S3SinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"boto3": "connect-runtime[s3]"}
    version = __version__
    task = S3SinkTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        from connectors.s3.sink.plan import SinkPlan

        named = self.settings.named(config)
        values = super().validate(config)
        found = {value.name: value for value in values}
        parsed = {setting.name: setting.value(named) for setting in self.settings if not found[setting.name].errors}
        for key, why in problems(parsed):
            found[key].errors.append(why)
        if not any(value.errors for value in values):
            try:
                options = SinkPlan.parse(config)
            except ConfigError as error:
                found[error.key].errors.append(error.message)
            else:
                if options.evolution is not None and not options.format.by_schema:
                    of_policy = ("schema.compatibility", *(setting.name for setting in EvolutionOptions.definition()))
                    for key in filter(named.get, of_policy):
                        found[key].warnings.append("has no effect: files of this format have no schema.")
        return values

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.s3.bucket.listing import buckets

        return buckets(self.settings, config)
