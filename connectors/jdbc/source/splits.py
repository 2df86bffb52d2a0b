"""Divides the new rows of a part into ranges of a column, which can be read at the same time (engine=spark).

What is new is bounded first: by the highest number or time that there is now. The ranges have conditions of their own,
and the offset behind all of them is known before anything is read. So it is the one that the worker engine would have
stored after the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import sqlalchemy

from connect import ConfigError, SourceBatch
from connectors.jdbc.database import TableName
from connectors.jdbc.source import offsets
from connectors.jdbc.source.keys import BOTH, BULK, SNAPSHOT, TIMESTAMP, JdbcSourceOptions
from connectors.jdbc.source.new_rows import Ask, NewRows
from connectors.jdbc.source.offsets import Position
from connectors.jdbc.source.parts import Part
from connectors.jdbc.source.rows import MOST_BYTES
from connectors.jdbc.source.servers import Server

NO_SUFFIX: Final = (
    "is for engine=worker: on Spark it is settled before the statement runs what is read, and a LIMIT would lose some. "
    "Leave it out."
)
#: Fewer rows than this are not divided: a split has its price.
_ROWS_OF_SPLIT: Final = 20_000
#: Rows of a split, about, where less can be read: some seconds of work. A failure repeats it, and so does a stop with
#: at-least-once; with exactly-once it is one transaction.
_MOST_ROWS: Final = 250_000
#: Rows of a batch, also where polls have fewer.
_ROWS_OF_BATCH: Final = 10_000


class PartSplits(NamedTuple):
    """What is new of a part.

    Attributes:
        splits: see `read_split`.
        after: the position behind all of it.
        offset: the same as it is stored; None where the mode has no offsets.
        rows: how many.
        all: whether these are all that are there now.
    """

    splits: list[dict[str, Any]]
    after: Position
    offset: dict[str, Any] | None
    rows: int
    all: bool


@dataclass(frozen=True, slots=True)
class _Extent:
    """The rows that some conditions select.

    Attributes:
        rows: how many.
        low, high: the lowest and the highest value of the key; None without a key, or without rows.
        first, last: the earliest and the latest time, in microseconds since 1970; None without times, or rows.
    """

    rows: int
    low: int | None = None
    high: int | None = None
    first: int | None = None
    last: int | None = None


def plan_splits(new: NewRows, options: JdbcSourceOptions, server: Server, most: int) -> PartSplits | None:
    """The new rows of a part in at most so many splits; None when there are none.

    Raises what the database's driver raises, ConfigError and ConnectError.
    """
    if options.query_suffix:
        raise ConfigError("query.suffix", NO_SUFFIX)
    connection = server.connect(options.transaction_isolation_mode)
    ask = new.ask(connection, keyed=True)
    chosen = new.plan
    bounded = _bounded(new, server, connection, ask, most * _MOST_ROWS)
    extent = _extent(new, server, connection, bounded or ask)
    if not extent.rows:
        return None
    if chosen.mode in (TIMESTAMP, BOTH):
        number = _number_at(new, server, connection, ask, extent) if chosen.mode == BOTH else None
        after = Position(extent.last, number)
        ask = _narrowed(ask, _timed(new, server, ask, "<=", extent.last))
    elif chosen.mode == BULK or extent.high is None:
        after = new.position
    else:
        after = Position(None, extent.high)
        ask = _narrowed(ask, f"{_key(new, server)} <= {extent.high}")
    count = max(1, min(most, -(-extent.rows // _ROWS_OF_SPLIT)))
    cuts = _cuts(new, server, connection, ask, extent, count) if count > 1 else _WHOLE
    splits = [_written(new.part, each) for each in _ranges(ask, cuts)]
    return PartSplits(splits, after, _offset(new, after, whole=bounded is None), extent.rows, bounded is None)


def _extent(new: NewRows, server: Server, connection: Any, ask: Ask) -> _Extent:
    """What the conditions select, in one question."""
    key = _key(new, server)
    wanted = ["COUNT(*)"]
    wanted += [f"MIN({key})", f"MAX({key})"] if key else ["NULL", "NULL"]
    timed = new.plan.mode in (TIMESTAMP, BOTH)
    if timed:
        moment = new.moment(new.plan)
        wanted += [f"MIN({moment})", f"MAX({moment})"]
    rows, low, high, *times = _one(connection, ask, wanted)
    first, last = (None if time is None else _micros(new, time) for time in (times or (None, None)))
    return _Extent(int(rows), None if low is None else int(low), None if high is None else int(high), first, last)


def _bounded(new: NewRows, server: Server, connection: Any, ask: Ask, most: int) -> Ask | None:
    """The first rows, about so many; None where there are no more, or the mode has no order in which they are read.

    Nobody counts what is behind them: a table may have a thousand times as many rows.
    """
    key, mode = _key(new, server), new.plan.mode
    if mode in (TIMESTAMP, BOTH):
        found = _nth(server, connection, ask, new.moment(new.plan), most)
        return None if found is None else _narrowed(ask, _timed(new, server, ask, "<=", _micros(new, found)))
    if mode == BULK or not key:
        return None
    found = _nth(server, connection, ask, key, most)
    return None if found is None else _narrowed(ask, f"{key} <= {int(found)}")


def _nth(server: Server, connection: Any, ask: Ask, ordered: str, number: int) -> Any:
    """The value of the row of this number, from 0, in the order of a column; None where there are fewer rows."""
    # Each database says it in words of its own, which SQLAlchemy knows.
    column: Any = sqlalchemy.literal_column("connect_column")
    where: Any = sqlalchemy.literal_column("connect_where")
    made = sqlalchemy.select(column).select_from(sqlalchemy.table("connect_source")).order_by(column)
    made = (made.where(where) if ask.conditions else made).limit(1).offset(number)
    text = str(made.compile(dialect=server.database.dialect, compile_kwargs={"literal_binds": True}))
    text = text.replace("connect_column", ordered).replace("connect_source", ask.whole.source)
    text = text.replace("connect_where", " AND ".join(ask.conditions))
    with connection.begin():
        return connection.execution_options(no_parameters=True).exec_driver_sql(text).scalar()


def _number_at(new: NewRows, server: Server, connection: Any, ask: Ask, extent: _Extent) -> int | None:
    """The highest number among the rows of the last time."""
    latest = _narrowed(ask, _timed(new, server, ask, "=", extent.last))
    (number,) = _one(connection, latest, [f"MAX({_key(new, server)})"])
    return None if number is None else int(number)


def _timed(new: NewRows, server: Server, ask: Ask, compared: str, micros: int | None) -> str:
    """A condition on a row's time."""
    assert micros is not None  # there are rows, and each has a time
    literal = server.time_literal(new.as_column(micros), new.plan.times[0], ask.whole)
    return f"{new.moment(new.plan)} {compared} {literal}"


