"""SparkSinkConnector: topics into tables, by Spark or, for Delta, by the worker itself.

Only the configuration is read here. The table is written by `spark_sink.tables` in a Spark query, or by
`spark_sink.delta` in a task of the worker; neither Spark nor deltalake is imported before one of them runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import SinkConnector, TopicPartition, __version__
from connect.settings import ConfigValue
from spark_sink.sink.checks import problems
from spark_sink.table_settings import TableKeys


class SparkSinkConnector(SinkConnector):
    """Writes the records of topics as rows of tables.

    Attributes:
        engines: that can run it; the first is the default.
        spark_task: the task on Spark.
    """

    settings = TableKeys.definition()
    version = __version__
    engines: ClassVar[tuple[str, ...]] = ("spark", "worker")
    spark_task: ClassVar[str] = "spark_sink.query.table_task:TableTask"

    def task_class(self) -> type[Any]:
        """The task for engine=worker."""
        from spark_sink.delta import DeltaSinkTask

        return DeltaSinkTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(self.settings.named(config))

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        found = {value.name: value for value in values}
        for key, message in problems(TableKeys.parse(config), engine_of(config)):
            found[key].errors.append(message)
        return values

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        if engine_of(config) != "worker":
            return True  # the engine keeps them in its checkpoints, and begins a new one
        from spark_sink.delta import alter_offsets

        return alter_offsets(self.settings.named(config), offsets)


def engine_of(config: Mapping[str, str]) -> str:
    """The engine that a configuration chooses: "spark" by default."""
    return str(config.get("engine") or SparkSinkConnector.engines[0]).strip()
