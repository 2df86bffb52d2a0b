"""SparkSinkConnector: topics into tables, by Spark or, for Delta, by the worker itself.

Only the configuration is read here. The table is written by `spark_sink.tables` in a Spark query, or by
`spark_sink.delta` in a task of the worker; neither Spark nor deltalake is imported before one of them runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from connect import SinkConnector, TopicPartition, __version__
from connect.settings import ConfigValue
from connect.settings.raw import comma_separated
from spark_sink.layout_keys import TOPIC, is_path
from spark_sink.sink.checks import problems
from spark_sink.table_settings import TableKeys, TableOptions


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

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        table = TableOptions.parse(cls.settings.named(config)).table
        topics = comma_separated(config.get("topics")) if TOPIC in table else [""]
        return [_dataset(table.replace(TOPIC, topic)) for topic in topics if table]

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


def _dataset(table: str) -> tuple[str, str]:
    """Namespace and name in lineage."""
    if not is_path(table):
        return "spark", table
    scheme, double_slash, rest = table.partition("://")
    if not double_slash or scheme == "file":
        return "file", str(Path(rest if double_slash else table).absolute())
    bucket, _, path = rest.partition("/")
    return f"{'s3' if scheme == 's3a' else scheme}://{bucket}", path or "/"
