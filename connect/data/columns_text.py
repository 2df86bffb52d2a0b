"""The text that Java gives of structs and maps, a column at a time. The same as `connect.data.text`, only faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from connect.data.schema import Type
from connect.data.text import java_double, java_text

if TYPE_CHECKING:
    from connect.data.struct_columns import FieldColumn, StructColumns

_BOOLEANS: Final = {True: "true", False: "false"}
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})
_BY_ARROW: Final = frozenset({*_WHOLE, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN})

#: Between these Java writes a float without an exponent, as Python and Arrow do.
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


def struct_texts(columns: StructColumns) -> list[str]:
    """Each row as Java prints a `Struct`: null fields are left out, whatever their defaults."""
    texts, pieces = [], []
    for field, column in zip(columns.struct.fields, columns.fields, strict=True):
        items, nulls = _field_texts(column, columns.arrow is not None)
        if nulls:
            items = ["" if item is None else f",{field.name}={item}" for item in items]
        texts.append(items)
        pieces.append("%s" if nulls else _literal(f",{field.name}=") + "%s")
    rows = zip(*texts, strict=True)
    if pieces[0] == "%s":  # the first field may be missing, and the comma is another's
        body = "".join(pieces).__mod__
        return ["Struct{" + body(row)[1:] + "}" for row in rows]
    return list(map(("Struct{" + "".join(pieces)[1:] + "}").__mod__, rows))


def map_texts(items: Sequence[Any]) -> list[str] | None:
    """Each schemaless object as Java prints a `Map`; None where the rows are not alike, and each must be looked at."""
    if not set(map(type, items)) <= {dict}:
        return None
    names = tuple(items[0])
    if not names or list(map(tuple, items)).count(names) != len(items):
        return None
    template = "{" + ", ".join(_literal(java_text(None, name)) + "=%s" for name in names) + "}"
    columns = [_schemaless_texts(column) for column in zip(*map(dict.values, items), strict=True)]
    return list(map(template.__mod__, zip(*columns, strict=True)))


def _field_texts(column: FieldColumn, by_arrow: bool) -> tuple[Sequence[Any], bool]:
    """The texts of a struct's field, None for null, and whether there is a null."""
    schema = column.schema
    if schema.name is None and schema.type is Type.STRING:
        items: Sequence[Any] = column.items
        return items, None in items
    if schema.name is None and schema.type in _BY_ARROW and by_arrow:
        by_column = _arrow_texts(column)
        if by_column is not None:
            return by_column, None in by_column
    items = column.items
    some_null = None in items
    if schema.name is None and schema.type in _WHOLE and not some_null:
        return list(map(str, items)), False
    return [None if item is None else java_text(schema, item) for item in items], some_null


def _arrow_texts(column: FieldColumn) -> list[Any] | None:
    """Numbers and booleans as Arrow writes them, where Java writes the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from connect.data.struct_columns import NoArrowForm

    try:
        array = column.array
    except NoArrowForm:
        return None
    if not pa.types.is_floating(array.type):
        texts: list[Any] = array.cast(pa.string()).to_pylist()
        return texts
    size = pc.abs(array)
    plain = pc.or_(pc.equal(size, 0), pc.and_(pc.greater_equal(size, _PLAIN_FROM), pc.less(size, _PLAIN_TO)))
    if not pc.all(plain, min_count=0).as_py():
        return None
    texts = array.cast(pa.string()).to_pylist()
    return [text if text is None or "." in text else text + ".0" for text in texts]


def _schemaless_texts(items: Sequence[Any]) -> Sequence[Any]:
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind is dict:
            alike = map_texts(items)
            if alike is not None:
                return alike
        write = _WRITERS.get(kind)
        if write is not None:
            return write(items)
    return [java_text(None, item) for item in items]


_WRITERS: Final[dict[type, Callable[[Sequence[Any]], Sequence[str]]]] = {
    str: lambda items: items,
    int: lambda items: list(map(str, items)),
    bool: lambda items: [_BOOLEANS[item] for item in items],
    float: lambda items: [repr(item) if _PLAIN_FROM <= item < _PLAIN_TO else java_double(item) for item in items],
    NoneType: lambda items: ["null"] * len(items),
}


def _literal(text: str) -> str:
    """A text that stands for itself in a %-template."""
    return text.replace("%", "%%")
