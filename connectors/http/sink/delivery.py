"""Jobs sent on threads: retried where that helps, split where a record spoils a request for others.

A job is open from `add` until the server has acknowledged its records, or the error policy has those it refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from connect import ConnectError, DataError, Offsets, RetriableError, SinkRecord, TopicPartition, Waiter
from connect.kit import BackgroundWriter, Request, RestClient, RestError, RetryBudget
from connectors.http.sink.keys import SinkOptions
from connectors.http.sink.requests import Job

#: What a record is to blame for, and with a URL of its own as well.
_OF_RECORD: Final = frozenset({400, 406, 409, 413, 414, 422, 431})
_OF_URL: Final = frozenset({404, 405, 410})
_IS_GONE: Final = frozenset({404, 410})
#: How many jobs may be put together into one request.
_TOGETHER: Final = 256
#: What a job costs in memory beside its bodies, in bytes.
_A_JOB: Final = 512

Refused = tuple[SinkRecord, DataError]


@dataclass(frozen=True, slots=True)
class Batches:
    """The text before, between and behind the records of a batch."""

    prefix: bytes
    separator: bytes
    suffix: bytes

    @classmethod
    def written(cls, config: Mapping[str, str]) -> Self:
        """In the configured form, with its blanks, which a definition strips."""
        keys = (("batch.prefix", ""), ("batch.separator", "\n"), ("batch.suffix", "\n"))
        found = (default if config.get(key) is None else config[key] for key, default in keys)
        return cls(*(each.encode() for each in found))

    def body(self, records: Iterable[bytes]) -> bytes:
        """The body of a request."""
        return self.prefix + self.separator.join(records) + self.suffix


class Delivery:
    """Sends jobs. All methods are for the task's thread.

    Args:
        batches: how a request with several records is written.

    Attributes:
        trouble: why requests are being retried, empty when they are not.
    """

    def __init__(self, options: SinkOptions, client: RestClient, batches: Batches) -> None:
        self._options = options
        self._client = client
        self._batches = batches
        self._most = options.batch_size if options.batching else 1
        self._of_record = _OF_RECORD | (_OF_URL if options.url_of_record else frozenset())
        self._content = {"Content-Type": options.content_type} if options.content_type else {}
        self._changed = threading.Condition()
        self._open: dict[TopicPartition, dict[Job, int]] = {}
        self._refused: list[tuple[Job, list[Refused]]] = []
        self._ending = False
        self._waiter = Waiter()
        self.trouble = ""
        self._writer: BackgroundWriter[Job] = BackgroundWriter(
            "http-sink",
            self._write,
            threads=options.in_flight,
            together=_TOGETHER if options.batching else 1,
            limit=options.buffered_bytes,
        )

    @property
    def error(self) -> Exception | None:
        """Why sending has stopped: an error without a record at fault."""
        return self._writer.error

    def room(self, within: float) -> bool:
        """Wait until more may be added. False: that takes longer than this many seconds, or there is an error."""
        return self._writer.room(within)

    def add(self, jobs: Iterable[Job]) -> None:
        """Queue jobs: those of a lane are sent in order."""
        for job in jobs:
            with self._changed:
                self._open.setdefault(job.partition, {})[job] = job.first
            self._writer.add(job, job.size + _A_JOB, job.lane)

    def settle(self, within: float) -> None:
        """Wait until all is sent, at most this many seconds."""
        self._writer.settle(within)

    def refused(self) -> list[tuple[Job, list[Refused]]]:
        """The records that the server has refused since the last call. Their jobs are open until `reported`."""
        with self._changed:
            found, self._refused = self._refused, []
        return found

    def reported(self, job: Job) -> None:
        """The error policy has the refused records of a job."""
        with self._changed:
            self._open.get(job.partition, {}).pop(job, None)

    def durable(self, offsets: Offsets) -> Offsets:
        """For each partition the offset up to which nothing is open."""
        with self._changed:
            return {
                partition: min([offset, *self._open.get(partition, {}).values()])
                for partition, offset in offsets.items()
            }

    def give_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Send no more of these partitions. Running requests may still arrive."""
        gone = set(partitions)
        with self._changed:
            for partition in gone:
                for job in self._open.pop(partition, {}):
                    job.given_up = True
            self._refused = [each for each in self._refused if each[0].partition not in gone]
            self._changed.notify_all()
        self._writer.drop(lambda job: job.partition in gone)

    def end(self, within: float) -> None:
        """End the threads, also those that wait for a response."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._client.close()
        self._writer.end(within)

    # In the threads.

    def _write(self, jobs: list[Job]) -> None:
        """Send jobs of one lane, with as many records in a request as allowed."""
        start = 0
        while start < len(jobs):
            first, stop, rows, size = jobs[start], start, 0, 0
            while stop < len(jobs) and (
                stop == start
                or (
                    (jobs[stop].url, jobs[stop].method) == (first.url, first.method)
                    and first.method != "DELETE"
                    and rows + len(jobs[stop].rows) <= self._most
                    and size + jobs[stop].size <= self._options.batch_bytes
                )
            ):
                rows += len(jobs[stop].rows)
                size += jobs[stop].size
                stop += 1
            refused: dict[Job, list[Refused]] = {}
            self._send_all([(job, index) for job in jobs[start:stop] for index in range(len(job.rows))], refused)
            with self._changed:
                for job in jobs[start:stop]:
                    # One with refused records stays open until the error policy has them.
                    if job not in refused:
                        self._open.get(job.partition, {}).pop(job, None)
                    elif not job.given_up:
                        self._refused.append((job, refused[job]))
            start = stop

    def _send_all(self, places: list[tuple[Job, int]], refused: dict[Job, list[Refused]]) -> None:
        """Send records, in halves where the server refuses them together, until the refused one is alone."""
        job = places[0][0]
        try:
            self._send(job, places)
        except RestError as error:
            if error.status not in self._of_record:
                raise
            if len(places) > 1:
                half = len(places) // 2
                self._send_all(places[:half], refused)
                self._send_all(places[half:], refused)
                return
            row = job.rows[places[0][1]]
            record = job.batch.slice(row, row + 1).records()[0]
            where = f"{record.original_topic}-{record.original_partition}@{record.original_offset}"
            refused.setdefault(job, []).append((record, DataError(f"{where}: {error}")))

    def _send(self, job: Job, places: list[tuple[Job, int]]) -> None:
        options = self._options
        retries = RetryBudget(options.retries, options.backoff, waits_for=self._client.where)
        deletes = job.method == "DELETE"
        if deletes:
            request = Request(job.url, job.method)
        else:
            bodies = [each.bodies[index] for each, index in places]
            body = self._batches.body(bodies) if options.batching else bodies[0]
            request = Request(job.url, job.method, body, self._content)
        while True:
            while left := self._client.limits.turn():
                self._wait(left, job)
            try:
                self._client.send(request)
            except RestError as error:
                if deletes and error.status in _IS_GONE:
                    return
                if not error.passing:
                    raise
                raised = retries.failed(str(error), at_least=error.pause)
                if not isinstance(raised, RetriableError):
                    raise raised from error
                self.trouble = str(raised)
                self._waiter.waits(self.trouble, what=self._client.where)
                self._wait(retries.due - time.monotonic(), job)
                continue
            self.trouble = ""
            self._waiter.goes_on()
            return

    def _wait(self, seconds: float, job: Job) -> None:
        with self._changed:
            if self._changed.wait_for(lambda: self._ending or job.given_up, seconds):
                raise ConnectError(f"{self._client.where}: the task ends, or has lost the partition. {self.trouble}")
