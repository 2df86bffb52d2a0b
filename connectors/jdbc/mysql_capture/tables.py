"""A table's form in records: schemas of key, row and envelope, and readers of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from connect import ConfigError, Schema, schema
from connectors.jdbc.changes.forms import Struct, envelope, key_reader, source_schema
from connectors.jdbc.mysql_capture.facts import TableFacts
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.layout import Layout, reader
from connectors.jdbc.mysql_capture.types import ColumnType, column_type

_SOURCE: Final = {
    "table": schema.OPTIONAL_STRING,
    "server_id": schema.INT64,
    "gtid": schema.OPTIONAL_STRING,
    "file": schema.STRING,
    "pos": schema.INT64,
    "row": schema.INT32,
    "thread": schema.OPTIONAL_INT64,
    "query": schema.OPTIONAL_STRING,
}
SOURCES: Final = {flavor: source_schema(flavor, _SOURCE) for flavor in ("mysql", "mariadb")}

#: Reads a row that begins at a place of an event's bytes: its struct, and the place behind it.
RowReader = Callable[[bytes, int], tuple[Struct, int]]


class _Column:
    """One captured column: `index` is its place in a row."""

    __slots__ = ("fallback", "field", "index", "name", "schema", "type")

    def __init__(self, index: int, name: str, field: str, made: ColumnType, of: Schema) -> None:
        self.index = index
        self.name = name
        self.field = field
        self.type = made
        self.schema = of
        self.fallback = None if of.optional else made.fallback


class Table:
    """How a table's rows become records.

    Attributes:
        facts: its definition.
        topic: of its changes.
        key_schema: None when it has no key.
        envelope: of the values.
        key: makes a row's key from its struct; None where there is none.
    """

    def __init__(self, chosen: CaptureOptions, facts: TableFacts, flavor: str) -> None:
        self.facts = facts
        self.database = facts.database
        self.name = facts.name
        self.topic = chosen.topic(facts.database, facts.name)
        self._modes = chosen.modes
        own_key = chosen.key_columns(facts.database, facts.name)
        wanted = own_key or facts.key
        self._columns = []
        for index, column in enumerate(facts.columns):
            captured = chosen.selection.column(facts.database, facts.name, column.name) or column.name in wanted
            made = column_type(column, chosen.modes) if captured else None
            if made is not None:
                default = made.default if column.now else _default(made, column.default)
                of = made.schema.replace(optional=not column.not_null, default=default)
                self._columns.append(_Column(index, column.name, chosen.field_name(column.name), made, of))
        there = {column.field: column.schema for column in self._columns}
        if missing := [part for part in own_key if chosen.field_name(part) not in there]:
            raise ConfigError("message.key.columns", f'{facts.full_name} has no column "{missing[0]}".')
        key = [part for part in map(chosen.field_name, wanted) if part in there]
        named = chosen.schema_name(facts.database, facts.name)
        row = Schema.struct(there, name=f"{named}.Value", optional=True)
        self.envelope = envelope(named, row, SOURCES[flavor])
        self.key_schema = Schema.struct({part: there[part] for part in key}, name=f"{named}.Key") if key else None
        self.key: Callable[[Struct], Struct | None] = key_reader(key)
        primary = [chosen.field_name(part) for part in facts.key]
        self._primary = primary if all(part in there for part in primary) else []

    def identity(self, struct: Struct) -> tuple[object, ...] | None:
        """The values of a row's primary key, whatever key its records have; None where one is not captured."""
        return tuple(struct[part] for part in self._primary) if self._primary else None

    @property
    def captured(self) -> list[str]:
        """The names of the captured columns."""
        return [column.name for column in self._columns]

    def reader(self, layouts: Sequence[Layout]) -> RowReader:
        """Reads rows of the log that lie like this, all columns of the table in their order."""
        by_index = {column.index: column for column in self._columns}
        names: dict[str, Any] = {"number": int.from_bytes}
        nulls = (len(layouts) + 7) // 8
        lines = [f"nulls = number(b[p:p + {nulls}], 'little')", f"p += {nulls}"]
        fields = []
        for index, of in enumerate(layouts):
            column = by_index.get(index)
            lines.append(f"if nulls & {1 << index}:")
            lines.append(f"    v{index} = None" if column else "    pass")
            lines.append("else:")
            if of.size:
                value = f"b[p:p + {of.size}]"
                end = f"p += {of.size}"
            else:
                first = "b[p]" if of.prefix == 1 else f"number(b[p:p + {of.prefix}], 'little')"
                lines.append(f"    n = {first}")
                lines.append(f"    p += {of.prefix}")
                value, end = "b[p:p + n]", "p += n"
            if column:
                names[f"r{index}"] = column.type.read(reader(of, self.facts.columns[index], self._modes))
                lines.append(f"    v{index} = r{index}({value})")
            lines.append(f"    {end}")
            if column:
                if column.fallback is not None:  # of a date of zeros
                    names[f"g{index}"] = column.fallback
                    lines.append(f"if v{index} is None: v{index} = g{index}")
                fields.append(f"{column.field!r}: v{index}")
        lines.append(f"return {{{', '.join(fields)}}}, p")
        made: dict[str, Any] = {}
        # One function for all columns: a loop over them would cost twice as much. Names are quoted.
        exec("def read(b, p):\n    " + "\n    ".join(lines), names, made)  # noqa: S102
        found: RowReader = made["read"]
        return found

    def row_reader(self) -> Callable[[Sequence[bytes | None]], Struct]:
        """Reads rows of a query for the captured columns, in texts."""
        readers = [(each.field, each.type.read(each.type.text), each.fallback) for each in self._columns]

        def read(values: Sequence[bytes | None]) -> Struct:
            struct: Struct = {}
            for (field, convert, fallback), raw in zip(readers, values, strict=True):
                value = None if raw is None else convert(raw)
                struct[field] = fallback if value is None else value
            return struct

        return read


def _default(made: ColumnType, literal: bytes | None) -> Any:
    """The default of a field; None for none."""
    if literal is None or not made.literal:
        return None
    try:
        return made.read(made.text)(literal)
    except Exception:  # a constant of another type, converted when it is used
        return None
