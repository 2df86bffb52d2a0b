"""JdbcSourceTask: reads its tables one after another, each when it is due."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from connect import ConnectError, DataError, ReadPlan, RetriableError, SourceBatch, SplitSourceTask
from connect.kit import RetryBudget
from connectors.jdbc.database import Database, passes
from connectors.jdbc.database.connection import reason
from connectors.jdbc.source import offsets
from connectors.jdbc.source.keys import JdbcSourceOptions
from connectors.jdbc.source.parts import Part, read
from connectors.jdbc.source.reader import Reader
from connectors.jdbc.source.servers import server_of
from connectors.jdbc.source.splits import PartSplits, part_of, read_split

log = logging.getLogger(__name__)

_WAIT_S: Final = 1.0
_SLICE_S: Final = 0.05
_RATE_S: Final = 5.0


class JdbcSourceTask(SplitSourceTask):
    """Reads some tables, parts of tables, or a query. Keys are null, the timestamp is left to the producer."""

    settings = JdbcSourceOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        # One try at a time: between them the task is to answer.
        options = JdbcSourceOptions.parse({**config, "connection.attempts": "1"})
        self._database = Database(options, config, self.context.stopping)
        self.context.exit_stack.callback(self._database.close)
        server = server_of(self._database, quotes=options.quotes, timeout_ms=options.query_timeout_ms)
        parts = read(options.config)
        stored = self._stored(parts)
        self._readers = [Reader(part, options, server, stored.get(part)) for part in parts]
        self._server = server
        self._interval = options.poll_interval
        self._failing: RetryBudget | None = None  # nothing is asked of the database while its pause lasts
        self._rates: dict[str, tuple[float, int]] = {}

    def poll(self) -> SourceBatch | None:
        deadline = time.monotonic() + _WAIT_S
        if self._failing is not None and not self._wait(deadline):
            self._failing.check()
        asked: set[Reader] = set()
        while not self.context.stopping():
            reader = self._next()
            if reader is None and not asked and self._wait(deadline):
                continue
            if reader is None or reader in asked:
                return None
            batch = self._read(reader)
            if batch is not None:
                return batch
            asked.add(reader)
        return None

    def plan(self, most: int) -> ReadPlan | None:
        if not self._wait(time.monotonic() + _WAIT_S):
            if self._failing is not None:
                self._failing.check()
            return None
        now = time.monotonic()
        due = [reader for reader in self._readers if not reader.done and reader.due <= now]
        due = sorted(due, key=lambda reader: reader.due)[:most]
        splits: list[dict[str, Any]] = []
        stored: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        for number, reader in enumerate(due):
            found = self._planned(reader, (most - len(splits)) // (len(due) - number))
            if found is not None:
                splits += found.splits
                stored += [] if found.offset is None else [(dict(reader.partition), found.offset)]
        return ReadPlan(splits, stored) if splits else None

    def read(self, config: Mapping[str, str], split: Mapping[str, Any]) -> Iterator[SourceBatch]:
        options = JdbcSourceOptions.parse({**config, "connection.attempts": "1"})
        database = Database(options, config, self.context.stopping)
        self.context.exit_stack.callback(database.close)
        server = server_of(database, quotes=options.quotes, timeout_ms=options.query_timeout_ms)
        part = part_of(split)
        try:
            yield from read_split(split, part, options, server)
        except Exception as error:
            database.discard()
            if part.table is not None and server.missing(error):
                log.warning("%s is not there any more: %s.", _capital(part), reason(error))
                return
            raise _failure(part, database, error) from error

    def stop(self) -> None:
        for reader in self._readers:
            reader.discard()

    def _stored(self, parts: list[Part]) -> dict[Part, tuple[dict[str, Any], Mapping[str, Any]]]:
        """For each part that has an offset, the source partition that it is under, and the offset."""
        asked = [
            (part, partition)
            for part in parts
            for partition in (offsets.partitions(part.table, part.split) if part.table else [offsets.QUERY])
        ]
        found = self.context.offsets([partition for _, partition in asked])
        stored: dict[Part, tuple[dict[str, Any], Mapping[str, Any]]] = {}
        for (part, partition), offset in zip(asked, found, strict=True):
            if offset is None or part in stored:
                continue
            # Before protocol 1 only names were told; what is stored from now on says more.
            if part.table is not None and "protocol" not in partition:
                stored[part] = (offsets.partitions(part.table)[0], offset)
            else:
                stored[part] = (partition, offset)
        return stored

    def _next(self) -> Reader | None:
        """The next part: the one whose rows are being read, else the one that has been due longest."""
        for reader in self._readers:
            if reader.is_open:
                return reader
        now = time.monotonic()
        if self._failing is not None and now < self._failing.due:
            return None
        due = [reader for reader in self._readers if not reader.done and reader.due <= now]
        return min(due, key=lambda reader: reader.due, default=None)

    def _wait(self, deadline: float) -> bool:
        """Wait until something is due. False when that is later than the deadline."""
        now = time.monotonic()
        due = min((reader.due for reader in self._readers if not reader.done), default=deadline + 1)
        due = max(due, self._failing.due if self._failing is not None else due)
        while now < min(due, deadline) and not self.context.stopping():
            time.sleep(min(_SLICE_S, max(0.001, min(due, deadline) - now)))
            now = time.monotonic()
        return due <= now

    def _read(self, reader: Reader) -> SourceBatch | None:
        try:
            batch = reader.poll()
        except Exception as error:
            self._failed(reader, error)
            return None
        self._worked(reader, 0 if batch is None else len(batch))
        return batch

    def _planned(self, reader: Reader, most: int) -> PartSplits | None:
        try:
            found = reader.plan(most)
        except Exception as error:
            self._failed(reader, error)
            return None
        self._worked(reader, 0 if found is None else found.rows)
        return found

    def _worked(self, reader: Reader, rows: int) -> None:
        reader.retries.worked()
        self._failing = None
        self._count(reader, rows)

    def _failed(self, reader: Reader, error: Exception) -> None:
        """Raise errors for the runtime; a dropped table is left to the connector, which notices it."""
        reader.discard()
        metrics, table = self.context.metrics, str(reader.part.table or "query")
        metrics.count("jdbc_source_errors_total", table=table)
        metrics.gauge("jdbc_source_last_error_timestamp_seconds", time.time(), table=table)
        if self._server.missing(error) and reader.part.table is not None:
            self._database.discard()
            reader.due = time.monotonic() + max(1.0, self._interval)
            log.warning("%s is not there: %s. It is looked for again.", _capital(reader.part), reason(error))
            return
        self._database.discard()
        failure = _failure(reader.part, self._database, error)
        if not isinstance(failure, RetriableError):
            raise failure from error
        self._failing = reader.retries
        raise self._failing.failed(str(failure)) from error

    def _count(self, reader: Reader, rows: int) -> None:
        metrics, table = self.context.metrics, str(reader.part.table or "query")
        metrics.count("jdbc_source_rows_total", rows, table=table)
        now = time.monotonic()
        since, counted = self._rates.get(table, (now, 0))
        counted += rows
        if now - since >= _RATE_S:
            metrics.gauge("jdbc_source_rows_per_second", counted / (now - since), table=table)
            since, counted = now, 0
        self._rates[table] = (since, counted)
        if reader.position.time is not None:
            metrics.gauge("jdbc_source_position_timestamp_seconds", reader.position.time / 1e6, table=table)


def _capital(part: Part) -> str:
    said = str(part)
    return said[0].upper() + said[1:]


def _failure(part: Part, database: Database, error: Exception) -> ConnectError:
    """The error to raise for what went wrong while a part was read: a RetriableError where it may pass."""
    if isinstance(error, DataError) or not (isinstance(error, RetriableError) or passes(error)):
        if isinstance(error, ConnectError):
            return error
        return ConnectError(f"{_capital(part)} cannot be read from {database}: {reason(error)}")
    why = str(error) if isinstance(error, ConnectError) else f"{database}: {reason(error)}"
    return RetriableError(f"Reading {part} failed: {why.rstrip('.')}.")
