"""Which offsets a batch of a streaming query covers, by the query's checkpoint.

Spark stores the end of a batch before it calls `foreachBatch`, and does not pass it there. The rows themselves would
have to be read once more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.commit_notes import Ranges, covered
from spark_sink.paths import as_written
from spark_sink.reading.plan import as_offsets

log = logging.getLogger(__name__)


def offsets_in(lines: Sequence[str]) -> dict[TopicPartition, int] | None:
    """The offsets at the end of a batch, in the lines of its file in a checkpoint; None if it has none."""
    found = next((line for line in reversed(lines) if line.startswith("{")), None)
    return None if found is None else as_offsets(json.loads(found))


@dataclass
class BatchOffsets:
    """The offsets of a query's batches. Can be pickled.

    Attributes:
        checkpoint: the folder of the query's checkpoint.
        start: where its first batch begins, as far as that is known.
    """

    checkpoint: str
    start: Mapping[TopicPartition, int]
    _ends: dict[int, Mapping[TopicPartition, int]] = field(default_factory=dict, init=False, repr=False)

    def of(self, spark: Any, batch: int) -> Ranges | None:
        """What a batch covers; None where that cannot be read. Never raises: it is only for a note."""
        try:
            begin = self._end(spark, batch - 1) if batch else self.start
            end = self._end(spark, batch)
        except Exception as error:  # Spark raises anything
            log.debug("The offsets of batch %d are not known: %s", batch, error)
            return None
        self._ends = {batch: end}
        return covered({**self.start, **begin}, end)

    def _end(self, spark: Any, batch: int) -> Mapping[TopicPartition, int]:
        if batch in self._ends:
            return self._ends[batch]
        found = offsets_in(_lines(spark, f"{self.checkpoint}/offsets/{batch}"))
        if found is None:
            raise ConnectError(f"Batch {batch} of the checkpoint {self.checkpoint} has no offsets.")
        return found


def _lines(spark: Any, path: str) -> list[str]:
    local = path.removeprefix("file://").removeprefix("file:")
    if "://" not in local:
        with suppress(OSError):  # it is on another machine, or in the file system that Hadoop calls the default one
            return Path(local).read_text(encoding="utf-8").splitlines()
    return [row["value"] for row in spark.read.text(as_written(path)).collect()]
