"""IcebergSinkConnector: topics into Iceberg tables. Only the configuration is read here: tasks import pyiceberg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import SinkConnector, TopicPartition, __version__
from connect.settings import ConfigValue
from spark_sink.iceberg.checks import problems, warnings
from spark_sink.iceberg.keys import IcebergKeys, IcebergOptions


class IcebergSinkConnector(SinkConnector):
    """Passes its configuration to the tasks.

    Attributes:
        engines: that can run it.
    """

    settings = IcebergKeys.definition()
    needs: ClassVar[Mapping[str, str]] = {"pyiceberg": "connect-runtime[iceberg]"}
    version = __version__
    engines: ClassVar[tuple[str, ...]] = ("worker",)

    def task_class(self) -> type[Any]:
        from spark_sink.iceberg.task import IcebergSinkTask

        return IcebergSinkTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        found = {value.name: value for value in values}
        options = IcebergOptions.parse(config)
        for key, message in problems(options):
            found[key].errors.append(message)
        for key, message in warnings(options):
            found[key].warnings.append(message)
        return values

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from spark_sink.iceberg.listing import tables

        return tables(config, 1000)

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        from spark_sink.iceberg.task import alter_offsets

        return alter_offsets(config, offsets)