class _Cuts(NamedTuple):
    """Where ranges begin, except the first.

    Attributes:
        column: a column or an expression.
        values: in a statement, ascending.
    """

    column: str
    values: Sequence[str]


_WHOLE: Final = _Cuts("", ())


def _cuts(new: NewRows, server: Server, connection: Any, ask: Ask, extent: _Extent, count: int) -> _Cuts:
    """Where so many ranges begin: of equal width where rows have whole numbers, else with as many rows each."""
    if key := _key(new, server):
        return _Cuts(key, _equal_widths(extent, count))
    chosen = new.plan
    if chosen.times:
        column, text = chosen.times[0], new.moment(chosen)
    elif chosen.sorted is not None:
        column, text = chosen.sorted, server.column(chosen.sorted.name)
    else:
        return _WHOLE
    # Along the index, a range at a time.
    step = -(-extent.rows // count)
    cuts: list[str] = []
    behind, passed = ask, step
    while len(cuts) < count - 1 and (found := _nth(server, connection, behind, text, passed)) is not None:
        cuts.append(server.literal(found, column, new.whole))
        # Rows of the value itself are in its range, however many.
        behind, passed = _narrowed(ask, f"{text} > {cuts[-1]}"), step - 1
    return _Cuts(text, cuts)


def _equal_widths(extent: _Extent, count: int) -> list[str]:
    if extent.low is None or extent.high is None:
        return []
    width = extent.high - extent.low + 1
    cuts = {extent.low + width * number // count for number in range(1, count)} - {extent.low}
    return [str(cut) for cut in sorted(cuts)]


def _ranges(ask: Ask, cuts: _Cuts) -> Iterator[Ask]:
    """The first and the last range are open: what is asked for is in one of them."""
    for low, high in zip([None, *cuts.values], [*cuts.values, None], strict=True):
        bounds = [] if low is None else [f"{cuts.column} >= {low}"]
        bounds += [] if high is None else [f"{cuts.column} < {high}"]
        yield _narrowed(ask, *bounds)


def _offset(new: NewRows, after: Position, *, whole: bool) -> dict[str, Any] | None:
    if new.plan.mode == BULK:
        return None
    if new.plan.mode != SNAPSHOT:
        return after.offset()
    cuts = {offsets.CUTS: list(new.part.cuts)} if new.part.cuts else {}
    return {offsets.SNAPSHOT: offsets.COMPLETED if whole else offsets.RUNNING, **after.offset(), **cuts}


def _written(part: Part, ask: Ask) -> dict[str, Any]:
    table = list(part.table.parts) if part.table is not None else None
    return {"table": table, "where": list(ask.conditions), "order": list(ask.order)}


def part_of(split: Mapping[str, Any]) -> Part:
    """The part to which a split belongs."""
    names = split["table"]
    return Part() if names is None else Part(TableName(names[-1], *reversed(names[:-1])))


def read_split(
    split: Mapping[str, Any], part: Part, options: JdbcSourceOptions, server: Server
) -> Iterator[SourceBatch]:
    """Read the rows of a split.

    Args:
        split: conditions, and columns that give the order.
        part: see `part_of`.
        options: the task's keys.
        server: of the database.

    Raises what the database's driver raises, DataError and ConnectError.
    """
    new = NewRows(part, options, server, None)
    partition = offsets.QUERY if part.table is None else offsets.partitions(part.table)[0]
    connection = server.connect(options.transaction_isolation_mode)
    select = new.select(Ask(new.whole, split["where"], split["order"]))
    with closing(server.open(connection, select, new.rows)) as result:
        while not result.ended:
            if read := result.read(max(options.batch_max_rows, _ROWS_OF_BATCH), MOST_BYTES):
                yield SourceBatch(new.topic, result.rows.values(read), source_partitions=partition)


def _narrowed(ask: Ask, *conditions: str) -> Ask:
    return replace(ask, conditions=[*ask.conditions, *conditions])


def _key(new: NewRows, server: Server) -> str:
    """The key in a statement; empty where there is none."""
    return server.column(new.plan.key.name) if new.plan.key is not None else ""


def _one(connection: Any, ask: Ask, wanted: Sequence[str]) -> Any:
    """One row of what the conditions select."""
    where = f"\nWHERE {' AND '.join(ask.conditions)}" if ask.conditions else ""
    text = f"SELECT {', '.join(wanted)} FROM {ask.whole.source}{where}"
    with connection.begin():
        return connection.execution_options(no_parameters=True).exec_driver_sql(text).one()


def _micros(new: NewRows, time: Any) -> int:
    """A time as the database's driver gives it, in microseconds since 1970."""
    return new.rows(new.plan.times).moment(time)
