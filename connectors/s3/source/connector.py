"""S3SourceConnector: checks the keys, and decides how many tasks share the objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import ConfigError, ConnectError, ExactlyOnceSupport, SourceConnector, __version__
from connect.api.engine import WORKER
from connect.settings import ConfigValue
from connectors.s3.bucket.keys import problems
from connectors.s3.source import keys
from connectors.s3.source.keys import S3SourceOptions
from connectors.s3.source.lanes import problem
from connectors.s3.source.layout import Layout
from connectors.s3.source.task import S3SourceTask


class S3SourceConnector(SourceConnector):
    """Writes objects of a bucket to topics."""

    settings = S3SourceOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"boto3": "connect-runtime[s3]"}
    version = __version__
    task = S3SourceTask
    engines = (WORKER, "spark")

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._options = S3SourceOptions.parse(config)
        self._options.check()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        shares = max_tasks if Layout(self._options).order == keys.BY_PARTITION else self._options.object_shares
        tasks = min(max_tasks, shares)
        return [{**self.config, "task.number": f"{number}/{tasks}"} for number in range(tasks)]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        found = {value.name: value for value in values}
        options = S3SourceOptions.parse(config)
        for key, why in problems(options.config):
            found[key].errors.append(why)
        try:
            options.check()
            if config.get("engine") == "spark":
                options.check_splits()
        except ConfigError as error:
            found[error.key].errors.append(error.message)
        return values

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.s3.bucket.listing import buckets

        return buckets(self.settings, config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in offsets.items():
            partition = dict(frozen)
            if offset is None:
                continue
            if set(partition) not in ({"bucket", "prefix", "share"}, {"bucket", "series"}):
                raise ConnectError(
                    'Write a source partition as {"bucket": "b", "prefix": "logs/", "share": "3/16"}, or, with '
                    'object.order=partition, as {"bucket": "b", "series": "topics/t/partition=0/t+0+"}.'
                )
            if wrong := problem(offset):
                raise ConnectError(f"The offset of {partition} is wrong: {wrong}.")
        return True
