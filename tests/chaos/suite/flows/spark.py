"""Some of the connectors with engine=spark: each task has a Spark of its own, which takes long to start.

They run only where they are named: several Sparks that start at once are too much for two cores.
"""

from __future__ import annotations

from typing import Any, Final

from .flow import SinkFlow
from .sinks import DeltaSink, FileSink, JdbcSink
from .sources import JdbcSource

ENGINE: Final = {"engine": "spark", "spark.master": "local[1]"}


def writing(flow: SinkFlow) -> dict[str, str]:
    """The keys of sinks."""
    checkpoints = (flow.around.folder / f"checkpoint-{flow.name}").as_uri()
    return {**ENGINE, "checkpoint.location": checkpoints, "trigger.interval.ms": "1000"}


class FileSinkOnSpark(FileSink):
    name = "file-sink-spark"
    on_spark = True

    def config(self) -> dict[str, str]:
        return super().config() | writing(self)


class JdbcSinkOnSpark(JdbcSink):
    name = "jdbc-sink-spark"
    on_spark = True

    def config(self) -> dict[str, str]:
        return super().config() | writing(self)


class DeltaSinkOnSpark(DeltaSink):
    """Rows of a Delta table, which Spark writes."""

    name = "delta-sink-spark"
    on_spark = True

    def config(self) -> dict[str, str]:
        return super().config() | writing(self)


class JdbcSourceOnSpark(JdbcSource):
    """A plan's splits are read at the same time: one has its order, two have none."""

    name = "jdbc-source-spark"
    on_spark = True
    ordered = False

    def config(self) -> dict[str, str]:
        return super().config() | ENGINE | {"tasks.max": "2"}

    def before(self, offsets: Any) -> int | None:
        """Beside the table's there are notes of each writer."""
        entries = [each for each in (offsets or {}).get("offsets", []) if "table" in each["partition"]]
        return super().before({"offsets": entries})
