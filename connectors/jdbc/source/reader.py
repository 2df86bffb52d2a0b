"""Reads one part: opens a statement for what is new, makes batches of its rows, and knows where to continue."""

from __future__ import annotations

import datetime as dt
import logging
import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

from connect import ConnectError, DataError, SourceBatch, StructColumns
from connect.data import Deferred
from connect.data.struct_columns import concat_columns
from connect.data.times import EPOCH
from connect.kit import RetryBudget
from connectors.jdbc.database import Database
from connectors.jdbc.database.columns import Column, Kind
from connectors.jdbc.database.columns import Mapping as ColumnMapping
from connectors.jdbc.source import offsets
from connectors.jdbc.source.keys import BOTH, INCREMENTING, SNAPSHOT, TIMESTAMP, JdbcSourceOptions
from connectors.jdbc.source.offsets import Position
from connectors.jdbc.source.parts import Part
from connectors.jdbc.source.plan import Plan, names, plan
from connectors.jdbc.source.rows import Read, Rows
from connectors.jdbc.source.servers import Result, Select, Server
from connectors.jdbc.source.tables import bracketed, statement

log = logging.getLogger(__name__)

#: The most bytes of a database's text that one batch is made of.
_MOST_BYTES: Final = 8 * 1024 * 1024
_INT64: Final = 1 << 63


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
        self.topic = options.topic_prefix + (part.table.name if part.table else "")
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
        self._mapping = ColumnMapping(options.numbers, options.timestamp_granularity)
        self._mode = names(options, part)[0]
        self._query = "" if part.table else options.query
        self.partition: Mapping[str, Any] = (
            stored[0] if stored else (offsets.partitions(part.table, part.split)[0] if part.table else offsets.QUERY)
        )
        offset: Mapping[str, Any] = stored[1] if stored else {}
        self.done = self._mode == SNAPSHOT and offset.get(offsets.SNAPSHOT) == offsets.COMPLETED
        self.position = Position.of(offset)
        self._began = bool(offset)
        self._last_time: Any = None  # of the position, as the database has it: more exact than the offset can be
        self._plan: Plan | None = None
        self._result: Result | None = None
        self._held: _Chunk | None = None
        self._shapes: dict[tuple[Column, ...], Rows] = {}

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
        server = self._server
        connection = server.connect(self._options.transaction_isolation_mode)
        table = self.part.table
        if table is not None and not self._options.table_names_qualify:
            table = type(table)(table.name)
        source = bracketed(self._query) if table is None else server.name(table)
        whole = Select(self._query or f"SELECT * FROM {source}", source, table, self._query)
        if self._plan is None:
            key: list[str] = []
            if table is not None and (self._mode == SNAPSHOT or self.part.cuts):
                key = server.primary_key(connection, table)
            self._plan = plan(self._options, self.part, server.columns(connection, whole), key)
        conditions, order = self._conditions(connection, whole, self._plan)
        text = statement(source, conditions, order, self._options.query_suffix, self._query)
        self._result = server.open(connection, Select(text, source, table, self._query), self._shape)

    def _shape(self, columns: Any) -> Rows:
        columns = tuple(columns)
        found = self._shapes.get(columns)
        if found is None:
            if not columns:
                raise ConnectError(f"{self.part} has no columns: there is nothing that a record could hold.")
            name = self.part.table.name if self.part.table else None
            zone = self._database.settings.zone
            found = self._shapes[columns] = Rows(columns, name, self._mapping, zone, str(self.part))
        return found

    def _conditions(self, connection: Any, whole: Select, chosen: Plan) -> tuple[list[str], list[str]]:
        server, position = self._server, self.position
        number = server.column(chosen.number.name) if chosen.number else ""
        if chosen.mode not in (TIMESTAMP, BOTH):
            conditions = []
            low, high = self.part.bounds
            if low is not None and number:
                conditions.append(f"{number} >= {low}")
            if high is not None and number:
                conditions.append(f"{number} < {high}")
            after = position.number
            if chosen.mode == INCREMENTING and after is None:
                after = self._options.incrementing_initial
            if after is not None and number and chosen.mode in (INCREMENTING, SNAPSHOT):
                conditions.append(f"{number} > {after}")
            ordered = chosen.mode in (INCREMENTING, SNAPSHOT) and number
            return conditions, [number] if ordered else []
        times = [server.column(column.name) for column in chosen.times]
        moment = times[0] if len(times) == 1 else f"COALESCE({', '.join(times)})"
        column = chosen.times[0]
        after_time, until = self._since(connection), self._until(connection, whole, chosen)
        conditions = [f"{moment} < {until}"]
        if after_time is not None:
            last = server.time_literal(after_time, column, whole)
            if chosen.mode == BOTH and position.time is not None and position.number is not None:
                conditions.append(f"(({moment} = {last} AND {number} > {position.number}) OR {moment} > {last})")
            else:
                conditions.append(f"{moment} > {last}")
        elif chosen.mode == BOTH and self._options.incrementing_initial is not None:
            conditions.append(f"{number} > {self._options.incrementing_initial}")
        return conditions, [moment, number] if number else [moment]

    def _since(self, connection: Any) -> Any:
        """The time after which to read, in the column's form; None for all times."""
        if self._last_time is not None:
            last = self._last_time
            only_date = isinstance(last, dt.date) and not isinstance(last, dt.datetime)
            return dt.datetime.combine(last, dt.time()) if only_date else last
        if self.position.time is None and not self._began:
            initial = self._options.timestamp_initial
            if initial is not None:
                now = self._moment(self._server.now(connection)) if initial == -1 else initial * 1000
                self.position = Position(now, self.position.number)
            self._began = True
        return None if self.position.time is None else self._as_column(self.position.time)

    def _until(self, connection: Any, whole: Select, chosen: Plan) -> str:
        """The time before which to read, in a statement: younger rows may not all be committed yet."""
        now = self._moment(self._server.now(connection))
        end = now - self._options.timestamp_delay_interval_ms * 1000
        if self.part.table is not None:
            settled = self._server.settled(connection, self.part.table)
            end = end if settled is None else min(end, settled)
        # As coarse as the column is: of a second that is not over, rows are still to come.
        fraction = min(column.fraction for column in chosen.times)
        value = self._as_column(end)
        value = value.replace(microsecond=value.microsecond // 10 ** (6 - fraction) * 10 ** (6 - fraction))
        if all(column.kind is Kind.DATE for column in chosen.times):
            value = value.replace(hour=0, minute=0, second=0, microsecond=0)
        return self._server.time_literal(value, chosen.times[0], whole)

    def _as_column(self, micros: int) -> dt.datetime:
        """A moment in the form of the timestamp columns: in UTC, or on the clock of `db.timezone`."""
        assert self._plan is not None
        moment = EPOCH + dt.timedelta(microseconds=micros)
        if self._plan.times[0].kind is Kind.MOMENT:
            return moment
        return moment.astimezone(self._database.settings.zone).replace(tzinfo=None)

    def _moment(self, now: int | dt.datetime) -> int:
        if isinstance(now, int):
            return now
        aware = now.replace(tzinfo=self._database.settings.zone)
        return int((aware - EPOCH) // dt.timedelta(microseconds=1))

    # What comes.

    def _read(self, result: Result) -> _Chunk | None:
        """The next rows that may be returned: of rows with one time either all or none, if they fit into memory."""
        read = result.read(self._options.batch_max_rows, _MOST_BYTES)
        if not read:
            held, self._held = self._held, None
            return held
        chunk = self._chunk(result.rows, read)
        assert self._plan is not None
        if self._plan.mode != TIMESTAMP:
            return chunk
        chunk, self._held = chunk.after(self._held), None
        if result.ended:
            return chunk
        start = bisect_left(chunk.times, chunk.times[-1])
        if start == 0:
            return chunk
        given, self._held = chunk.cut(start)
        return given

    def _chunk(self, rows: Rows, read: list[Read]) -> _Chunk:
        assert self._plan is not None
        chosen = self._plan
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
        assert self._plan is not None
        mode, n = self._plan.mode, len(chunk)
        self._rows += n
        closed = mode != TIMESTAMP or last or self._held is not None
        before = self.position
        if mode == TIMESTAMP:
            at = _times_at(chunk.times, before, closed)
        elif mode in (INCREMENTING, BOTH):
            at = _each_at(chunk)
        elif mode == SNAPSHOT:
            at = self._snapshot_at(chunk, last)
        else:
            return SourceBatch(self.topic, chunk.values, source_partitions=self.partition)
        end = at(n - 1)
        self.position = Position.of(end)
        if self.position != before:
            moved = chunk.times and self.position.time == chunk.times[-1]
            self._last_time = chunk.last_time if moved else None
        return SourceBatch(
            self.topic,
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
