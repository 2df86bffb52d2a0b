"""A table's form in records: schemas of key, row and envelope, and the reader of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect import ConfigError, Schema, schema
from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import ColumnFacts, TableFacts, Types
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.pgoutput import UNCHANGED, Relation, Row
from connectors.jdbc.capture.types import ColumnType, column_type
from connectors.jdbc.changes.forms import Struct, envelope, key_reader, source_schema

SOURCE: Final = source_schema(
    "postgresql",
    {
        "schema": schema.STRING,
        "table": schema.STRING,
        "txId": schema.OPTIONAL_INT64,
        "lsn": schema.OPTIONAL_INT64,
        "xmin": schema.OPTIONAL_INT64,
    },
)


@dataclass(frozen=True, slots=True)
class _Column:
    """One captured column; `index` is its position in a row."""

    index: int
    name: str
    type: ColumnType
    schema: Schema


class Table:
    """How a table's rows become records.

    Attributes:
        full_name: `schema.table`.
        topic: of its changes.
        key_schema: None when it has no key.
        envelope: of the values.
        read: makes a row's struct from its values in text form.
        key: makes a row's key from its struct; None where there is none.
    """

    def __init__(
        self,
        chosen: CaptureOptions,
        of_schema: str,
        name: str,
        columns: Sequence[_Column],
        key: Sequence[str],
        primary: Sequence[int],
    ) -> None:
        self.schema = of_schema
        self.name = name
        self.full_name = f"{of_schema}.{name}"
        self.topic = chosen.topic(of_schema, name)
        self._columns = columns
        named = chosen.schema_name(of_schema, name)
        row = Schema.struct({c.name: c.schema for c in columns}, name=f"{named}.Value", optional=True)
        self.envelope = envelope(named, row, SOURCE)
        by_name = {column.name: column for column in columns}
        self.key_schema = (
            Schema.struct({part: by_name[part].schema for part in key}, name=f"{named}.Key") if key else None
        )
        self.read: Callable[[Row], Struct] = _reader(columns)
        self.key: Callable[[Struct], Struct | None] = key_reader(key)
        self._primary = primary

    def identity(self, row: Row) -> tuple[bytes, ...] | None:
        """The values of a row's primary key in text form, whatever key its records have; None where one is unknown."""
        values = [row[index] for index in self._primary]
        if not values or not all(isinstance(value, bytes) for value in values):
            return None
        return tuple(values)  # type: ignore[arg-type]  # as was just asked

    def read_with_unchanged(self, row: Row, before: Row | None) -> Struct:
        """The same for a row with unsent values; those of the row before replace them where it has them.

        Of the row before there may be its key alone: so large values of a key are sent, also where they did not change.
        """
        struct: Struct = {}
        for column in self._columns:
            value: Any = row[column.index]
            if value is UNCHANGED and before is not None and before[column.index] is not None:
                value = before[column.index]
            if value is UNCHANGED:
                gone = column.type.unavailable
                struct[column.name] = column.type.fallback if gone is None and not column.schema.optional else gone
            elif value is None:
                struct[column.name] = None if column.schema.optional else _fallback(column)
            else:
                struct[column.name] = column.type.read(value)
        return struct


def _fallback(column: _Column) -> Any:
    return column.type.fallback if column.schema.default is None else column.schema.default


def _reader(columns: Sequence[_Column]) -> Callable[[Row], Struct]:
    """One expression for all columns: a loop over them would cost twice as much."""
    names: dict[str, Any] = {"decode": bytes.decode}
    parts = []
    for column in columns:
        value, read, gone = f"v[{column.index}]", f"r{column.index}", "None"
        names[read] = column.type.read
        if not column.schema.optional:
            gone = f"g{column.index}"
            names[gone] = _fallback(column)
        parts.append(f"{column.name!r}: {gone} if {value} is None else {read}({value})")
    made: Callable[[Row], Struct] = eval(f"lambda v: {{{', '.join(parts)}}}", names)  # noqa: S307  names are quoted
    return made


