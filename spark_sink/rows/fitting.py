"""What of a record does not fit its table, in a column of its own (`rescued.data.column`): JSON by path.

    fitting = Fitting(hints, "_rescued")
    fit = fitting.fit(shape, values)        # in place of shape.fit(values)

Records that fit are made into rows as always. Only those that do not are looked at field by field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.data.evolution import Mismatch
from connect.data.schema import OPTIONAL_STRING, Schema, Type
from connect.data.values import GroupedValues, Values
from connect.errors import SchemaError
from spark_sink.rows.hints import Hints, Lost
from spark_sink.rows.json_text import json_text
from spark_sink.rows.shape import VALUE, Fit, Shape, spelled_as

Path = tuple[str, ...]


class Fitting:
    """Makes the rows of one table.

    Args:
        hints: the types that a user says.
        rescued: the column for what does not fit. None for none: such records do not fit.
    """

    def __init__(self, hints: Hints, rescued: str | None) -> None:
        self._hints = hints
        self._rescued = rescued

    def fit(self, shape: Shape, values: Values) -> Fit:
        """As `Shape.fit`.

        Raises:
            SchemaError: records have a field of the name of the column for what does not fit.
        """
        values, lost = self._hints.cast(values) if self._hints.types else (values, {})
        if self._rescued is None:
            return self._without(shape, values, lost)
        _no_field(values, self._rescued)
        fit = shape.fit(values)
        if fit.mismatches and shape.schema is not None:
            values = _taken_out(shape, spelled_as(shape.schema, values), {each.row for each in fit.mismatches}, lost)
        if not lost:
            return fit
        return shape.fit(_with_texts(values, lost, self._rescued))

    def _without(self, shape: Shape, values: Values, lost: Lost) -> Fit:
        if not lost:
            return shape.fit(values)
        fine = [row for row in range(len(values)) if row not in lost]
        fit = shape.fit(values.take(fine))
        uncast = [Mismatch(row, self._hints.problem(next(iter(paths))[0])) for row, paths in lost.items()]
        unfit = [*uncast, *(Mismatch(fine[each.row], each.reason) for each in fit.mismatches)]
        return Fit(fit.rows, [fine[row] for row in fit.kept], sorted(unfit, key=lambda each: each.row))


def _no_field(values: Values, rescued: str) -> None:
    for _, group in values.groups():
        own = group.schemas[0] if len(group) else None
        if own is not None:
            taken = any(field.name.casefold() == rescued.casefold() for field in own.fields)
        else:
            taken = any(isinstance(item, dict) and rescued in item for item in group.to_list())
        if taken:
            raise SchemaError(f'"{rescued}" is a field of the records. Name another rescued.data.column.')


def _taken_out(shape: Shape, values: Values, unfit: set[int], lost: Lost) -> Values:
    """The values without what does not fit of these rows, which is added to `lost`."""
    groups: list[tuple[Sequence[int], Values]] = []
    for rows, group in values.groups():
        places = [at for at, row in enumerate(rows) if row in unfit]
        fine = [at for at, row in enumerate(rows) if row not in unfit]
        if fine:
            groups.append(([rows[at] for at in fine], group.take(fine)))
        if places:
            mine = [rows[at] for at in places]
            part = group.take(places)
            own, items = part.schemas[0], [_struct_of(item) for item in part.to_list()]
            if own is not None and own.type is not Type.STRUCT:
                own = Schema.struct({VALUE: own.as_optional()})
            found: list[dict[Path, Any]] = [{} for _ in mine]
            own = _without_unfit(shape, own, items, found, ())
            for row, paths in zip(mine, found, strict=True):
                if paths:
                    lost.setdefault(row, {}).update(paths)
            groups.append((mine, Values(items, own)))
    return GroupedValues(len(values), groups)


def _struct_of(item: Any) -> dict[str, Any]:
    return dict(item) if isinstance(item, dict) else {VALUE: item}


def _without_unfit(
    shape: Shape, own: Schema | None, items: Sequence[dict[str, Any]], lost: Sequence[dict[Path, Any]], path: Path
) -> Schema | None:
    """Take out of structs what does not fit, and put it beside.

    Args:
        shape: of these structs.
        own: their schema, if any.
        items: they are changed.
        lost: for each of them what was taken out, by path; it is added to.
        path: of the structs.

    Returns:
        their schema now.
    """
    schemas = {} if own is None else {field.name: field.schema for field in own.fields}
    for name in dict.fromkeys([*schemas, *(name for item in items for name in item)]):
        column = shape.column(name)
        # What is empty is no reason for a new column, and does not fit every one that there is.
        empty: tuple[Any, ...] = (None,) if column.schema is not None and column.schema.fields else (None, [], {})
        rows = [row for row, item in enumerate(items) if item.get(name) not in empty]
        cells = Values([{name: items[row][name]} for row in rows], _alone(name, schemas.get(name)))
        fit = column.fit(cells)
        if not fit.mismatches:
            continue
        unfit = [rows[each.row] for each in fit.mismatches]
        known = None if column.schema is None else column.schema.field(name)
        mine = None if known is None else known.schema
        here = (*path, name)
        if mine is not None and mine.type is Type.STRUCT and all(isinstance(items[row][name], dict) for row in rows):
            inside = [dict(items[row][name]) for row in rows]
            inner = _without_unfit(shape.within(mine), schemas.get(name), inside, [lost[row] for row in rows], here)
            for row, cell in zip(rows, inside, strict=True):
                items[row][name] = cell
        else:
            if mine is not None and not mine.optional:
                continue  # it may not be null: the record does not fit
            for row in unfit:
                lost[row][here] = items[row][name]
                items[row][name] = None if mine is None else _with_nulls(column, mine, items[row][name])
            inner = mine
        if name in schemas:
            if inner is None:
                del schemas[name]
            else:
                schemas[name] = inner.as_optional()
        if inner is None and mine is None:
            for item in items:
                item.pop(name, None)
    return None if own is None else Schema.struct(schemas)


def _alone(name: str, schema: Schema | None) -> Schema | None:
    return None if schema is None else Schema.struct({name: schema.as_optional()})


def _with_nulls(column: Shape, mine: Schema, value: Any) -> Any:
    """An array with null in place of the items that do not fit, and a map of the values; null for anything else."""
    inner = mine.value_schema
    if inner is None or not inner.optional:
        return None
    if mine.type is Type.ARRAY and isinstance(value, list):
        places, items = list(range(len(value))), value
    elif mine.type is Type.MAP and isinstance(value, dict):
        if mine.key_schema is None or mine.key_schema.type is not Type.STRING or not set(map(type, value)) <= {str}:
            return None
        places, items = list(value), list(value.values())
    else:
        return None
    fit = column.within(Schema.struct({VALUE: inner})).fit(Values([{VALUE: item} for item in items]))
    unfit = {each.row for each in fit.mismatches}
    made = [None if at in unfit else item for at, item in enumerate(items)]
    return made if mine.type is Type.ARRAY else dict(zip(places, made, strict=True))


def _with_texts(values: Values, lost: Mapping[int, Mapping[Path, Any]], rescued: str) -> Values:
    """The values with a field more: what does not fit of each, as JSON; null where all fits."""
    groups: list[tuple[Sequence[int], Values]] = []
    for rows, group in values.groups():
        if not any(row in lost for row in rows):
            groups.append((rows, group))
            continue
        own = group.schemas[0]
        items = [
            item if item is None else {**_struct_of(item), rescued: _text(lost.get(row))}
            for row, item in zip(rows, group.to_list(), strict=True)
        ]
        if own is not None:
            fields = {field.name: field.schema for field in own.fields}
            own = Schema.struct({**fields, rescued: OPTIONAL_STRING})
        groups.append((rows, Values(items, own)))
    return GroupedValues(len(values), groups)


def _text(lost: Mapping[Path, Any] | None) -> str | None:
    return None if lost is None else json_text({".".join(path): value for path, value in lost.items()})
