"""The values of a batch as rows of a table: the input of every columnar target (Delta, Parquet, Spark).

    schema = schema_of(batch.values, None)              # the columns that the records need
    table = table_schema(schema)                        # in Arrow's types
    rows = rows_of(batch.values, schema)                # a row for each record, null for a tombstone

Nothing is silently converted or dropped: a record that does not fit is named, with its reason, in `Unfit`. When records
have more than `schema` knows, `schema_of(values, schema)` returns the schema that they need. `rows_of` is for each
batch, `schema_of` for the first one and for those that do not fit.

Imported where a table is: it loads pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import pyarrow as pa

from connect.data.evolution import Mismatch
from connect.data.inference import merged
from connect.data.misfits import Misfits, Problems
from connect.data.schema import Schema, Type
from connect.data.table_columns import Columns, scattered
from connect.data.table_types import column_type, schema_of_table, table_schema
from connect.data.values import Text, Values
from connect.errors import SchemaError

__all__ = [
    "Unfit",
    "column_type",
    "rows_of",
    "schema_of",
    "schema_of_table",
    "table_schema",
]


class Unfit(SchemaError):
    """Some rows do not fit their table; all others do.

    Attributes:
        mismatches: each row (from 0 within the values) with its reason, in order. At least one.
    """

    def __init__(self, mismatches: Sequence[Mismatch]) -> None:
        self.mismatches = tuple(sorted(mismatches, key=lambda mismatch: mismatch.row))
        more = f" (and {len(mismatches) - 1} more)" if len(mismatches) > 1 else ""
        super().__init__(f"The record does not fit the table: {self.reason}{more}")

    @property
    def rows(self) -> list[int]:
        """The rows, ascending."""
        return [mismatch.row for mismatch in self.mismatches]

    @property
    def reason(self) -> str:
        """Why the first of them does not fit."""
        return self.mismatches[0].reason

    def __reduce__(self) -> tuple[type[Unfit], tuple[tuple[Mismatch, ...]]]:
        return Unfit, (self.mismatches,)


_BY_KEYS: Final = {"reject": Columns(), "ignore": Columns(ignore_unknown=True)}


def rows_of(
    values: Values, schema: Schema, *, wrap: str | None = None, unknown: Literal["reject", "ignore"] = "reject"
) -> pa.StructArray:
    """One row for each value, of the struct type with the columns of `table_schema(schema)`; null for a null.

    Structs may have other schemas than the table, or none (dicts): a missing field is null, or its default; a narrower
    type becomes the wider one; a single value that fits a narrower type is accepted. Structs that are held field by
    field are used without a pass over their rows.

    Args:
        values: structs with or without a schema, in any form.
        schema: the STRUCT of the table's rows.
        wrap: the field for values that are not structs (those of StringConverter, for example). None: these do not fit.
        unknown: what to do with a field that `schema` does not have and that has content (not only nulls, empty lists
            and empty dicts): its row does not fit, or it is left out.

    Raises:
        Unfit: for all rows that do not fit: the others do.
    """
    columns = _BY_KEYS[unknown]
    problems: Problems = {}
    parts: list[tuple[Sequence[int], pa.StructArray]] = []
    for rows, group in values.groups():
        for members, part in _split(rows, group, wrap):
            try:
                parts.append((members, _part(columns, schema, part, wrap)))
            except Misfits as misfits:
                all_of_them = _all_misfits(misfits, columns, schema, part, wrap)
                problems.update((members[row], why) for row, why in all_of_them.items())
    if problems:
        raise Unfit([Mismatch(row, why) for row, why in problems.items()])
    return _joined(parts, len(values), schema)


def schema_of(values: Values, known: Schema | None, *, wrap: str | None = None) -> Schema:
    """The STRUCT that holds these values and all those of `known`.

    Schemas are merged by the rules of `connect.data.evolution` with everything allowed: fields are added as optional
    ones, types are widened, required fields become optional where records lack them. Of dicts without a schema types
    are inferred: int is INT64, float FLOAT64, both together FLOAT64; str, bool, bytes; list an ARRAY, dict a STRUCT;
    Decimal, date, time and datetime their logical types. Fields are in the order of their first occurrence, inferred
    ones optional. A field that is null, an empty list or an empty dict in all records is left out until more is known.

    Args:
        values: structs with or without a schema.
        known: the table's schema so far; None for nothing yet.
        wrap: see `rows_of`.

    Raises:
        Unfit: for the rows that contradict what is known, or earlier rows.
    """
    schema = known
    problems: Problems = {}
    for rows, group in values.groups():
        for members, part in _split(rows, group, wrap):
            schema = _needed(schema, members, part, wrap, problems)
    if problems:
        raise Unfit([Mismatch(row, why) for row, why in problems.items()])
    return Schema.struct({}) if schema is None else schema


def _split(rows: Sequence[int], group: Values, wrap: str | None) -> list[tuple[Sequence[int], Values]]:
    """A group's structs and the values that are none, apart; without nulls."""
    if group.struct_columns is not None:
        return [(rows, group)]
    own = group.schemas[0] if len(group) else None
    if isinstance(group, Text) and wrap is not None:
        return _chosen(rows, group, [item is not None for item in group.encoded()])
    items = group.to_list()
    if own is not None:
        return _chosen(rows, group, [item is not None for item in items])
    if set(map(type, items)) == {dict}:
        return [(rows, group)]
    structs, others = [isinstance(i, dict) for i in items], [not (i is None or isinstance(i, dict)) for i in items]
    return _chosen(rows, group, structs) + _chosen(rows, group, others)


