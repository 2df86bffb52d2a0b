"""The Delta source's task: a stream of a table's versions, from its position on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from connect.errors import ConfigError, ConnectError
from spark_sink.source.batches import check_columns
from spark_sink.source.changes import TIMESTAMP, TYPE, VERSION, ChangeShape
from spark_sink.source.records import RowShape
from spark_sink.source.settings import CHANGES, DeltaSourceOptions, is_path
from spark_sink.source.task import SourceProgress, SourceQueryTask

_FEED = (TYPE, VERSION, TIMESTAMP)


class DeltaSourceTask(SourceQueryTask):
    """See `SourceQueryTask`. Offsets are versions:

    {"version": 12}                 continues with version 12
    {"snapshot": 11, "file": 40}    is reading the table as it was at version 11
    """

    options_class = DeltaSourceOptions
    options: DeltaSourceOptions

    def check(self) -> None:
        self._table = self.options.table
        self._changes = self.options.mode == CHANGES
        self._name = _identifier(self._table)
        if not self._changes:
            return
        found = self._sql(f"SHOW TBLPROPERTIES {self._name}").collect()
        properties = {row["key"]: row["value"] for row in found}
        if properties.get("delta.enableChangeDataFeed", "false").lower() != "true":
            raise ConfigError(
                "mode",
                f"the table {self._table} has no change data feed. Run ALTER TABLE {self._name} SET TBLPROPERTIES "
                "(delta.enableChangeDataFeed = true), or set mode=appends if rows are only added.",
            )

    def partition(self) -> dict[str, Any]:
        return {"table": self.options.table}

    def first(self) -> dict[str, Any]:
        version, moment = self.options.starting_version, self.options.starting_timestamp
        if moment is not None:
            return {"timestamp": moment.strip()}
        if version is None:
            return {"snapshot": self._latest()}
        latest = version.strip().lower() == "latest"
        return {"version": self._latest() + 1 if latest else int(version)}

    def anew(self, offset: dict[str, Any]) -> dict[str, Any]:
        if "snapshot" not in offset:
            return offset
        before, latest = offset["snapshot"], self._latest()
        if self._changes and "file" in offset and latest != before:
            raise ConnectError(
                f"The checkpoint in {self.location} of the snapshot of version {before} is gone, in the middle of it, "
                f"and {self._table} has version {latest} by now: another snapshot would not tell which rows were "
                "deleted since. Bring the checkpoint back, in a place that all workers see (checkpoint.location); or "
                "reset the connector's offsets to start over with the table as it is."
            )
        return {"snapshot": latest}

    def start_query(self) -> Any:
        reader = self.session.spark.readStream.format("delta")
        reader = reader.option("maxFilesPerTrigger", self.options.most_files)
        if self.options.most_bytes:
            reader = reader.option("maxBytesPerTrigger", self.options.most_bytes.strip())
        if self._changes:
            reader = reader.option("readChangeFeed", "true")
        elif self.options.skip_change_commits:
            reader = reader.option("skipChangeCommits", "true")
        if self.is_new():
            if "version" in self.offset:
                if self._is_to_come(self.offset["version"]):
                    return None  # Spark takes no version that is not there
                reader = reader.option("startingVersion", self.offset["version"])
            elif "timestamp" in self.offset:
                if self._is_later(self.offset["timestamp"]):
                    return None  # nor a moment
                reader = reader.option("startingTimestamp", self.offset["timestamp"])
        rows = reader.load(self._table) if is_path(self._table) else reader.table(self._table)
        shape = self._shape([field.name for field in rows.schema.fields])
        check_columns(rows.schema, shape)
        return self.stream(rows, self.writer(shape))

    def offset_of(self, progress: SourceProgress) -> dict[str, Any] | None:
        found = progress.position
        found = json.loads(found) if isinstance(found, str) else found
        return None if not found else offset_of(found, changes=self._changes)

    def _shape(self, names: list[str]) -> RowShape:
        options = self.options
        values = self.columns([name for name in names if name not in _FEED])
        topic, key, order = options.topic, tuple(options.key_fields), tuple(options.order_by)
        if not self._changes:
            return RowShape(topic, key, values, order, self.partition())
        return ChangeShape(
            topic,
            key,
            values,
            order,
            self.partition(),
            envelope=options.envelope,
            tombstones=options.tombstones,
            snapshot=int(self.offset.get("snapshot", -1)),
        )

    def _latest(self) -> int:
        """The table's newest version."""
        return int(self._sql(f"DESCRIBE HISTORY {self._name} LIMIT 1").first()["version"])

    def _is_to_come(self, version: int) -> bool:
        """Whether a version is the one behind the table's newest. Raises ConnectError where it is beyond that."""
        latest = self._latest()
        if version > latest + 1:
            raise ConnectError(
                f"Reading is to go on with version {version} of {self._table}, whose newest is {latest}: it was made "
                "again, or starting.version is wrong. Alter or reset the connector's offsets."
            )
        return version > latest

    def _is_later(self, moment: str) -> bool:
        """Whether a moment is later than the table's newest version."""
        from pyspark.sql import functions as sf

        newest = self._sql(f"DESCRIBE HISTORY {self._name} LIMIT 1")
        return bool(newest.where(sf.col("timestamp") >= sf.lit(moment).cast("timestamp")).isEmpty())

    def _sql(self, text: str) -> Any:
        return self.session.spark.sql(text)


def offset_of(found: Mapping[str, Any], *, changes: bool) -> dict[str, Any]:
    """The offset for a position of Spark's stream of a table.

    Args:
        found: as Delta writes it: everything before a version's file of that index is read. A negative index is the
            beginning of the version.
        changes: whether changes are read, which are never split within a version.
    """
    version, index = int(found["reservoirVersion"]), int(found["index"])
    if found.get("isStartingVersion") in (True, "true"):
        return {"snapshot": version, "file": index}
    if index < 0:
        return {"version": version}
    return {"version": version + 1} if changes else {"version": version, "file": index}


def _identifier(table: str) -> str:
    """The table's identifier in Spark's SQL."""
    if is_path(table):
        return f"delta.`{table}`"
    return ".".join(f"`{part}`" for part in table.split("."))
