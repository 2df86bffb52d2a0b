r"""The runs of a query: which rows are new, and the position after them.

With exactly-once a run is a batch with its own number. Its range of rows is durable before the first is written, so
that an unfinished one is repeated with the same rows. An offset is then, for example,

    {"batch": 7, "incrementing": 1200}                                   all rows up to 1200 are written
    {"batch": 7, "incrementing": 1200, "to": "{\"incrementing\": 1300}"}   those up to 1300 are being written
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.data.times import EPOCH
from connect.errors import ConfigError, ConnectError

_MICROSECOND: Final = dt.timedelta(microseconds=1)
_BATCH, _TO = "batch", "to"
INCREMENTING, TIMESTAMP = "incrementing", "timestamp"

#: Values by INCREMENTING and TIMESTAMP, the latter in microseconds since the epoch.
_Bound = dict[str, int]


class Polls:
    """Runs one query. For one thread.

    Args:
        spark: a session.
        query: in SQL.
        incrementing, timestamp: the columns that show which rows are new; None for none.
        delay: in ms, see `timestamp.delay.interval.ms`.
        offset: where to continue.
        write: writes rows as the batch of a number, and returns when they are durable.
        store: makes an offset durable.

    Raises:
        ConnectError: the offset does not belong to this query.
    """

    def __init__(
        self,
        spark: Any,
        query: str,
        incrementing: str | None,
        timestamp: str | None,
        delay: int,
        offset: Mapping[str, Any],
        write: Callable[[Any, int], None],
        store: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._spark = spark
        self._query = query
        self._columns = {
            name: column for name, column in ((TIMESTAMP, timestamp), (INCREMENTING, incrementing)) if column
        }
        self._delay = delay
        self._write = write
        self._store = store
        self._batch = int(offset.get(_BATCH, 0))
        self._done = _parsed(offset)
        begun = offset.get(_TO)
        self._begun: _Bound | None = None if begun is None else _parsed(json.loads(begun))
        if self._columns and self._begun == {}:  # begun without such columns: where it was to end nobody knows
            self._begun, self._batch = None, self._batch + 1

    def once(self) -> bool:
        """Write the rows that are new, if there are any. Raises what Spark raises.

        Returns:
            whether it finished a run that had been begun before, so that there may be rows behind its bound.
        """
        rows = self._spark.sql(self._query)
        if not self._columns:
            self._commit(rows, {})
            return False
        self._check(rows.schema)
        rows = rows.where(self._after(self._done))
        begun = self._begun
        bound = begun if begun is not None else self._newest(rows)
        if bound:
            self._commit(rows.where(~self._after(bound)), bound)
        return begun is not None

    def _commit(self, rows: Any, bound: _Bound) -> None:
        if self._begun is None:
            self._begun = bound
            self._store({**self._told(), _TO: json.dumps(_shown(bound))})
        self._write(rows, self._batch)
        self._done, self._begun, self._batch = bound, None, self._batch + 1
        self._store(self._told())

    def _told(self) -> dict[str, Any]:
        return {_BATCH: self._batch, **_shown(self._done)}

    def _newest(self, rows: Any) -> _Bound:
        """The values of the last row; empty for no rows."""
        from pyspark.sql import functions as sf

        if TIMESTAMP in self._columns and self._delay:
            rows = rows.where(
                self._value(TIMESTAMP) <= self._literal(TIMESTAMP, time.time_ns() // 1000 - self._delay * 1000)
            )
        # The greatest by the first column, and among those by the second.
        told = {
            name: sf.unix_micros(self._value(name)) if name == TIMESTAMP else self._value(name)
            for name in self._columns
        }
        last = rows.agg(sf.max(sf.struct(*(value.alias(name) for name, value in told.items()))).alias("last")).first()[
            "last"
        ]
        return {} if last is None else {name: int(last[name]) for name in self._columns}

    def _after(self, bound: _Bound) -> Any:
        """The condition for rows after a position; rows with null there are never after it."""
        from pyspark.sql import functions as sf

        known = sf.lit(True)
        for name in self._columns:
            known &= self._value(name).isNotNull()
        after: Any = None
        for name in reversed(self._columns):
            if name not in bound:
                continue
            value, least = self._value(name), self._literal(name, bound[name])
            after = value > least if after is None else (value > least) | ((value == least) & after)
        return known if after is None else known & after

    def _value(self, name: str) -> Any:
        from pyspark.sql import functions as sf

        quoted = self._columns[name].replace("`", "``")
        column = sf.col(f"`{quoted}`")
        return column.cast("timestamp" if name == TIMESTAMP else "bigint")

    def _literal(self, name: str, value: int) -> Any:
        from pyspark.sql import functions as sf

        return sf.timestamp_micros(sf.lit(value)) if name == TIMESTAMP else sf.lit(value)

    def _check(self, schema: Any) -> None:
        wanted = {
            INCREMENTING: ("tinyint", "smallint", "int", "bigint"),
            TIMESTAMP: ("timestamp", "timestamp_ntz", "date"),
        }
        known = {field.name: field.dataType.simpleString() for field in schema.fields}
        for name, column in self._columns.items():
            if known.get(column) not in wanted[name]:
                found = f"is of type {known[column]}" if column in known else "is not among the query's columns"
                raise ConfigError(
                    f"{name}.column.name", f'"{column}" {found}. Name one of {" or ".join(wanted[name])}.'
                )


def _parsed(offset: Mapping[str, Any]) -> _Bound:
    bound: _Bound = {}
    try:
        if INCREMENTING in offset:
            bound[INCREMENTING] = int(offset[INCREMENTING])
        if TIMESTAMP in offset:
            moment = dt.datetime.fromisoformat(offset[TIMESTAMP])
            aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
            bound[TIMESTAMP] = (aware - EPOCH) // _MICROSECOND
    except (ValueError, TypeError) as error:
        raise ConnectError(f"The stored offset {dict(offset)} is none of this query: {error}. Reset it.") from error
    return bound


def _shown(bound: _Bound) -> dict[str, Any]:
    shown: dict[str, Any] = dict(bound)
    if TIMESTAMP in bound:
        shown[TIMESTAMP] = (EPOCH + bound[TIMESTAMP] * _MICROSECOND).isoformat()
    return shown
