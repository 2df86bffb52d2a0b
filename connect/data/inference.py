"""The columns that records need: schemas of records merged, and types of schemaless values inferred."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate, chain
from types import NoneType
from typing import Any, Final

from connect.data import logical, widening
from connect.data.evolution import Evolution, EvolutionPolicy
from connect.data.evolution_policy import ADD, NULLABLE, WIDEN
from connect.data.misfits import Problems, Within, add, join
from connect.data.schema import (
    OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    Schema,
    Type,
)
from connect.data.values import Values

_EVERYTHING: Final = EvolutionPolicy(frozenset({ADD, WIDEN, NULLABLE}), mismatch="quarantine")
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})
_LEAVES: Final[tuple[tuple[tuple[type, ...], Schema], ...]] = (
    ((bool,), OPTIONAL_BOOLEAN),  # before int, which it is too
    ((int,), OPTIONAL_INT64),
    ((float,), OPTIONAL_FLOAT64),
    ((str,), OPTIONAL_STRING),
    ((bytes, bytearray, memoryview), OPTIONAL_BYTES),
    ((Decimal,), logical.decimal(0, optional=True)),
    ((dt.datetime,), logical.TIMESTAMP.as_optional()),  # before date, which it is too
    ((dt.date,), logical.DATE.as_optional()),
    ((dt.time,), logical.TIME.as_optional()),
)


def merged(known: Schema | None, structs: Values) -> tuple[Schema | None, Problems]:
    """The schema that holds these structs too, and the rows that contradict it.

    Args:
        known: a STRUCT, or None for nothing yet.
        structs: at least one, all with one schema or all without, none of them null.
    """
    own = structs.schemas[0]
    if own is None:
        problems: Problems = {}
        return _structs(known, structs.to_list(), "", problems), problems
    if known is None:
        return own, {}
    verdict = Evolution(_EVERYTHING, known).judge(structs)
    return verdict.target, {mismatch.row: mismatch.reason for mismatch in verdict.mismatches}


def _value(known: Schema | None, items: Sequence[Any], path: str, problems: Problems) -> Schema | None:
    """The column for these values; None when they do not show it."""
    by_kind: dict[type, list[int]] = {}
    for row, item in enumerate(items):
        by_kind.setdefault(type(item), []).append(row)
    nulls = by_kind.pop(NoneType, None)
    schema = known
    for kind, rows in by_kind.items():
        schema = _of_rows(schema, kind, items, rows, path, problems)
    if known is None and schema is not None and len(by_kind) > 1:
        # An empty list tells nothing of its own; beside a number it is a contradiction, whichever comes first.
        for kind, rows in by_kind.items():
            schema = _of_rows(schema, kind, items, rows, path, problems)
    if nulls and schema is not None and not schema.optional and schema.default is None:
        return schema.as_optional()
    return schema


def _of_rows(
    schema: Schema | None, kind: type, items: Sequence[Any], rows: list[int], path: str, problems: Problems
) -> Schema | None:
    found: Problems = {}
    chosen = items if len(rows) == len(items) else [items[row] for row in rows]
    schema = _kind(schema, kind, chosen, path, found)
    add(problems, ((rows[at], why) for at, why in found.items()))
    return schema


def _kind(schema: Schema | None, kind: type, items: Sequence[Any], path: str, problems: Problems) -> Schema | None:
    """The column that holds these values too, which are all of one Python type."""
    if issubclass(kind, dict) and schema is not None and schema.type is Type.MAP:
        return _map(schema, items, path, problems)
    if issubclass(kind, dict) and (schema is None or schema.type is Type.STRUCT):
        return _structs(schema, items, path, problems)
    if issubclass(kind, list | tuple) and (schema is None or schema.type is Type.ARRAY):
        return _array(schema, items, path, problems)
    leaf = next((leaf for kinds, leaf in _LEAVES if issubclass(kind, kinds)), None)
    if leaf is not None and leaf.name == logical.DECIMAL_NAME:
        leaf = logical.decimal(max(map(_scale, items)), optional=True)
    if leaf is not None and schema is None:
        return leaf
    wider = None if leaf is None or schema is None else _wider(schema, leaf, items)
    if wider is not None:
        return wider
    fits = None if leaf is None or schema is None else widening.fits(schema, leaf)
    what = f'The field "{path}" holds a value of type {kind.__name__}'
    where = "which no column takes" if schema is None else f"where there is {widening.type_name(schema)} already"
    add(problems, ((row, f"{what}, {where}.") for row, item in enumerate(items) if fits is None or not fits(item)))
    return schema


def _wider(schema: Schema, leaf: Schema, items: Sequence[Any]) -> Schema | None:
    wider = widening.widened(schema, leaf)
    if wider is schema:
        return schema
    fits = widening.fits(schema, leaf)
    if fits is not None and all(map(fits, items)):
        return schema
    if wider is None and schema.type in _WHOLE and leaf is OPTIONAL_FLOAT64 and widening.holds(OPTIONAL_INT64, schema):
        return schema.replace(type=Type.FLOAT64)
    return wider


def _structs(known: Schema | None, items: Sequence[dict[str, Any]], path: str, problems: Problems) -> Schema | None:
    names: dict[Any, None] = dict.fromkeys(() if known is None else (field.name for field in known.fields))
    for layout in dict.fromkeys(map(tuple, items)):
        names.update(dict.fromkeys(layout))
    fields: dict[str, Schema] = {}
    changed = False
    for name in names:
        if not isinstance(name, str):
            why = f"{join(path, repr(name))}: a field needs a text as its name."
            add(problems, ((row, why) for row, item in enumerate(items) if name in item))
            continue
        field = None if known is None else known.field(name)
        was = None if field is None else field.schema
        now = _value(was, [item.get(name) for item in items], join(path, name), problems)
        if now is not None:
            fields[name] = now
        changed |= now is not was
    if known is None:
        return Schema.struct(fields, optional=bool(path)) if fields else None
    return known.replace(fields=fields) if changed else known


def _array(known: Schema | None, items: Sequence[Any], path: str, problems: Problems) -> Schema | None:
    was = None if known is None else known.value_schema
    now = _inner(was, list(chain.from_iterable(items)), items, f"{path}[]", problems)
    if known is None:
        return None if now is None else Schema.array(now, optional=True)
    return known if now is was else known.replace(value_schema=now)


def _map(known: Schema, items: Sequence[dict[Any, Any]], path: str, problems: Problems) -> Schema:
    keys = _inner(known.key_schema, list(chain.from_iterable(items)), items, f"{path} key", problems)
    flat = list(chain.from_iterable(item.values() for item in items))
    values = _inner(known.value_schema, flat, items, f"{path}[]", problems)
    if keys is known.key_schema and values is known.value_schema:
        return known
    return known.replace(key_schema=keys, value_schema=values)


def _inner(was: Schema | None, flat: list[Any], items: Sequence[Any], path: str, problems: Problems) -> Schema | None:
    found: Problems = {}
    now = _value(was, flat, path, found)
    if found:
        add(problems, Within(list(accumulate(map(len, items), initial=0))).rows(found).items())
    return now


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
