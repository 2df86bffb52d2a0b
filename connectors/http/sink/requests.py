"""Records split into jobs: those of a partition that may share a request."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from connect import DataError, SinkBatch, TopicPartition
from connectors.http.sink.bodies import Bodies
from connectors.http.sink.keys import DELETE, FAIL, KEY, NONE, PLACE, SinkOptions

#: How many keys may share a lane: each goes to one.
_LANES_A_THREAD: Final = 4
#: As a part of a path they mean the folder itself and the one above, encoded or not.
_DOTS: Final = (".", "..")


@dataclass(slots=True, eq=False)
class Job:
    """Records of one partition for one URL.

    Attributes:
        bodies: of the records, in order; empty for a deletion.
        rows: their positions in `batch`.
        first: the offset of the first of them.
        lane: jobs of one lane are sent one after another.
        given_up: its result is no longer needed.
    """

    partition: TopicPartition
    url: str
    method: str
    batch: SinkBatch
    rows: list[int]
    bodies: list[bytes]
    first: int
    lane: Hashable
    size: int = 0
    given_up: bool = False


class Cutter:
    """Makes jobs of batches."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._bodies = Bodies(options.decimal_format)
        self._most = options.batch_size if options.batching else 1
        self._most_bytes = options.batch_bytes
        self._places = set(PLACE.findall(options.url))
        folders = options.url.partition("?")[0].split("/")
        self._folder_of_key = not {"{key}", "${key}"}.isdisjoint(folders)
        self._lanes = options.in_flight * _LANES_A_THREAD
        self._unordered = count()

    def cut(self, batch: SinkBatch) -> tuple[list[Job], list[tuple[int, DataError]]]:
        """The jobs for a batch, and its rows that cannot become a request, with the reason."""
        jobs: list[Job] = []
        wrong: list[tuple[int, DataError]] = []
        for partition, rows in _by_partition(batch):
            part = batch if len(rows) == len(batch) else batch.take(rows)
            bodies, bad = self._bodies.of(part.topics[0], part.values)
            self._cut_partition(partition, part, bodies, bad, jobs, lambda row, rows=rows: rows[row], wrong)
        return jobs, wrong

    def _cut_partition(
        self,
        partition: TopicPartition,
        part: SinkBatch,
        bodies: list[bytes | None],
        bad: dict[int, DataError],
        jobs: list[Job],
        outer: Any,
        wrong: list[tuple[int, DataError]],
    ) -> None:
        options = self._options
        by_key = options.order == KEY
        keys: Any = part.keys if by_key or KEY in self._places else None
        urls = self._urls(part)
        open_: dict[Hashable, Job] = {}
        for row, body in enumerate(bodies):
            if row in bad:
                wrong.append((outer(row), bad[row]))
                continue
            method = options.method
            if body is None:
                if options.nulls == FAIL:
                    why = "The record has no value (behavior.on.null.values=fail; there are ignore and delete)."
                    wrong.append((outer(row), DataError(why)))
                    continue
                if options.nulls != DELETE:
                    continue
                method = "DELETE"
            url = urls if isinstance(urls, str) else urls[row]
            if isinstance(url, DataError):
                wrong.append((outer(row), url))
                continue
            lane: Hashable = partition
            if by_key:
                lane = (partition, hash(repr(keys[row])) % self._lanes)
            job = open_.get(lane)
            size = len(body or b"")
            if (
                job is None
                or job.url != url
                or job.method != method
                or method == "DELETE"
                or len(job.rows) >= self._most
                or job.size + size > self._most_bytes
            ):
                named = (partition, next(self._unordered)) if options.order == NONE else lane
                job = open_[lane] = Job(partition, url, method, part, [], [], part.offsets[row], named)
                jobs.append(job)
            job.rows.append(row)
            if body is not None:
                job.bodies.append(body)
            job.size += size

    def _urls(self, part: SinkBatch) -> str | Sequence[str | DataError]:
        """The URL of all records, or of each."""
        if not self._places:
            return self._options.url
        if self._places <= {"topic", "partition"} and part.topics.constant and part.partitions.constant:
            return self._filled(part, 0)  # type: ignore[return-value]
        return [self._filled(part, row) for row in range(len(part))]

    def _filled(self, part: SinkBatch, row: int) -> str | DataError:
        values: dict[str, Any] = {"topic": part.topics[row], "partition": part.partitions[row]}
        if "offset" in self._places:
            values["offset"] = part.offsets[row]
        if KEY in self._places:
            key = part.keys[row]
            if isinstance(key, bytes):
                key = key.decode(errors="replace")
            if key is None or key == "" or isinstance(key, dict | list | float):
                return DataError(f"http.url has {{key}}, and the record's key is {_kind(key)}.")
            if key in _DOTS and self._folder_of_key:
                return DataError(f"http.url has {{key}}, and the record's key is {key}: that leads to another address.")
            values["key"] = str(key).lower() if isinstance(key, bool) else key
        return PLACE.sub(lambda place: quote(str(values[place[1]]), safe=""), self._options.url)


def _kind(key: Any) -> str:
    return "missing" if key is None or key == "" else "neither a text nor a whole number"


def _by_partition(batch: SinkBatch) -> list[tuple[TopicPartition, Sequence[int]]]:
    """Rows by topic and where they were consumed: a transformation may have given them several topics."""
    topics, origins, partitions = batch.topics, batch.original_topics, batch.original_partitions
    if topics.constant and origins.constant and partitions.constant:
        return [(TopicPartition(origins[0], partitions[0]), range(len(batch)))] if len(batch) else []
    found: dict[tuple[str, str, int], list[int]] = {}
    for row, place in enumerate(zip(topics, origins, partitions, strict=True)):
        found.setdefault(place, []).append(row)
    return [(TopicPartition(origin, partition), rows) for (_, origin, partition), rows in found.items()]
