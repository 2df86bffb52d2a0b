"""Systems that sources on Spark read from, each filled with numbered records by one set of calls."""

import json
import sqlite3
from abc import ABC, abstractmethod
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.connectors.elasticsearch.source.conftest import Index
from tests.integration.connectors.s3.source_runs import lines
from tests.servers.s3 import S3Bucket

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


class Feed(ABC):
    """Records with the numbers from 0 on.

    Attributes:
        count: how many there are.
        field: of the number, in a record's value.
        many: enough of them that they are divided.
    """

    field = "n"
    many = 50_000

    def __init__(self) -> None:
        self.count = 0

    def insert(self, count: int) -> None:
        """Add records."""
        self._insert(range(self.count, self.count + count))
        self.count += count

    def number(self, value: str) -> int:
        """The number of a record, by its value in Kafka."""
        found: int = json.loads(value)[self.field]
        return found

    @abstractmethod
    def config(self, topic: str) -> dict[str, str]:
        """The connector that reads them into this topic, but for the engine."""

    @abstractmethod
    def _insert(self, numbers: range) -> None: ...


class TableFeed(Feed):
    """A table in SQLite, whose rows have a time: a thousand of them the same."""

    field = "id"

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__()
        self._path = path
        self._mode = mode
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE line (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL, word TEXT)")

    def _insert(self, numbers: range) -> None:
        rows = [(n, f"2024-01-01 {n // 1000 // 60:02d}:{n // 1000 % 60:02d}:00", "x" * 20) for n in numbers]
        with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
            connection.executemany("INSERT INTO line VALUES (?, ?, ?)", rows)

    def config(self, topic: str) -> dict[str, str]:
        return {
            "connector.class": "JdbcSourceConnector",
            "connection.url": f"jdbc:sqlite:{self._path}",
            "table.whitelist": "line",
            "topic.prefix": topic.removesuffix("line"),
            "mode": self._mode,
            "incrementing.column.name": "id" if "incrementing" in self._mode else "",
            "timestamp.column.name": "at" if "timestamp" in self._mode else "",
            "poll.interval.ms": "200",
        }


class ObjectsFeed(Feed):
    """Objects of a bucket, each with a thousand lines."""

    many = 20_000

    def __init__(self, bucket: S3Bucket) -> None:
        super().__init__()
        self._bucket = bucket

    def _insert(self, numbers: range) -> None:
        for start in range(numbers.start, numbers.stop, 1000):
            self._bucket.put(f"{start:09}.jsonl", lines(range(start, min(start + 1000, numbers.stop))))

    def config(self, topic: str) -> dict[str, str]:
        return {
            "connector.class": "io.confluent.connect.s3.source.S3SourceConnector",
            **self._bucket.config,
            "topic": topic,
            "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
            "s3.poll.interval.ms": "100",
        }


class IndexFeed(Feed):
    """Documents of an index with two shards, as texts."""

    many = 20_000

    def __init__(self, index: Index) -> None:
        super().__init__()
        self._index = index

    def number(self, value: str) -> int:
        return super().number(json.loads(value))

    def _insert(self, numbers: range) -> None:
        for start in range(numbers.start, numbers.stop, 5000):
            self._index.numbered(start, min(5000, numbers.stop - start))

    def config(self, topic: str) -> dict[str, str]:
        return {
            **self._index.config(tasks_max="2", topic_name=topic, value_format="json"),
            "connector.class": "ElasticsearchSource",
            "poll.interval.ms": "100",
        }


def feed_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> Feed:
    """The feed of a kind: a mode of the JDBC source, "objects" or "index". Its server is started."""
    if kind == "objects":
        return ObjectsFeed(request.getfixturevalue("s3_bucket"))
    if kind == "index":
        new: Any = request.getfixturevalue("new_elasticsearch_index")
        return IndexFeed(new(shards=2, n="long"))
    return TableFeed(folder / "lines.db", kind)
