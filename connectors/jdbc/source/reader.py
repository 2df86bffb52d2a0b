"""Reads one part: opens a statement for what is new, makes batches of its rows, and knows where to continue."""

from __future__ import annotations

import logging
import re
import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

from connect import DataError, SourceBatch, StructColumns
from connect.data import Deferred
from connect.data.struct_columns import concat_columns
from connect.kit import RetryBudget
from connectors.jdbc.database import Database
from connectors.jdbc.database.columns import Column
from connectors.jdbc.source import offsets
from connectors.jdbc.source.keys import BOTH, INCREMENTING, SNAPSHOT, TIMESTAMP, JdbcSourceOptions
from connectors.jdbc.source.new_rows import ColumnsChanged, NewRows
from connectors.jdbc.source.offsets import Position
from connectors.jdbc.source.parts import Part
from connectors.jdbc.source.plan import names
from connectors.jdbc.source.rows import MOST_BYTES, Read, Rows
from connectors.jdbc.source.servers import Result, Server
from connectors.jdbc.source.splits import PartSplits, plan_splits

log = logging.getLogger(__name__)

_INT64: Final = 1 << 63
#: A limit in query.suffix, behind which there may be more rows of the last time.
_LIMIT: Final = re.compile(r"\bLIMIT\s+(?:\d+\s*,\s*)?(\d+)|\bFETCH\s+(?:FIRST|NEXT)\s+(\d+)", re.IGNORECASE)


@dataclass(slots=True)
class _Chunk:
    """Rows that were read: their values, and the columns of positions."""

    values: StructColumns
    times: list[int]
    numbers: list[int]
    last_time: Any = None  # as the database has it

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, at: int) -> tuple[_Chunk, _Chunk]:
        """The rows before, and the rest."""
        values, n = self.values, len(self)
        first, rest = values.between(0, at), values.between(at, n)
        assert isinstance(first, StructColumns)
        assert isinstance(rest, StructColumns)
        return _Chunk(first, self.times[:at], []), _Chunk(rest, self.times[at:], [], self.last_time)

    def after(self, before: _Chunk | None) -> _Chunk:
        """The rows of another chunk and these."""
        if before is None:
            return self
        values = concat_columns([before.values, self.values])
        return _Chunk(values, before.times + self.times, [], self.last_time)


