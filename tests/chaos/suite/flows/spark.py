"""Some of the connectors with engine=spark: each task has a Spark of its own, which takes long to start.

They run only where they are named: several Sparks that start at once are too much for two cores.
"""

from __future__ import annotations

from typing import Any

from .sinks import DeltaSink, FileSink, JdbcSink
from .sources import JdbcSource


class FileSinkOnSpark(FileSink):
    name = "file-sink-spark"
    on_spark = True


class JdbcSinkOnSpark(JdbcSink):
    name = "jdbc-sink-spark"
    on_spark = True


class DeltaSinkOnSpark(DeltaSink):
    """Rows of a Delta table, which Spark writes."""

    name = "delta-sink-spark"
    on_spark = True


class JdbcSourceOnSpark(JdbcSource):
    """A plan's splits are read at the same time: one has its order, two have none."""

    name = "jdbc-source-spark"
    on_spark = True
    ordered = False

    def config(self) -> dict[str, str]:
        return super().config() | {"tasks.max": "2"}

    def before(self, offsets: Any) -> int | None:
        """Beside the table's there are notes of each writer."""
        entries = [each for each in (offsets or {}).get("offsets", []) if "table" in each["partition"]]
        return super().before({"offsets": entries})