def _chosen(rows: Sequence[int], group: Values, chosen: list[bool]) -> list[tuple[Sequence[int], Values]]:
    if all(chosen):
        return [(rows, group)] if chosen else []
    places = [place for place, wanted in enumerate(chosen) if wanted]
    return [([rows[place] for place in places], group.take(places))] if places else []


def _is_struct(values: Values) -> bool:
    own = values.schemas[0]
    return isinstance(values.to_list()[0], dict) if own is None else own.type is Type.STRUCT


def _part(columns: Columns, schema: Schema, values: Values, wrap: str | None) -> pa.StructArray:
    """The rows of values that are all structs, or all none."""
    held, own = values.struct_columns, values.schemas[0]
    if held is not None:
        fields = {field.name: column for field, column in zip(held.struct.fields, held.fields, strict=True)}
        return columns.of_fields(schema, fields, len(values), "")
    if isinstance(values, Text) and wrap is not None:
        return _texts(columns, schema, values, wrap)
    if _is_struct(values):
        return columns.of_values(schema, values.to_list(), own, "")
    if wrap is None:
        raise Misfits(dict.fromkeys(range(len(values)), _no_struct(values)))
    return columns.of_values(schema, [{wrap: item} for item in values.to_list()], _wrapped(wrap, own), "")


def _all_misfits(misfits: Misfits, columns: Columns, schema: Schema, values: Values, wrap: str | None) -> Problems:
    """These misfits and those behind them: a value is checked only when its column has no forbidden null."""
    problems = dict(misfits.problems)
    while rest := [row for row in range(len(values)) if row not in problems]:
        try:
            _part(columns, schema, values.take(rest), wrap)
        except Misfits as more:
            problems.update((rest[row], why) for row, why in more.problems.items())
        else:
            break
    return problems


def _texts(columns: Columns, schema: Schema, values: Text, wrap: str) -> pa.StructArray:
    field = schema.field(wrap)
    if field is None or field.schema.type is not Type.STRING or len(schema.fields) != 1:
        items = [{wrap: item} for item in values.to_list()]
        return columns.of_values(schema, items, None, "")
    return pa.StructArray.from_arrays([pa.array(values.encoded(), pa.string())], [wrap])


def _needed(
    schema: Schema | None, rows: Sequence[int], values: Values, wrap: str | None, problems: Problems
) -> Schema | None:
    own = values.schemas[0]
    if not _is_struct(values):
        if wrap is None:
            problems.update(dict.fromkeys(rows, _no_struct(values)))
            return schema
        values = Values([{wrap: item} for item in values.to_list()], _wrapped(wrap, own))
    schema, found = merged(schema, values)
    problems.update((rows[row], why) for row, why in found.items())
    return schema


def _wrapped(wrap: str, own: Schema | None) -> Schema | None:
    return None if own is None else Schema.struct({wrap: own.as_optional()})


def _no_struct(values: Values) -> str:
    own = values.schemas[0]
    what = type(values.to_list()[0]).__name__ if own is None else own.type.value
    return f"its value is of type {what}, where a table needs a struct (HoistField makes one)."


def _joined(parts: list[tuple[Sequence[int], pa.StructArray]], length: int, schema: Schema) -> pa.StructArray:
    if len(parts) == 1 and len(parts[0][1]) == length:
        return parts[0][1]
    if not parts:
        return pa.nulls(length, pa.struct(list(table_schema(schema))))
    rows = [row for members, _ in parts for row in members]
    return scattered(pa.concat_arrays([part for _, part in parts]), rows, length)