class Reader:
    """Reads one part repeatedly. For one thread.

    Args:
        part: what to read.
        options: the task's keys.
        server: of the database.
        stored: the source partition and the offset that are stored for the part, if there are.
    """

    def __init__(
        self,
        part: Part,
        options: JdbcSourceOptions,
        server: Server,
        stored: tuple[Mapping[str, Any], Mapping[str, Any]] | None,
    ) -> None:
        self.part = part
        self.due = 0.0  # by the monotonic clock
        self.retries = RetryBudget(
            options.query_retry_attempts,
            options.backoff,
            key="query.retry.attempts",
            waits_for=str(server.database),
        )
        self._rows = 0
        self._options = options
        self._server = server
        self._database: Database = server.database
        self._mode = names(options, part)[0]
        self.partition: Mapping[str, Any] = (
            stored[0] if stored else (offsets.partitions(part.table, part.split)[0] if part.table else offsets.QUERY)
        )
        offset: Mapping[str, Any] = stored[1] if stored else {}
        self.done = self._mode == SNAPSHOT and offset.get(offsets.SNAPSHOT) == offsets.COMPLETED
        self._new = NewRows(part, options, server, offset)
        self._result: Result | None = None
        self._held: _Chunk | None = None
        limited = _LIMIT.search(options.query_suffix) if self._mode == TIMESTAMP else None
        self._limit = int(limited[1] or limited[2]) if limited else None
        self._asked = (self.position, 0)  # where the statement began, and how many rows it has given

    @property
    def position(self) -> Position:
        """The last row that was read."""
        return self._new.position

    @property
    def is_open(self) -> bool:
        """Whether the last statement has rows left."""
        return self._result is not None

    def poll(self) -> SourceBatch | None:
        """The next rows; None when there are no more for now, and the part is due again later.

        Raises what the database's driver raises, DataError and ConnectError.
        """
        if self._result is None:
            self._open()
        assert self._result is not None
        while not (self._result.ended and self._held is None):
            chunk = self._read(self._result)
            if chunk is not None and len(chunk):
                return self._batch(chunk, last=self._result.ended)
        self._end()
        return None

    def plan(self, most: int) -> PartSplits | None:
        """The next rows in at most so many splits, in place of `poll`; None when there are none for now.

        Raises as `poll` does.
        """
        found = plan_splits(self._new, self._options, self._server, most)
        if found is not None:
            self._rows += found.rows
            self._new.position, self._new.last_time = found.after, None
        if found is None or found.all:
            self._end()
        return found

    def discard(self) -> None:
        """Close the open statement, after an error or at the end."""
        result, self._result, self._held = self._result, None, None
        if result is not None:
            try:
                result.close()
            except Exception:  # it is thrown away; a broken connection breaks in many ways
                self._database.discard()

    def _end(self) -> None:
        self._result = None
        if self._mode == SNAPSHOT:
            self.done = True
            log.info("%s is read: %d rows since the start of the task", self.part, self._rows)
        self.due = time.monotonic() + self._options.poll_interval

    # What is asked.

    def _open(self) -> None:
        try:
            self._ask()
        except ColumnsChanged:
            self._database.discard()  # its statement may be open
            self._ask()

    def _ask(self) -> None:
        connection = self._server.connect(self._options.transaction_isolation_mode)
        asked = self._new.ask(connection)
        self._asked = (self.position, 0)
        self._result = self._server.open(connection, self._new.select(asked), self._new.rows)

    # What comes.

    def _read(self, result: Result) -> _Chunk | None:
        """The next rows that may be returned: of rows with one time either all or none, if they fit into memory."""
        read = result.read(self._options.batch_max_rows, MOST_BYTES)
        if not read:
            held, self._held = self._held, None
            return held
        chunk = self._chunk(result.rows, read)
        if self._new.plan.mode != TIMESTAMP:
            return chunk
        began, count = self._asked
        self._asked = (began, count := count + len(chunk))
        chunk, self._held = chunk.after(self._held), None
        cut_off = result.ended and self._limit is not None and count >= self._limit
        if result.ended and not cut_off:
            return chunk
        start = bisect_left(chunk.times, chunk.times[-1])
        if cut_off and start == 0:
            if self.position != began:
                return None  # the next statement begins with them
            log.warning(
                "%s may have more rows of one time than query.suffix=%s gives: those are lost. Raise the limit.",
                *(self.part, self._options.query_suffix),
            )
        if start == 0:
            return chunk
        given, held = chunk.cut(start)
        self._held = None if cut_off else held
        return given

    def _chunk(self, rows: Rows, read: list[Read]) -> _Chunk:
        chosen = self._new.plan
        times: list[int] = []
        last: Any = None
        if chosen.mode in (TIMESTAMP, BOTH):
            indexes = [rows.index(column.name, "timestamp.column.name") for column in chosen.times]
            columns = [rows.moments(index, read[index]) for index in indexes]
            found = columns[0] if len(columns) == 1 else [_first(each) for each in zip(*columns, strict=True)]
            if None in found:
                raise DataError(f"{self.part} gave a row whose timestamp columns are all null.")
            # Where a clock is moved on, times that it never showed could go backwards.
            times = list(accumulate(found, max))  # type: ignore[arg-type]
            last = _first(_last(read[index]) for index in indexes)
        numbers: list[int] = []
        if chosen.number is not None and chosen.mode in (INCREMENTING, BOTH, SNAPSHOT):
            index = rows.index(chosen.number.name, "incrementing.column.name")
            numbers = self._numbers(chosen.number, read[index])
        return _Chunk(rows.values(read), times, numbers, last)

    def _numbers(self, column: Column, read: Read) -> list[int]:
        items = list(read) if isinstance(read, list | tuple) else read.to_pylist()
        if None in items:
            raise DataError(
                f'The incrementing column "{column.name}" of {self.part} is null in a row, which could never be found '
                "again. Give it a number, or leave such rows out with a query."
            )
        if type(items[0]) is not int or type(items[-1]) is not int:
            exact = [Decimal(item) for item in items]
            numbers = list(map(int, exact))
            if numbers != exact:
                raise DataError(
                    f'The incrementing column "{column.name}" of {self.part} holds numbers that are not whole.'
                )
            items = numbers
        if min(items) < -_INT64 or max(items) >= _INT64:
            raise DataError(
                f'The incrementing column "{column.name}" of {self.part} holds numbers of more than 64 bits.'
            )
        return items

    # What is given.

    def _batch(self, chunk: _Chunk, *, last: bool) -> SourceBatch:
        mode, n = self._new.plan.mode, len(chunk)
        self._rows += n
        closed = mode != TIMESTAMP or last or self._held is not None
        before = self._new.position
        if mode == TIMESTAMP:
            at = _times_at(chunk.times, before, closed)
        elif mode in (INCREMENTING, BOTH):
            at = _each_at(chunk)
        elif mode == SNAPSHOT:
            at = self._snapshot_at(chunk, last)
        else:
            return SourceBatch(self._new.topic, chunk.values, source_partitions=self.partition)
        end = at(n - 1)
        self._new.position = position = Position.of(end)
        if position != before:
            moved = chunk.times and position.time == chunk.times[-1]
            self._new.last_time = chunk.last_time if moved else None
        return SourceBatch(
            self._new.topic,
            chunk.values,
            source_partitions=self.partition,
            source_offsets=Deferred(n, lambda: [at(row) for row in range(n)], at),
        )

    def _snapshot_at(self, chunk: _Chunk, last: bool) -> Any:
        n, numbers = len(chunk), chunk.numbers
        cuts = {offsets.CUTS: list(self.part.cuts)} if self.part.cuts else {}

        def at(row: int) -> dict[str, Any]:
            state = offsets.COMPLETED if last and row == n - 1 else offsets.RUNNING
            number = {offsets.INCREMENTING: numbers[row]} if numbers else {}
            return {offsets.SNAPSHOT: state, **number, **cuts}

        return at


def _last(column: Read) -> Any:
    item = column[-1]
    return item.as_py() if hasattr(item, "as_py") else item


def _first(values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _each_at(chunk: _Chunk) -> Any:
    """Offsets that identify the last row exactly."""
    times, numbers = chunk.times, chunk.numbers

    def at(row: int) -> dict[str, Any]:
        return Position(times[row] if times else None, numbers[row]).offset()

    return at


def _times_at(times: list[int], before: Position, closed: bool) -> Any:
    """Offsets that advance with the last row of each time, so that none of the others is lost."""
    n = len(times)

    def at(row: int) -> dict[str, Any]:
        moment = times[row]
        through = closed if row == n - 1 else times[row + 1] > moment
        if through:
            return Position(moment).offset()
        first = bisect_left(times, moment)
        return Position(times[first - 1]).offset() if first else before.offset()

    return at
