"""Java's text of structs, maps and lists, a column at a time. The same as `connect.data.text`, only faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from itertools import chain, islice
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import orjson

from connect.data import logical, time_texts
from connect.data.schema import Schema, Type
from connect.data.text import java_decimal, java_double, java_float32, java_text, with_exponent

if TYPE_CHECKING:
    from connect.data.field_column import FieldColumn

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})

#: With fewer maps of the same keys they are written entry by entry, and so are those of one entry each.
_FEW_ALIKE: Final = 8

#: Between these Java writes a double without an exponent, as Python and JSON do.
PLAIN_FROM, PLAIN_TO = 1e-3, 1e7
#: With more digits behind the point Java writes some decimals with an exponent.
PLAIN_SCALE: Final = 6


def struct_texts(struct: Schema, columns: Sequence[FieldColumn]) -> list[str]:
    """Each row as Java prints a `Struct`: null fields are left out, whatever their defaults.

    Args:
        struct: the schema.
        columns: the values of each field.
    """
    texts: list[Sequence[str]] = []
    between = [""]
    for field, column in zip(struct.fields, columns, strict=True):
        present = column.present()
        if present is not column:
            written = iter(_present_texts(present))
            texts.append([f",{field.name}={next(written)}" if there else "" for there in _there(column)])
        else:
            texts.append(_present_texts(column))
            between[-1] += f",{field.name}="
        between.append("")
    if not columns:
        return []
    if not between[0]:  # the first field may be missing, and the comma is another's
        return [f"Struct{{{text[1:]}}}" for text in _rows(between, texts)]
    between[0] = "Struct{" + between[0][1:]
    between[-1] += "}"
    return _rows(between, texts)


def column_texts(column: FieldColumn) -> Sequence[str]:
    """Each value of a declared schema as Java prints it, null as "null"."""
    present = column.present()
    if present is column:
        return _present_texts(column)
    written = iter(_present_texts(present))
    return [next(written) if there else "null" for there in _there(column)]


def _there(column: FieldColumn) -> list[bool]:
    """Which values are not null."""
    if column.is_arrow:
        there: list[bool] = column.array.is_valid().to_pylist()
        return there
    return [item is not None for item in column.items]


def _present_texts(column: FieldColumn) -> Sequence[str]:
    """The texts of a column without nulls."""
    schema = column.schema
    if not column.is_arrow and not fit(schema, column.items):
        return [java_text(schema, item) for item in column.items]
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name](column)
    match schema.type:
        case Type.STRING:
            return column.items
        case Type.BOOLEAN:
            return _boolean_texts(column.items)
        case Type.FLOAT32 if column.is_arrow:
            return _single_texts(column)
        case Type.FLOAT64:
            return double_texts(column.items)
        case Type.STRUCT if schema.fields and len(column):
            return struct_texts(schema, column.children())
        case Type.ARRAY:
            plain = None if column.is_arrow else plain_list_texts(column.items)
            return plain or _lists(*_texts_of_elements(column))
        case Type.MAP if not column.is_arrow:
            return _maps(schema, column.items)
        case kind if kind in _WHOLE:
            return _arrow_texts(column) if column.is_arrow else whole_texts(column.items)
    return [java_text(schema, item) for item in column.items]


#: The Python types of values that have the form of their schema; `java_text` goes by the value's type first.
_PYTHON: Final[dict[Type, type]] = {
    **dict.fromkeys(_WHOLE, int),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.ARRAY: list,
    Type.MAP: dict,
    Type.STRUCT: dict,
}


def fit(schema: Schema, items: Sequence[Any]) -> bool:
    """Whether all values have the Python type of their schema."""
    expected = logical.python_type(schema) or _PYTHON.get(schema.type)
    return set(map(type, items)) <= {expected}


def _moments(column: FieldColumn) -> Sequence[str]:
    if column.is_arrow:
        from connect.data.arrow_times import TEXTS

        found: list[str] = TEXTS[column.schema.name](column.array).to_pylist()
        return found
    return list(map(time_texts.moment_text, column.items))


def _decimals(column: FieldColumn) -> Sequence[str]:
    if column.is_arrow and 0 <= logical.scale_of(column.schema) <= PLAIN_SCALE:
        return _arrow_texts(column)
    return list(map(java_decimal, column.items))


_LOGICAL: Final[dict[str | None, Callable[[FieldColumn], Sequence[str]]]] = {
    logical.TIMESTAMP_NAME: _moments,
    logical.DATE_NAME: _moments,
    logical.TIME_NAME: _moments,
    logical.DECIMAL_NAME: _decimals,
}


# Lists and maps.


def _texts_of_elements(column: FieldColumn) -> tuple[Sequence[int], Sequence[str]]:
    lengths, elements = column.elements()
    return lengths, column_texts(elements)


def _lists(lengths: Iterable[int], elements: Sequence[str]) -> list[str]:
    rest = iter(elements)
    return [f"[{', '.join(islice(rest, length))}]" for length in lengths]


def _maps(schema: Schema, items: Sequence[dict[Any, Any]]) -> list[str]:
    keys, values = list(chain.from_iterable(items)), list(chain.from_iterable(map(dict.values, items)))
    return _entries(items, texts(schema.key_schema, keys), texts(schema.value_schema, values))


def _entries(items: Sequence[dict[Any, Any]], keys: Iterable[str], values: Iterable[str]) -> list[str]:
    entries = iter([f"{key}={value}" for key, value in zip(keys, values, strict=True)])
    return [f"{{{', '.join(islice(entries, len(item)))}}}" for item in items]


def texts(schema: Schema | None, items: Sequence[Any]) -> Sequence[str]:
    """Each value of one schema, or without one, as Java prints it, null as "null"."""
    if schema is None:
        return _schemaless(items)
    from connect.data.field_column import FieldColumn

    return column_texts(FieldColumn(schema, items if isinstance(items, list) else list(items)))


# Without a schema.


def _schemaless(items: Sequence[Any]) -> Sequence[str]:
    kinds = set(map(type, items))
    if len(kinds) == 1:
        write = _WRITERS.get(kinds.pop())
        return write(items) if write is not None else [java_text(None, item) for item in items]
    parts: dict[type, Iterator[str]] = {
        kind: iter(_schemaless([item for item in items if type(item) is kind])) for kind in kinds
    }
    return [next(parts[type(item)]) for item in items]


def _map_texts(items: Sequence[dict[Any, Any]]) -> Sequence[str]:
    """Each object as Java prints a `Map`."""
    kinds = set(map(tuple, items))
    few_alike = len(items) < _FEW_ALIKE * len(kinds) or 1 == max(map(len, kinds)) < len(kinds)
    if few_alike or () in kinds:
        keys, values = list(chain.from_iterable(items)), list(chain.from_iterable(map(dict.values, items)))
        return _entries(items, _schemaless(keys), _schemaless(values))
    if len(kinds) == 1:
        return _map_texts_alike(kinds.pop(), items)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for row, names in enumerate(map(tuple, items)):
        alike.setdefault(names, []).append(row)
    found: list[str] = [""] * len(items)
    for names, rows in alike.items():
        for row, text in zip(rows, _map_texts_alike(names, [items[row] for row in rows]), strict=True):
            found[row] = text
    return found


def _map_texts_alike(names: tuple[Any, ...], items: Sequence[dict[Any, Any]]) -> list[str]:
    """Maps that have these keys, in this order."""
    return map_column_texts(dict(zip(names, zip(*map(dict.values, items), strict=True), strict=True)))


def map_column_texts(columns: Mapping[Any, Sequence[Any]]) -> list[str]:
    """Each row of these columns, at least one, as Java prints a `Map` with their names as keys."""
    between = [f"{', ' if at else '{'}{java_text(None, name)}=" for at, name in enumerate(columns)]
    return _rows([*between, "}"], [_schemaless(column) for column in columns.values()])


def _list_texts(items: Sequence[list[Any]]) -> Sequence[str]:
    return plain_list_texts(items) or _lists(map(len, items), _schemaless(list(chain.from_iterable(items))))


def plain_list_texts(items: Sequence[list[Any]]) -> list[str] | None:
    """Each list, at least one, as Java prints it; None unless they have only texts, whole numbers or booleans."""
    elements = list(chain.from_iterable(items))
    kinds = set(map(type, elements))
    if kinds <= {str}:
        return [f"[{', '.join(item)}]" for item in items]
    if kinds == {bool} or (kinds == {int} and _LEAST <= min(elements) <= max(elements) <= _MOST):
        written = orjson.dumps(items if isinstance(items, list) else list(items)).decode()
        return written[1:-1].replace("],[", "]\n[").replace(",", ", ").split("\n")
    return None


# Joining.


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


# Numbers.


def double_texts(items: Sequence[float]) -> list[str]:
    """Each double as `java_double` writes it."""
    if not items:
        return []
    written = _as_json(items)
    if PLAIN_FROM <= min(items) <= max(items) < PLAIN_TO and "null" not in written:  # NaN passes for a bound
        return written
    return [
        text
        if PLAIN_FROM <= item < PLAIN_TO or -PLAIN_TO < item <= -PLAIN_FROM or item == 0
        else with_exponent(text)
        if _LEAST_NORMAL <= abs(item) <= _LARGEST
        else java_double(item)
        for item, text in zip(items, written, strict=True)
    ]


_LEAST_NORMAL: Final = 2.0**-1022
_LARGEST: Final = float.fromhex("0x1.fffffffffffffp+1023")


def _as_json(items: Sequence[Any]) -> list[str]:
    """Numbers of at most 64 bits or booleans as JSON writes them: all at once, which takes a quarter of the time.

    Doubles have the fewest digits that distinguish them, as in Python and Java; NaN and the infinities become "null".
    """
    if not items:
        return []
    return orjson.dumps(items if isinstance(items, list) else list(items)).decode()[1:-1].split(",")


def _boolean_texts(items: Sequence[bool]) -> list[str]:
    return ["true" if item else "false" for item in items]


def _arrow_texts(column: FieldColumn) -> list[str]:
    """What Arrow writes for each value."""
    written: list[str] = column.array.cast("string").to_pylist()
    return written


def _single_texts(column: FieldColumn) -> list[str]:
    """Each 32-bit float as `java_float32` writes it: Arrow finds the fewest digits, too."""
    return [
        (text if "." in text else f"{text}.0")
        if PLAIN_FROM <= item < PLAIN_TO or -PLAIN_TO < item <= -PLAIN_FROM
        else java_float32(item)
        for item, text in zip(column.items, _arrow_texts(column), strict=True)
    ]


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
    bool: _boolean_texts,
    float: double_texts,
    dict: _map_texts,
    list: _list_texts,
    Decimal: lambda items: list(map(java_decimal, items)),
    NoneType: lambda items: ["null"] * len(items),
}
