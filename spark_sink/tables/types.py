"""Spark's types as PySpark writes them in JSON: their names in SQL, which holds the values of which, and casts.

A type is a text such as "long" or "decimal(10,2)", or a dictionary for nested ones: {"type": "struct", "fields":
[...]}, {"type": "array", "elementType": ...}, {"type": "map", "keyType": ..., "valueType": ...}. So nothing here needs
Spark. Which types a Delta table can be widened to: https://docs.delta.io/latest/delta-type-widening.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

#: As `DataType.jsonValue()` gives it.
Type = str | Mapping[str, Any]
#: As `StructField.jsonValue()` gives it: name, type, nullable, metadata.
Field = Mapping[str, Any]

VOID: Final = "void"

_SQL: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
#: Of the whole numbers' decimals: a table's int is widened to a decimal of 10 digits at least, its bigint to one of 20.
_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_DELTAS_DIGITS: Final = {"byte": 10, "short": 10, "integer": 10, "long": 20}
#: How many bits of a whole number a floating one keeps.
_EXACT_BITS: Final = {"float": 24, "double": 53}
_MOST_DIGITS: Final = 38
_DECIMAL: Final = re.compile(r"decimal\((\d+),(-?\d+)\)")


def quoted(name: str) -> str:
    """An identifier in SQL, with any characters."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string literal in SQL, with any characters."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def sql_name(kind: Type) -> str:
    """The type in SQL; everything in it is nullable."""
    if isinstance(kind, str):
        return _SQL.get(kind, kind)
    if kind["type"] == "struct":
        inner = ", ".join(f"{quoted(field['name'])}: {sql_name(field['type'])}" for field in kind["fields"])
        return f"struct<{inner}>"
    if kind["type"] == "array":
        return f"array<{sql_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{sql_name(kind['keyType'])}, {sql_name(kind['valueType'])}>"
    return str(kind["type"])


def same(one: Type, other: Type) -> bool:
    """Whether two types are the same, with equal names in the same order, regardless of nullability."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if one["type"] != other["type"]:
        return False
    if one["type"] == "struct":
        mine, yours = one["fields"], other["fields"]
        return len(mine) == len(yours) and all(
            a["name"] == b["name"] and same(a["type"], b["type"]) for a, b in zip(mine, yours, strict=True)
        )
    return all(same(one[part], other[part]) for part in _parts(one))


def requires(kind: Type) -> bool:
    """Whether something within the type is not nullable."""
    if isinstance(kind, str):
        return False
    if kind["type"] == "struct":
        return any(not field.get("nullable", True) or requires(field["type"]) for field in kind["fields"])
    return any(requires(kind[part]) for part in _parts(kind))


def without_void(kind: Type) -> Type | None:
    """The type without parts that were only null so far; None if nothing is left."""
    if isinstance(kind, str):
        return None if kind == VOID else kind
    if kind["type"] == "struct":
        left = [(field, without_void(field["type"])) for field in kind["fields"]]
        fields = [{**field, "type": inner} for field, inner in left if inner is not None]
        return {**kind, "fields": fields} if fields else None
    inner = {part: without_void(kind[part]) for part in _parts(kind)}
    return None if None in inner.values() else {**kind, **inner}


def widest(mine: Type, other: Type) -> Type | None:
    """The type that holds the values of both without loss, `mine` if it does, None if a table cannot get one.

    Only for types without nested ones.
    """
    if mine == other:
        return mine
    if not isinstance(mine, str) or not isinstance(other, str):
        return None
    if decimal(mine) or decimal(other):
        return _widest_decimal(mine, other)
    if mine in _BITS and other in _BITS:
        return max(mine, other, key=_BITS.__getitem__)
    if mine in _EXACT_BITS and other in _EXACT_BITS:
        return "double"
    if {mine, other} <= {*_BITS, *_EXACT_BITS}:
        whole, real = (mine, other) if mine in _BITS else (other, mine)
        if _BITS[whole] - 1 <= _EXACT_BITS[real] and real == mine:
            return real
        return "double" if _BITS[whole] - 1 <= _EXACT_BITS["double"] else None
    return None


def fits(target: Type, other: Type) -> Callable[[str], str] | None:
    """A condition in SQL on a value that is not null: whether the target's type holds it. None if it never does.

    For types of which `widest` is not `target`: a bigint that is 5 can be written to an int column.
    """
    if not isinstance(target, str) or not isinstance(other, str):
        return None
    if decimal(target) and (other in _BITS or decimal(other)):
        return lambda value: f"coalesce(try_cast({value} AS {target}) = {value}, false)"
    if target in _BITS and other in _BITS:
        low, high = -(1 << (_BITS[target] - 1)), (1 << (_BITS[target] - 1)) - 1
        return lambda value: f"{value} BETWEEN {low} AND {high}"
    if target in _EXACT_BITS and other in _BITS:
        most = 1 << _EXACT_BITS[target]
        return lambda value: f"{value} BETWEEN -{most} AND {most}"
    if (target, other) == ("float", "double"):
        return lambda value: f"(isnan({value}) OR CAST(CAST({value} AS float) AS double) = {value})"
    return None


def decimal(kind: Type) -> tuple[int, int] | None:
    """Precision and scale of a decimal; None for other types."""
    found = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    return (int(found[1]), int(found[2])) if found else None


def fields(kind: Type) -> Sequence[Field]:
    """Of a struct; none of other types."""
    found: Sequence[Field] = () if isinstance(kind, str) or kind["type"] != "struct" else kind["fields"]
    return found


def _parts(kind: Mapping[str, Any]) -> Sequence[str]:
    return {"array": ("elementType",), "map": ("keyType", "valueType")}.get(kind["type"], ())


def _widest_decimal(mine: str, other: str) -> str | None:
    one, two = _digits(mine, _DELTAS_DIGITS), _digits(other, _DIGITS)
    if one is None or two is None:
        return None
    before, after = max(one[0], two[0]), max(one[1], two[1])
    return f"decimal({before + after},{after})" if before + after <= _MOST_DIGITS else None


def _digits(kind: str, of_whole: Mapping[str, int]) -> tuple[int, int] | None:
    """The digits before and after the point."""
    if found := decimal(kind):
        return found[0] - found[1], found[1]
    return (of_whole[kind], 0) if kind in of_whole else None
