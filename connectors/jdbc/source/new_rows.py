"""Which rows of a part are new: the conditions of a statement that selects them, and their order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect import ConnectError, RetriableError
from connect.data.times import EPOCH
from connectors.jdbc.database.columns import Column, Kind
from connectors.jdbc.database.columns import Mapping as ColumnMapping
from connectors.jdbc.source.keys import BOTH, INCREMENTING, SNAPSHOT, TIMESTAMP, JdbcSourceOptions
from connectors.jdbc.source.offsets import Position
from connectors.jdbc.source.parts import Part
from connectors.jdbc.source.plan import Plan, plan
from connectors.jdbc.source.rows import Rows
from connectors.jdbc.source.servers import Select, Server
from connectors.jdbc.source.tables import bracketed, statement


class ColumnsChanged(RetriableError):
    """The columns by which rows are found are of other types than before: what was asked does not fit them."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for new rows.

    Attributes:
        whole: the table or query, without conditions.
        conditions: all of them hold.
        order: columns, ascending.
    """

    whole: Select
    conditions: Sequence[str]
    order: Sequence[str]


class NewRows:
    """The new rows of one part. For one thread.

    Args:
        part: what is read.
        options: the task's keys.
        server: of the database.
        offset: the stored one; None where there is none.

    Attributes:
        part: see above.
        topic: of the records.
        position: the last row that was read.
        last_time: its time as the database has it, more exact than the offset can be; None where it is not known.
    """

    def __init__(
        self, part: Part, options: JdbcSourceOptions, server: Server, offset: Mapping[str, Any] | None
    ) -> None:
        self.part = part
        self.topic = options.topic_prefix + (part.table.name if part.table else "")
        self.position = Position.of(offset)
        self.last_time: Any = None
        self._options = options
        self._server = server
        self._query = "" if part.table else options.query
        self._began = bool(offset)
        self._plan: Plan | None = None
        self._mapping = ColumnMapping(options.numbers, options.timestamp_granularity)
        self._shapes: dict[tuple[Column, ...], Rows] = {}

    @property
    def plan(self) -> Plan:
        """How the part is read: known after the first `ask`."""
        assert self._plan is not None
        return self._plan

    def ask(self, connection: Any, *, keyed: bool = False) -> Ask:
        """What is to be asked now.

        Args:
            connection: of the server.
            keyed: whether the table's key is looked for in every mode.

        Raises what the database's driver raises, ConfigError and ConnectError.
        """
        whole = self.whole
        if self._plan is None:
            key: list[str] = []
            mode_has_key = self._options.mode == SNAPSHOT or bool(self.part.cuts)
            if whole.table is not None and (mode_has_key or keyed):
                key = self._server.primary_key(connection, whole.table)
            self._plan = plan(self._options, self.part, self._server.columns(connection, whole), key, keyed=keyed)
        return Ask(whole, *self._conditions(connection, whole, self._plan))

    @property
    def whole(self) -> Select:
        """The table or query, without conditions."""
        table = self.part.table
        if table is not None and not self._options.table_names_qualify:
            table = type(table)(table.name)
        source = bracketed(self._query) if table is None else self._server.name(table)
        return Select(self._query or f"SELECT * FROM {source}", source, table, self._query)

    def select(self, ask: Ask) -> Select:
        """The statement that reads the rows."""
        whole = ask.whole
        text = statement(whole.source, ask.conditions, ask.order, self._options.query_suffix, self._query)
        return Select(text, whole.source, whole.table, self._query)

    def rows(self, columns: Sequence[Column]) -> Rows:
        """How rows with these columns are converted.

        Raises:
            ColumnsChanged: see there. The next `ask` fits them.
        """
        columns = tuple(columns)
        if self._plan is not None and not self._plan.fits(columns):
            self._plan, self.last_time = None, None
            raise ColumnsChanged(f"Columns of {self.part} have been given other types.")
        found = self._shapes.get(columns)
        if found is None:
            if not columns:
                raise ConnectError(f"{self.part} has no columns: there is nothing that a record could hold.")
            name = self.part.table.name if self.part.table else None
            zone = self._server.database.settings.zone
            found = self._shapes[columns] = Rows(columns, name, self._mapping, zone, str(self.part))
        return found

    def moment(self, chosen: Plan) -> str:
        """A row's time in a statement."""
        times = [self._server.column(column.name) for column in chosen.times]
        return times[0] if len(times) == 1 else f"COALESCE({', '.join(times)})"

    def as_column(self, micros: int) -> dt.datetime:
        """A moment in the form of the timestamp columns: in UTC, or on the clock of `db.timezone`."""
        moment = EPOCH + dt.timedelta(microseconds=micros)
        if self.plan.times[0].kind is Kind.MOMENT:
            return moment
        return moment.astimezone(self._server.database.settings.zone).replace(tzinfo=None)

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
        moment = self.moment(chosen)
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
        if self.last_time is not None:
            last = self.last_time
            only_date = isinstance(last, dt.date) and not isinstance(last, dt.datetime)
            return dt.datetime.combine(last, dt.time()) if only_date else last
        if self.position.time is None and not self._began:
            initial = self._options.timestamp_initial
            if initial is not None:
                now = self._moment_of(self._server.now(connection)) if initial == -1 else initial * 1000
                self.position = Position(now, self.position.number)
            self._began = True
        return None if self.position.time is None else self.as_column(self.position.time)

    def _until(self, connection: Any, whole: Select, chosen: Plan) -> str:
        """The time before which to read, in a statement: younger rows may not all be committed yet."""
        now = self._moment_of(self._server.now(connection))
        end = now - self._options.timestamp_delay_interval_ms * 1000
        if self.part.table is not None:
            settled = self._server.settled(connection, self.part.table)
            end = end if settled is None else min(end, settled)
        # As coarse as the column is: of a second that is not over, rows are still to come.
        fraction = min(column.fraction for column in chosen.times)
        value = self.as_column(end)
        value = value.replace(microsecond=value.microsecond // 10 ** (6 - fraction) * 10 ** (6 - fraction))
        if all(column.kind is Kind.DATE for column in chosen.times):
            value = value.replace(hour=0, minute=0, second=0, microsecond=0)
        return self._server.time_literal(value, chosen.times[0], whole)

    def _moment_of(self, now: int | dt.datetime) -> int:
        if isinstance(now, int):
            return now
        aware = now.replace(tzinfo=self._server.database.settings.zone)
        return int((aware - EPOCH) // dt.timedelta(microseconds=1))
