"""How a table is read: its mode, and the columns that show what is new, checked once its columns are known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect import ConfigError, ConnectError
from connectors.jdbc.database.columns import TIMES, WHOLE, Column, Kind
from connectors.jdbc.source.keys import BOTH, BULK, INCREMENTING, SNAPSHOT, TIMESTAMP, JdbcSourceOptions
from connectors.jdbc.source.parts import Part

#: Of which values can be written in a condition, in the order of the database.
_SORTED: Final = WHOLE | TIMES | {Kind.NUMERIC, Kind.STRING, Kind.BYTES}


@dataclass(frozen=True, slots=True)
class Plan:
    """How one part is read.

    Attributes:
        times: columns of which the first that is not null is a row's time.
        number: the incrementing column; of a snapshot the key by which it is read, if there is one.
        key: the column of whole numbers by which rows can be divided, as far as it was looked for.
        sorted: the first column of the primary key, of another type, where there is no such key.
    """

    mode: str
    times: tuple[Column, ...] = ()
    number: Column | None = None
    key: Column | None = None
    sorted: Column | None = None

    def fits(self, columns: Sequence[Column]) -> bool:
        """Whether the columns that show what is new are of the same types among these, if they are there."""
        now = {column.name: (column.kind, column.fraction) for column in columns}
        known = (*self.times, self.number) if self.number else self.times
        return all(now.get(each.name, (each.kind, each.fraction)) == (each.kind, each.fraction) for each in known)


def names(options: JdbcSourceOptions, part: Part) -> tuple[str, tuple[str, ...], str]:
    """The mode, timestamp columns and incrementing column of a table by the keys; the last may be empty.

    Raises:
        ConfigError: mappings do not match the table exactly once.
    """
    times, number, mode = tuple(options.timestamp_column_name), options.incrementing_column_name, options.mode
    if part.table is not None:
        times = _mapped(options.timestamp_columns_mapping, "timestamp.columns.mapping", part) or times
        mapped = _mapped(options.incrementing_column_mapping, "incrementing.column.mapping", part)
        if len(mapped) > 1:
            raise ConfigError("incrementing.column.mapping", f"names several columns for {part}. Name one.")
        number = mapped[0] if mapped else number
    if not mode:
        mode = BOTH if times and number else TIMESTAMP if times else INCREMENTING
    return mode, times if mode in (TIMESTAMP, BOTH) else (), number


def _mapped(mappings: Sequence[tuple[re.Pattern[str], tuple[str, ...]]], key: str, part: Part) -> tuple[str, ...]:
    assert part.table is not None
    if not mappings:
        return ()
    parts = part.table.parts
    whole = [".".join(parts[at:]) for at in range(len(parts))]
    found = [columns for regex, columns in mappings if any(map(regex.fullmatch, whole))]
    if len(found) != 1:
        raise ConfigError(key, f"has {len(found) or 'no'} entries that match {part}. Let exactly one match each table.")
    return found[0]


def plan(
    options: JdbcSourceOptions,
    part: Part,
    columns: Sequence[Column],
    primary_key: Sequence[str],
    *,
    keyed: bool = False,
) -> Plan:
    """How to read a part whose columns are known.

    Args:
        primary_key: names of its columns; needed with mode=snapshot, with ranges, and with `keyed`.
        keyed: whether the key is looked for in every mode.

    Raises:
        ConfigError, ConnectError: a column is missing, or unsuitable.
    """
    mode, times, number = names(options, part)
    # Of a query's columns not every database tells whether they may be null.
    strict = options.validate_non_null and part.table is not None
    if mode in (BULK, SNAPSHOT):
        key = key_of(columns, number, primary_key) if keyed or mode == SNAPSHOT or part.cuts else None
        by = _sorted(columns, primary_key) if keyed and key is None else None
        return Plan(mode, (), key if mode == SNAPSHOT or part.cuts else None, key, by)
    found = tuple(_column(columns, name, "timestamp.column.name", part) for name in times)
    _check_times(found, strict, part)
    counting = None
    if mode in (INCREMENTING, BOTH):
        counting = _counting(columns, number, part)
        if strict and counting.nullable:
            raise ConnectError(
                f'The incrementing column "{counting.name}" of {part} may be null, and such rows are never read. '
                "Make it NOT NULL, choose another one, or set validate.non.null=false."
            )
    return Plan(mode, found, counting, counting or (key_of(columns, number, primary_key) if keyed else None))


def _check_times(times: Sequence[Column], strict: bool, part: Part) -> None:
    for column in times:
        if column.kind not in TIMES:
            raise ConnectError(
                f'The timestamp column "{column.name}" of {part} is of type {column.declared or column.kind.value}, '
                "which is not a timestamp."
            )
    if len({column.kind is Kind.MOMENT for column in times}) > 1:
        raise ConnectError(
            f"Of the timestamp columns of {part} some have a time zone and others have none. Choose columns of "
            "one type."
        )
    if strict and times and all(column.nullable for column in times):
        raise ConnectError(
            f"The timestamp columns of {part} ({', '.join(column.name for column in times)}) may all be null, and such "
            "rows are never read. Make one NOT NULL, choose another one, or set validate.non.null=false."
        )


def _counting(columns: Sequence[Column], name: str, part: Part) -> Column:
    if name:
        column = _column(columns, name, "incrementing.column.name", part)
    else:
        counting = [column for column in columns if column.counts]
        if len(counting) != 1:
            raise ConfigError(
                "incrementing.column.name",
                f"is not set, and {part} has {len(counting) or 'no'} columns by which the database numbers rows. "
                "Name one.",
            )
        column = counting[0]
    if not _is_whole(column):
        raise ConnectError(
            f'The incrementing column "{column.name}" of {part} is of type {column.declared or column.kind.value}. It '
            "must hold whole numbers of at most 64 bits."
        )
    return column


def key_of(columns: Sequence[Column], name: str, primary_key: Sequence[str]) -> Column | None:
    """The column by which a table can be read in parts: the one of this name, else its primary key; None for none."""
    for names in ([name], primary_key):
        found = [column for column in columns if column.name in names]
        if len(names) == len(found) == 1 and _is_whole(found[0]) and not found[0].nullable:
            return found[0]
    return None


def _sorted(columns: Sequence[Column], primary_key: Sequence[str]) -> Column | None:
    """The first column of a primary key, if its values can be written in a condition."""
    found = [column for column in columns if column.name in primary_key[:1] and not column.nullable]
    return found[0] if found and found[0].kind in _SORTED else None


def _is_whole(column: Column) -> bool:
    # A NUMERIC without any digits told may hold whole numbers only: its values are looked at.
    return column.kind in WHOLE or (column.kind is Kind.NUMERIC and (column.scale is None or column.scale <= 0))


def _column(columns: Sequence[Column], name: str, key: str, part: Part) -> Column:
    exact = [column for column in columns if column.name == name]
    alike = exact or [column for column in columns if column.name.lower() == name.lower()]
    if len(alike) != 1:
        raise ConfigError(key, f'{part} has no column "{name}". It has {", ".join(c.name for c in columns)}.')
    return alike[0]
