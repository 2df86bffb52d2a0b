"""The types that a user says columns have (`schema.hints`), for rows that are made without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.data.schema import Schema, Type
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.values import GroupedValues, Values
from spark_sink.rows.casts import CannotCastError, cast
from spark_sink.rows.sql_types import schema_of_sql

#: What does not fit of single records: by row, and there by the path of a field.
Lost = dict[int, dict[tuple[str, ...], Any]]


class Hints:
    """Casts the columns that a user has named.

    Attributes:
        types: by the columns' names without upper case.
    """

    def __init__(self, written: Sequence[tuple[str, str]]) -> None:
        self.types: Mapping[str, Schema] = {
            name.casefold(): schema_of_sql(kind).as_optional() for name, kind in written
        }
        self._written = {name.casefold(): kind for name, kind in written}
        self._schemas: dict[int, tuple[Schema, Schema]] = {}

    def cast(self, values: Values) -> tuple[Values, Lost]:
        """The values with these types, and those of which none could be made: they are null.

        Values that are not structs stay as they are.
        """
        lost: Lost = {}
        groups = [(rows, self._group(rows, group, lost)) for rows, group in values.groups()]
        if all(new is group for (_, new), (_, group) in zip(groups, values.groups(), strict=True)):
            return values, lost
        return groups[0][1] if len(groups) == 1 else GroupedValues(len(values), groups), lost

    def problem(self, name: str) -> str:
        """Why a record does not fit whose value of this column could not be cast."""
        kind = self._written[name.casefold()]
        return f'The value of the column "{name}" cannot be cast to {kind}, as schema.hints says.'

    def _group(self, rows: Sequence[int], group: Values, lost: Lost) -> Values:
        own = group.schemas[0] if len(group) else None
        if own is None:
            return self._dicts(rows, group, lost)
        if own.type is not Type.STRUCT:
            return group
        schema = self._schema(own)
        if schema is own:
            return group
        held = group.struct_columns
        if held is not None:
            columns = [
                column if mine.schema is theirs.schema else self._column(mine.name, column, rows, lost)
                for mine, theirs, column in zip(schema.fields, own.fields, held.fields, strict=True)
            ]
            return StructColumns(schema, columns)
        changed = [
            (mine.name, theirs.schema)
            for mine, theirs in zip(schema.fields, own.fields, strict=True)
            if mine.schema is not theirs.schema
        ]
        items = list(group.to_list())
        for at, item in enumerate(items):
            if item is not None:
                cells = {name: self._cell(name, item.get(name), was, rows[at], lost) for name, was in changed}
                items[at] = {**item, **cells}
        return Values(items, schema)

    def _dicts(self, rows: Sequence[int], group: Values, lost: Lost) -> Values:
        items = list(group.to_list())
        for at, item in enumerate(items):
            if isinstance(item, dict):
                names = [name for name in item if isinstance(name, str) and name.casefold() in self.types]
                cells = {name: self._cell(name, item[name], None, rows[at], lost) for name in names}
                items[at] = {**item, **cells}
        return Values(items)

    def _column(self, name: str, column: FieldColumn, rows: Sequence[int], lost: Lost) -> FieldColumn:
        cells = zip(rows, column.items, strict=True)
        items = [self._cell(name, cell, column.schema, row, lost) for row, cell in cells]
        return FieldColumn(self.types[name.casefold()], items)

    def _cell(self, name: str, value: Any, was: Schema | None, row: int, lost: Lost) -> Any:
        kind = self.types[name.casefold()]
        if value is None:
            return None
        try:
            return cast(value, kind, was)
        except CannotCastError:
            lost.setdefault(row, {})[(name,)] = value
            return None

    def _schema(self, own: Schema) -> Schema:
        """With these types; the schema itself if it has them."""
        known = self._schemas.get(id(own))
        if known is None:
            fields = {field.name: self._kind(field.name, field.schema) for field in own.fields}
            same = all(fields[field.name] is field.schema for field in own.fields)
            if len(self._schemas) >= 1000:
                self._schemas.clear()
            # The schema is kept: its id must not come to stand for another.
            known = self._schemas[id(own)] = own, own if same else own.replace(fields=fields)
        return known[1]

    def _kind(self, name: str, was: Schema) -> Schema:
        kind = self.types.get(name.casefold(), was)
        return was if kind.as_optional() == was.as_optional() else kind
