"""Java's text of structs and maps, a column at a time. The same as `connect.data.text`, only faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from types import NoneType
from typing import Any, Final

import orjson

from connect.data.schema import Schema, Type
from connect.data.text import java_double, java_text

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})

#: Between these Java writes a double without an exponent, as Python and JSON do.
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


def struct_texts(struct: Schema, columns: Sequence[Sequence[Any]]) -> list[str]:
    """Each row as Java prints a `Struct`: null fields are left out, whatever their defaults.

    Args:
        struct: the schema.
        columns: the values of each field.
    """
    texts: list[Sequence[str]] = []
    between = [""]
    for field, items in zip(struct.fields, columns, strict=True):
        if None in items:
            written = iter(_field_texts(field.schema, [item for item in items if item is not None]))
            texts.append(["" if item is None else f",{field.name}={next(written)}" for item in items])
        else:
            texts.append(_field_texts(field.schema, items))
            between[-1] += f",{field.name}="
        between.append("")
    if not between[0]:  # the first field may be missing, and the comma is another's
        return [f"Struct{{{text[1:]}}}" for text in _rows(between, texts)]
    between[0] = "Struct{" + between[0][1:]
    between[-1] = "}"
    return _rows(between, texts)


def map_texts(items: Sequence[Any]) -> list[str] | None:
    """Each schemaless object as Java prints a `Map`; None where the rows differ in keys: print each alone."""
    if not set(map(type, items)) <= {dict}:
        return None
    names = tuple(items[0])
    if not names or list(map(tuple, items)).count(names) != len(items):
        return None
    between = [f"{', ' if at else '{'}{java_text(None, name)}=" for at, name in enumerate(names)]
    columns = zip(*map(dict.values, items), strict=True)
    return _rows([*between, "}"], [_schemaless_texts(column) for column in columns])


def _rows(between: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """The texts of each row, with the text before, between and after them."""
    return _joiner(len(columns))(between, zip(*columns, strict=True))


@cache
def _joiner(columns: int) -> Callable[[Sequence[str], Iterable[tuple[str, ...]]], list[str]]:
    """A comprehension over rows of so many texts. It is written for the number: %-templates take twice the time."""
    between = "".join(f"b{at}," for at in range(columns + 1))
    texts = "".join(f"t{at}," for at in range(columns))
    row = "".join(f"{{b{at}}}{{t{at}}}" for at in range(columns)) + f"{{b{columns}}}"
    made: dict[str, Any] = {}
    exec(f'def rows(between, texts):\n ({between}) = between\n return [f"{row}" for ({texts}) in texts]', made)  # noqa: S102
    joiner: Callable[[Sequence[str], Iterable[tuple[str, ...]]], list[str]] = made["rows"]
    return joiner


def _field_texts(schema: Schema, items: Sequence[Any]) -> Sequence[str]:
    """The texts of a struct's field, none of them null."""
    if schema.name is None:
        if schema.type is Type.STRING:
            return items
        if schema.type in _WHOLE:
            return whole_texts(items)
        if schema.type is Type.BOOLEAN:
            return _as_json(items)
        if schema.type is Type.FLOAT64:
            return double_texts(items)
    return [java_text(schema, item) for item in items]


def _schemaless_texts(items: Sequence[Any]) -> Sequence[str]:
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        alike = map_texts(items) if kind is dict else None
        if alike is not None:
            return alike
        write = _WRITERS.get(kind)
        if write is not None:
            return write(items)
    return [java_text(None, item) for item in items]


def double_texts(items: Sequence[float]) -> list[str]:
    """Each double as `java_double` writes it."""
    if items and _PLAIN_FROM <= min(items) <= max(items) < _PLAIN_TO:
        written = _as_json(items)
        if "null" not in written:  # NaN, which passes for a bound
            return written
    return [repr(item) if _PLAIN_FROM <= item < _PLAIN_TO else java_double(item) for item in items]


def _as_json(items: Sequence[Any]) -> list[str]:
    """Numbers of at most 64 bits or booleans as JSON writes them: all at once, which takes a quarter of the time.

    Doubles have the fewest digits that distinguish them, as in Python and Java; NaN and the infinities become "null".
    """
    if not items:
        return []
    return orjson.dumps(items if isinstance(items, list) else list(items)).decode()[1:-1].split(",")


def whole_texts(items: Sequence[int]) -> list[str]:
    """Each whole number in digits."""
    return _as_json(items) if items and _LEAST <= min(items) <= max(items) <= _MOST else list(map(str, items))


@cache
def pyarrow_is_there() -> bool:
    """Whether the extra `arrow` is installed; checked once."""
    return find_spec("pyarrow") is not None


_WRITERS: Final[dict[type, Callable[[Sequence[Any]], Sequence[str]]]] = {
    str: lambda items: items,
    int: whole_texts,
    bool: _as_json,
    float: double_texts,
    NoneType: lambda items: ["null"] * len(items),
}