class Tables:
    """The tables of one database, as they occur in the stream and the snapshot."""

    def __init__(self, chosen: CaptureOptions, query: catalog.Query) -> None:
        self._chosen = chosen
        self._query = query
        self._types = Types(query)

    def of_relation(self, relation: Relation) -> Table | None:
        """A table from here on in the stream; None when it is not captured.

        The relation message has the columns of a row. Nullability, defaults and the key come from the catalog, in its
        current state.
        """
        if not self._chosen.selection.table(relation.schema, relation.table):
            return None
        if any(self._types[column.type_oid].labels for column in relation.columns):
            self._types.read()  # an enum may have more labels by now
        facts = catalog.table(self._query, relation.oid)
        known = {column.name: column for column in facts.columns} if facts else {}
        columns = [
            ColumnFacts(
                column.name,
                column.type_oid,
                column.modifier,
                column.name in known and known[column.name].not_null,
                known[column.name].default if column.name in known else None,
            )
            for column in relation.columns
        ]
        key = facts.key if facts else ()
        if not key or not {column.name for column in relation.columns}.issuperset(key):
            # It has no key any more, or another one by now. What identifies these rows is all of a row with FULL.
            key = tuple(column.name for column in relation.columns if column.key and relation.identity != "f")
        return self._made(relation.schema, relation.table, columns, key)

    def of_facts(self, facts: TableFacts) -> Table:
        """A table's current form, with all its columns in its rows."""
        return self._made(facts.schema, facts.name, facts.columns, facts.key)

    def _made(self, of_schema: str, name: str, facts: Sequence[ColumnFacts], key: Sequence[str]) -> Table:
        chosen = self._chosen
        own_key = chosen.key_columns(of_schema, name)
        columns = []
        for index, fact in enumerate(facts):
            captured = chosen.selection.column(of_schema, name, fact.name) or fact.name in (own_key or key)
            made = column_type(self._types, fact.type_oid, fact.modifier, chosen.modes) if captured else None
            if made is not None:
                default = default_of(fact.default, made)
                of = made.schema.replace(optional=not fact.not_null, default=default)
                columns.append(_Column(index, chosen.field_name(fact.name), made, of))
        there = {column.name for column in columns}
        if missing := [part for part in own_key if chosen.field_name(part) not in there]:
            raise ConfigError("message.key.columns", f'{of_schema}.{name} has no column "{missing[0]}".')
        parts = map(chosen.field_name, own_key or key)
        places = {fact.name: index for index, fact in enumerate(facts)}
        primary = [places[part] for part in key] if all(part in places for part in key) else []
        return Table(chosen, of_schema, name, columns, [part for part in parts if part in there], primary)


_QUOTED: Final = re.compile(r"\(?[BX]?'((?:[^']|'')*)'\)?(?:::[^']+)?\)?", re.DOTALL)
_NUMBER: Final = re.compile(r"\(?(-?[\d.]+(?:[eE][+-]?\d+)?)\)?(?:::[^']+)?")
_CALL: Final = re.compile(r"(?:[\w.\"]+\(.*\)|CURRENT_\w+|LOCAL\w+)(?:.*)", re.DOTALL)


def default_of(expression: str | None, column: ColumnType) -> Any:
    """The default of a field: the value of a column's default expression, if that is a constant. None for none.

    A computed one has, as in Debezium, the epoch for a timestamp, 0 for a number from a sequence, and a uuid of zeros;
    other expressions give a field no default.
    """
    if expression is None or expression.startswith("NULL::"):
        return None
    if expression in ("true", "false"):
        return _read(column, expression[:1])
    if found := _QUOTED.fullmatch(expression):
        return _read(column, found[1].replace("''", "'"))
    if found := _NUMBER.fullmatch(expression):
        return _read(column, found[1])
    if _CALL.fullmatch(expression):
        return column.default
    return None


def _read(column: ColumnType, literal: str) -> Any:
    if not column.literal:
        return None
    try:
        return (column.constant or column.read)(literal.encode())
    except Exception:  # a constant of another type, cast when it is used
        return None
