"""The sinks: a file, a database, a store, a search index, a Delta table, a REST API, and one that notes its writes."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

from tests.chaos.suite.feed import number_of
from tests.chaos.suite.targets import at

from .flow import SinkFlow


class Marks:
    """The notes of one task, of which `read` reads what is new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._lock = threading.Lock()
        self._marks: list[dict[str, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        """All notes, in their order, with the numbers of what they wrote."""
        with self._lock:
            if self._path.exists():
                with self._path.open("rb") as file:
                    file.seek(self._at)
                    whole, end, _ = file.read().rpartition(b"\n")
                for line in whole.splitlines():
                    mark = json.loads(line)
                    mark["values"] = [number_of(value.encode()) for value in mark.get("values", [])]
                    self._marks.append(mark)
                self._at += len(whole) + len(end)
            return list(self._marks)


class FileSink(SinkFlow):
    """Texts, so that nothing is poison to it."""

    name = "file-sink"
    letters = False

    def set_up(self) -> None:
        self.once = True
        self.path = self.around.folder / f"{self.name}.txt"
        self._read = 0
        self._numbers: list[int] = []

    def config(self) -> dict[str, str]:
        return {
            **self.sink_config(),
            "connector.class": "FileStreamSink",
            "file": str(self.path),
            "exactly.once": "true",
        }

    def arrived(self) -> list[int]:
        """The whole file each time: a task that starts cuts off what its ledger does not know."""
        text = self.path.read_bytes() if self.path.exists() else b""
        return [number_of(line) for line in text.split(b"\n")[:-1]]

    def count(self) -> int:
        return self.path.read_bytes().count(b"\n") if self.path.exists() else 0


class JdbcSink(SinkFlow):
    """Rows of PostgreSQL without a key: what comes twice is there twice."""

    name = "jdbc-sink"
    ordered = False

    def set_up(self) -> None:
        self.once = True
        self.server = self.around.targets.postgres()
        self.table = self.name.replace("-", "_")
        self.server.execute(f"CREATE TABLE {self.table} (n bigint NOT NULL, k text NOT NULL)")

    def config(self) -> dict[str, str]:
        host, port = at(self.around.targets.all["postgresql"])
        return {
            **self.sink_config(),
            "connector.class": "JdbcSink",
            "connection.url": f"jdbc:postgresql://{host}:{port}/{self.server.name}",
            "connection.user": self.server.user,
            "connection.password": self.server.password,
            "table.name.format": self.table,
            "connection.backoff.ms": "1000",
            "exactly.once": "true",
        }

    def arrived(self) -> list[int]:
        return [number for (number,) in self.server.execute(f"SELECT n FROM {self.table}")]

    def count(self) -> int:
        return int(self.server.execute(f"SELECT count(*) FROM {self.table}")[0][0])


class S3Sink(SinkFlow):
    """Objects of JSON lines, each read once: nobody replaces one."""

    name = "s3-sink"
    ordered = False

    def set_up(self) -> None:
        self.once = True
        self.bucket = self.around.targets.bucket()
        self._known: dict[str, list[int]] = {}

    def config(self) -> dict[str, str]:
        return {
            **self.sink_config(),
            **self.bucket.config,
            "connector.class": "S3Sink",
            "store.url": f"http://{self.around.targets.all['s3'].address}",
            "format.class": "json",
            "flush.size": "50",
            "rotate.schedule.interval.ms": "5000",
            "timezone": "UTC",
            "retry.backoff.ms": "500",
        }

    def arrived(self) -> list[int]:
        client = self.bucket.client
        for key in self.bucket.keys():  # noqa: SIM118
            if key not in self._known:
                try:
                    lines = self.bucket.get(key).splitlines()
                except client.exceptions.NoSuchKey:
                    continue  # S3Proxy lists an object a moment before it has it
                self._known[key] = [json.loads(line)["n"] for line in lines]
        return [number for numbers in self._known.values() for number in numbers]


class ElasticsearchSink(SinkFlow):
    """Documents whose ids are topic, partition and offset."""

    name = "elasticsearch-sink"
    ordered = False

    def set_up(self) -> None:
        self.once = True
        self.server = self.around.targets.elasticsearch()

    def config(self) -> dict[str, str]:
        return {
            **self.sink_config(),
            "connector.class": "ElasticsearchSink",
            "connection.url": f"http://{self.around.targets.all['elasticsearch'].address}",
            "key.ignore": "true",
            "retry.backoff.ms": "500",
        }

    def arrived(self) -> list[int]:
        found: list[int] = []
        after: Any = None
        while True:
            body = {"sort": [{"n": "asc"}], "_source": False, "track_total_hits": False}
            more = {"search_after": after} if after is not None else {}
            hits = self.server.hits(self.feed.topic, **body, **more)
            if not hits:
                return found
            found += [int(hit["sort"][0]) for hit in hits]
            after = hits[-1]["sort"]  # a repetition at the border of two pages would not be seen

    def count(self) -> int:
        return self.server.count(self.feed.topic)


class DeltaSink(SinkFlow):
    """Rows of a Delta table, without Spark."""

    name = "delta-sink"
    ordered = False

    def set_up(self) -> None:
        self.once = True
        self.path = self.around.folder / self.name
        self._rows: dict[str, int] = {}

    def config(self) -> dict[str, str]:
        return {
            **self.sink_config(),
            "connector.class": "DeltaSink",
            "engine": "worker",
            "table": str(self.path),
            "trigger": "interval",
            "trigger.interval.ms": "2000",
        }

    def arrived(self) -> list[int]:
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(str(self.path)):
            return []
        return [int(n) for n in DeltaTable(self.path).to_pyarrow_table(columns=["n"]).column("n").to_pylist()]

    def count(self) -> int:
        for commit in self.path.glob("_delta_log/*.json"):
            if commit.name not in self._rows:
                self._rows[commit.name] = sum(map(int, re.findall(r'numRecords\\?":(\d+)', commit.read_text())))
        return sum(self._rows.values())


class HttpSink(SinkFlow):
    """Requests with up to some records each."""

    name = "http-sink"

    def set_up(self) -> None:
        self.api = self.around.targets.api("http-target")

    def config(self) -> dict[str, str]:
        return {
            **self.sink_config(),
            "connector.class": "HttpSink",
            "http.url": f"http://{self.around.targets.all['http-target'].address}/hook",
            "http.authorization.type": "none",
            "http.timeout": "5",
            "batching.enabled": "true",
            "batch.max.size": "50",
            "max.retries": "-1",
            "retry.backoff.ms": "500",
        }

    def arrived(self) -> list[int]:
        return [value["n"] for value in self.api.values]


class NotesSink(SinkFlow):
    """Notes down the beginning and the end of each write: by those it is seen that a task has one owner."""

    name = "notes-sink"
    letters = False

    def set_up(self) -> None:
        self._marks = {task: Marks(self.around.folder / f"writes-{self.name}-{task}") for task in range(2)}

    def config(self) -> dict[str, str]:
        folder = str(self.around.folder)
        return {**self.sink_config(), "connector.class": "unruly.UnrulySink", "folder": folder, "tasks.max": "2"}

    def marks(self) -> dict[int, list[dict[str, Any]]]:
        """What each task noted."""
        return {task: marks.read() for task, marks in self._marks.items()}

    def arrived(self) -> list[int]:
        ended = [mark for marks in self.marks().values() for mark in marks if mark["what"] == "ended"]
        ended.sort(key=lambda mark: mark["at"])
        return [number for mark in ended for number in mark["values"]]
