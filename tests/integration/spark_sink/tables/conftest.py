"""Batches of rows made by hand, writers, and readers of tables that are not Spark."""

import datetime
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_sink.tables import TableSettings, TableWriter

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_FAILURE = pa.struct(
    [
        *((name, pa.string()) for name in ("stage", "class", "exception", "message", "trace")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
    ]
)

#: What a batch is made of: dictionaries with value, and key, topic, partition, offset, time, failure as far as wanted.
Records = Sequence[dict[str, Any]]


class Tables:
    """Makes batches, writes them, and reads what came of it.

    Attributes:
        spark: the session.
        folder: for tables.
    """

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def path(self, name: str = "table") -> str:
        return str(self.folder / name)

    def writer(self, app_id: str = "connect/c/000001-aa/q", *, topic: str | None = None, **keys: str) -> TableWriter:
        """Keys are written with __ for dots. Without `table` it writes the table of `path()`."""
        config = {"name": "c", "topics": "t", "table": self.path()}
        config |= {key.replace("__", "."): value for key, value in keys.items()}
        return TableWriter(TableSettings.of(config), "c", app_id, topic)

    def batch(self, value: dict[str, pa.DataType], records: Records, key: dict[str, pa.DataType] | None = None) -> Any:
        """A batch as the reader makes it. Offsets count from 0 where records do not say theirs."""
        return self.spark.createDataFrame(self.rows(value, records, key))

    def rows(
        self, value: dict[str, pa.DataType], records: Records, key: dict[str, pa.DataType] | None = None
    ) -> pa.Table:
        """The same without Spark."""
        columns: dict[str, Any] = {
            "_topic": pa.array([r.get("topic", "t") for r in records], pa.string()),
            "_partition": pa.array([r.get("partition", 0) for r in records], pa.int32()),
            "_offset": pa.array([r.get("offset", n) for n, r in enumerate(records)], pa.int64()),
            "_timestamp": pa.array([r.get("time", NOON) for r in records], pa.timestamp("us", "UTC")),
            "_origin": pa.array(
                [
                    {"topic": r.get("topic", "t"), "partition": r.get("partition", 0), "offset": r.get("offset", n)}
                    for n, r in enumerate(records)
                ],
                pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]),
            ),
        }
        if key is not None:
            columns["_key"] = pa.array([r.get("key") for r in records], pa.struct(list(key.items())))
        columns["_value"] = pa.array([r["value"] for r in records], pa.struct(list(value.items())))
        if any("whole" in r or "lacks" in r for r in records):
            columns["_whole"] = pa.array([r.get("whole", False) for r in records], pa.bool_())
            columns["_lacks"] = pa.array([r.get("lacks") for r in records], pa.list_(pa.string()))
        columns["_failure"] = pa.array([r.get("failure") for r in records], _FAILURE)
        return pa.table(columns)

    def read(self, name: str = "table") -> list[dict[str, Any]]:
        """The rows by the package deltalake, in order of their text."""
        from deltalake import DeltaTable

        return _sorted(DeltaTable(self.path(name)).to_pyarrow_table().to_pylist())

    def read_by_spark(self, name: str = "table") -> list[dict[str, Any]]:
        """The same for tables with features that deltalake does not know."""
        rows = self.spark.read.format("delta").load(self.path(name)).collect()
        return _sorted([row.asDict(recursive=True) for row in rows])

    def commits(self, name: str = "table") -> list[dict[str, Any]]:
        """What each commit did, as the table's log has it, the first one first."""
        log = sorted((Path(self.path(name)) / "_delta_log").glob("*.json"))
        found = []
        for file in log:
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            found += [action["commitInfo"] for action in actions if "commitInfo" in action]
        return found

    def operations(self, name: str = "table") -> list[str]:
        return [commit["operation"] for commit in self.commits(name)]

    def detail(self, name: str = "table") -> Any:
        return self.spark.sql(f"DESCRIBE DETAIL delta.`{self.path(name)}`").collect()[0]


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)


@pytest.fixture
def tables(spark: Any, tmp_path: Path) -> Tables:
    return Tables(spark, tmp_path)


@pytest.fixture
def simple() -> Callable[..., list[dict[str, Any]]]:
    """Records with a number and a text: `simple((1, "a"), (2, None))`."""
    return lambda *items: [{"key": {"id": id_}, "value": {"id": id_, "text": text}} for id_, text in items]
