"""The text that Java gives of structs and maps, a column at a time. The same as `connect.data.text`, only faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from connect.data.schema import Schema, Type
from connect.data.text import java_double, java_text

if TYPE_CHECKING:
    from connect.data.struct_columns import StructColumns

_BOOLEANS: Final = {True: "true", False: "false"}
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})

#: Between these Java writes a double without an exponent, as Python and Arrow do.
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7
_BEHIND: Final = 64  # no number is so long: what replaces nothing there is appended
#: From so many doubles on it pays to have them written by Arrow.
_WORTH_ARROW: Final = 100


def struct_texts(columns: StructColumns) -> list[str]:
    """Each row as Java prints a `Struct`: null fields are left out, whatever their defaults."""
    texts: list[Sequence[str]] = []
    between = [""]
    for field, column in zip(columns.struct.fields, columns.fields, strict=True):
        items = column.items
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
    """Each schemaless object as Java prints a `Map`; None where the rows are not alike, and each must be looked at."""
    if not set(map(type, items)) <= {dict}:
        return None
    names = tuple(items[0])
    if not names or list(map(tuple, items)).count(names) != len(items):
        return None
    between = [f"{', ' if at else '{'}{java_text(None, name)}=" for at, name in enumerate(names)]
    columns = zip(*map(dict.values, items), strict=True)
    return _rows([*between, "}"], [_schemaless_texts(column) for column in columns])


def _rows(between: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """The texts of each row, with what stands before, between and behind them."""
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
            return list(map(str, items))
        if schema.type is Type.BOOLEAN:
            return [_BOOLEANS[item] for item in items]
        if schema.type is Type.FLOAT64:
            return _doubles(items)
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


def _doubles(items: Sequence[Any]) -> list[str]:
    if len(items) >= _WORTH_ARROW and _PLAIN_FROM <= min(items) <= max(items) < _PLAIN_TO and pyarrow_is_there():
        by_arrow = _arrow_texts(items)
        if by_arrow is not None:
            return by_arrow
    return [repr(item) if _PLAIN_FROM <= item < _PLAIN_TO else java_double(item) for item in items]


def _arrow_texts(items: Sequence[Any]) -> list[str] | None:
    """Doubles that Java writes without an exponent, as Arrow writes them; None where NaN is among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(items, pa.float64())
    if pc.any(pc.is_nan(array)).as_py():  # it passes for a bound
        return None
    texts, whole = array.cast(pa.string()), pc.equal(pc.trunc(array), array)
    if pc.any(whole).as_py():
        texts = pc.if_else(whole, pc.binary_replace_slice(texts, _BEHIND, _BEHIND, ".0"), texts)
    written: list[str] = texts.to_pylist()
    return written


@cache
def pyarrow_is_there() -> bool:
    """Whether the extra `arrow` is installed; looked up once."""
    return find_spec("pyarrow") is not None


_WRITERS: Final[dict[type, Callable[[Sequence[Any]], Sequence[str]]]] = {
    str: lambda items: items,
    int: lambda items: list(map(str, items)),
    bool: lambda items: [_BOOLEANS[item] for item in items],
    float: _doubles,
    NoneType: lambda items: ["null"] * len(items),
}
