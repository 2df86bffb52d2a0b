"""Which checkpoint a connector's query uses, and where a new one begins.

A streaming query continues at its checkpoint. When a user alters offsets, the next query must not: it gets a checkpoint
of its own, a new generation. The transactions that Delta stores include the generation too, or batches of a new one
would be skipped as repeated.

The ledger of generations is a folder of small text files beside the checkpoints, written and read through Spark, so
that it is wherever the checkpoints are.

    <checkpoint.location>/generations/part-*.txt      a line of JSON each: number, name, offsets at which it begins
    <checkpoint.location>/<generation>/<query>/       Spark's checkpoint of one query

A connector whose query reads the ranges of all topics has the ledger `generations-of-all`. Version 0.2.0, which has a
query for each topic, does not know it: where a task goes back to that version, as in a pool that is being updated, the
offsets are altered for it, and it continues at them, with checkpoints and transactions of its own.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.paths import as_written
from spark_sink.reading.plan import OffsetMap, as_map, as_offsets
from spark_sink.tables.batch_offsets import offsets_in

GENERATIONS: Final = "generations"
#: Of connectors that have one query for the ranges of all topics.
GENERATIONS_OF_ALL: Final = "generations-of-all"


@dataclass(frozen=True, slots=True)
class Generation:
    """The use of one checkpoint.

    Attributes:
        number: from 1.
        name: unique, also among connectors that were deleted and created again.
        start: the offsets at which it begins.
    """

    number: int
    name: str
    start: OffsetMap

    @property
    def mark(self) -> str:
        """The note beside the offsets that are reported for it."""
        return f"spark {self.name}"


class Generations:
    """The ledger of one connector.

    Args:
        spark: a session.
        location: the folder of its checkpoints.
        ledger: the name of the ledger's folder.
    """

    def __init__(self, spark: Any, location: str, ledger: str = GENERATIONS) -> None:
        self._spark = spark
        self.location = location.rstrip("/")
        self._ledger = f"{self.location}/{ledger}"

    def current(self) -> Generation | None:
        """The newest one; None where there is none yet.

        Raises:
            ConnectError: the ledger cannot be read.
        """
        entries = [json.loads(line) for line in self._lines(self._ledger)]
        if not entries:
            return None
        newest = max(entries, key=lambda entry: entry["number"])
        return Generation(newest["number"], newest["name"], newest["start"])

    def begin(self, after: Generation | None, start: Mapping[TopicPartition, int]) -> Generation:
        """Store a new generation and return it."""
        number = 1 if after is None else after.number + 1
        made = Generation(number, f"{number:06d}-{uuid.uuid4().hex[:8]}", as_map(start))
        line = json.dumps({"number": made.number, "name": made.name, "start": made.start})
        rows = self._spark.createDataFrame([(line,)], "value string")
        rows.coalesce(1).write.mode("append").text(self._ledger)
        return made

    def checkpoint(self, generation: Generation, query: str) -> str:
        """The folder of a query's checkpoint."""
        return f"{self.location}/{generation.name}/{query}"

    def queries(self, generation: Generation) -> set[str]:
        """The names of the queries that have begun a batch."""
        folder = as_written(f"{self.location}/{generation.name}")
        files = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        paths = [row["path"].split("/") for row in self._read(lambda: files.load(folder).select("path").collect())]
        return {path[-3] for path in paths if path[-2] == "offsets"}

    def positions(self, generation: Generation, query: str) -> tuple[dict[TopicPartition, int], bool]:
        """Where a query continues by its checkpoint, and whether it has an unfinished batch."""
        folder = self.checkpoint(generation, query)
        begun, done = self._newest(f"{folder}/offsets"), self._newest(f"{folder}/commits")
        return (as_offsets(generation.start) if done < 0 else self._end(folder, done)), begun > done

    def begun(self, generation: Generation, query: str) -> tuple[int, dict[TopicPartition, int]]:
        """The number of the last batch that was begun, and the offsets at its end."""
        folder = self.checkpoint(generation, query)
        batch = self._newest(f"{folder}/offsets")
        return batch, self._end(folder, batch)

    def _end(self, folder: str, batch: int) -> dict[TopicPartition, int]:
        lines = self._lines(f"{folder}/offsets/{batch}")
        found = offsets_in(lines)
        if found is None:
            raise ConnectError(f"The checkpoint {folder} is damaged: its batch {batch} has no offsets.")
        return found

    def _newest(self, folder: str) -> int:
        """The highest number among a log's files; -1 for none."""
        folder = as_written(folder)
        listed = self._read(lambda: self._spark.read.format("binaryFile").load(folder).select("path").collect())
        names = [row["path"].rstrip("/").rpartition("/")[2] for row in listed]
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    def _lines(self, path: str) -> list[str]:
        return [row["value"] for row in self._read(lambda: self._spark.read.text(as_written(path)).collect())]

    def _read(self, read: Any) -> list[Any]:
        from pyspark.errors import AnalysisException

        try:
            rows: list[Any] = read()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error):
                return []
            raise
        return rows
