"""Java's text of structs in Arrow columns, as UTF-8: no string is made for a row or a value.

The same as `connect.data.text`. Each column becomes an array of texts, and the texts of a row are joined with what
stands between them; what Arrow would write differently from Java is written by `columns_text`. Imported only where
columns are in Arrow: it loads pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from connect.data import arrow_times, columns_text, logical
from connect.data.arrow_column import ArrowColumn
from connect.data.column import NoArrowForm
from connect.data.field_column import FieldColumn
from connect.data.schema import Schema, Type

_NULL: Final = pa.scalar(None, pa.string())
_AS_ARROW: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN})


def encoded_lines(struct: Schema, columns: Sequence[FieldColumn]) -> bytes | None:
    r"""Each row as Java prints a `Struct`, followed by ``\n``; None where Arrow has no form for a value."""
    found = _rows(struct, columns, "}\n")
    return None if found is None else _lines(found)


def encoded_map_lines(columns: Mapping[str, Sequence[Any]]) -> bytes | None:
    r"""Each row as Java prints a `Map` of these keys, followed by ``\n``; None where Arrow has no form for a value."""
    try:
        labels = [f"{name}=" for name in columns]
        return _lines(members("{", ", ", labels, list(map(_map_texts, columns.values())), "}\n"))
    except (UnicodeEncodeError, pa.ArrowException):
        return None


def encoded_texts(struct: Schema, columns: Sequence[FieldColumn]) -> list[bytes] | None:
    """Each row as Java prints a `Struct`; None where Arrow has no form for a value."""
    found = _rows(struct, columns, "}")
    if found is None:
        return None
    rows: list[bytes] = found.view(pa.binary()).to_pylist()
    return rows


def _lines(rows: pa.Array) -> bytes:
    """The texts of rows, one after another."""
    _, offsets, data = rows.buffers()
    ends = memoryview(offsets).cast("i")
    return bytes(memoryview(data)[ends[rows.offset] : ends[rows.offset + len(rows)]]) if data else b""


def _rows(struct: Schema, columns: Sequence[FieldColumn], end: str) -> pa.Array | None:
    try:
        return _structs(struct, columns, end)
    except (NoArrowForm, UnicodeEncodeError, pa.ArrowException):
        return None


def _structs(struct: Schema, columns: Sequence[FieldColumn], end: str) -> pa.Array:
    """The texts of structs, none of them null: null fields are left out."""
    labels = [f"{field.name}=" for field in struct.fields]
    return members("Struct{", ",", labels, [_texts(column) for column in columns], end)


def members(begin: str, comma: str, labels: Sequence[str], texts: Sequence[pa.Array], end: str) -> pa.Array:
    """Rows of texts, each behind its label. One that is null is left out with its label.

    A comma belongs to a member that is there. So those before one that is always there have theirs behind them.

    Args:
        begin, comma, end: what stands before, between and behind the members of a row.
        labels: of each column.
        texts: the columns, of strings.
    """
    always = next((at for at, text in enumerate(texts) if not text.null_count), None)
    parts: list[Any] = []
    for at, (label, text) in enumerate(zip(labels, texts, strict=True)):
        before = label if always is not None and at <= always else comma + label
        behind = comma if always is not None and at < always else ""
        parts += [_beside(text, before), text, _beside(text, behind)] if text.null_count else [before, text, behind]
    if always is None:  # the first comma of a row belongs to none
        with_comma = _joined(begin, *parts)
        return _joined(pc.binary_replace_slice(with_comma, len(begin), len(begin) + len(comma), ""), end)
    return _joined(begin, *parts, end)


def _joined(*parts: Any) -> pa.Array:
    """Columns of texts put together with at least one fixed text; null is left out."""
    merged: list[Any] = []
    for part in parts:
        if merged and isinstance(part, str) and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return pc.binary_join_element_wise(*map(_fixed, merged), _fixed(""), null_handling="skip")


def _around(before: str, text: pa.Array, behind: str) -> pa.Array:
    """A column of texts between fixed ones; null stays null."""
    return pc.binary_join_element_wise(_fixed(before), text, _fixed(behind), _fixed(""))


def _beside(text: pa.Array, fixed: str) -> Any:
    """A fixed text for each row, null where the text of the row is."""
    return pc.if_else(text.is_valid(), _fixed(fixed), _NULL) if fixed else ""


def _fixed(part: Any) -> Any:
    return pa.scalar(part, pa.string()) if isinstance(part, str) else part


def _texts(column: FieldColumn) -> pa.Array:
    """The text of each value as an array of strings, null for null."""
    written = _by_arrow(column)
    if written is None:
        present = column.present()
        written = scattered(column, pa.array(columns_text.column_texts(present), pa.string()))
    return written


def _by_arrow(column: FieldColumn) -> pa.Array | None:
    """The same; None where Arrow would make other values of these, or write something else than Java."""
    schema = column.schema
    if not column.is_arrow and not columns_text.fit(schema, column.present().items):
        return None
    if logical.python_type(schema) is not None:
        return _of_logical(schema, column.array) if column.is_arrow else None
    if schema.type in _INSIDE:
        return scattered(column, _INSIDE[schema.type](column.present()))
    array = column.array
    if schema.type is Type.STRING:
        return array
    if schema.type in _AS_ARROW:
        return array.cast(pa.string())
    return double_texts(array) if schema.type is Type.FLOAT64 else None


def _of_logical(schema: Schema, array: pa.Array) -> pa.Array | None:
    if schema.name in arrow_times.TEXTS:
        return arrow_times.TEXTS[schema.name](array)
    if schema.name == logical.DECIMAL_NAME and 0 <= logical.scale_of(schema) <= columns_text.PLAIN_SCALE:
        return array.cast(pa.string())
    return None


def _map_texts(column: Sequence[Any]) -> pa.Array:
    """The text of each value of a key, null where it is absent."""
    if not isinstance(column, ArrowColumn):
        return pa.array(columns_text.texts(None, column), pa.string())
    written = _texts(column.field)
    return written if column.absent or not written.null_count else written.fill_null("null")


def double_texts(array: pa.Array) -> pa.Array:
    """Doubles as `java_double` writes them, null for null."""
    if not array.null_count:
        return _doubles(array) if len(array) else pa.array([], pa.string())
    there = array.is_valid()
    present = array.filter(there)
    written = _doubles(present) if len(present) else pa.array([], pa.string())
    return pc.replace_with_mask(pa.nulls(len(array), pa.string()), there, written)


def _doubles(array: pa.Array) -> pa.Array:
    """The texts of at least one double, none of them null: JSON's, but for those that Java writes with an exponent."""
    written = pa.array([orjson.dumps(array.to_pylist())[1:-1]], pa.binary()).view(pa.string())
    texts = pc.split_pattern(written, ",").flatten()
    size = pc.abs(array)
    plain = pc.or_(
        pc.and_(pc.greater_equal(size, columns_text.PLAIN_FROM), pc.less(size, columns_text.PLAIN_TO)),
        pc.equal(size, 0.0),
    )
    if plain.true_count == len(array):
        return texts
    others = pc.invert(plain)
    replaced = columns_text.double_texts(array.filter(others).to_pylist())
    return pc.replace_with_mask(texts, others, pa.array(replaced, pa.string()))


def scattered(column: FieldColumn, present: pa.Array) -> pa.Array:
    """The texts of the values that are not null, each in its row."""
    if len(present) == len(column):
        return present
    there = column.array.is_valid() if column.is_arrow else pa.array([item is not None for item in column.items])
    return pc.replace_with_mask(pa.nulls(len(column), pa.string()), there, present)


def _inner_structs(column: FieldColumn) -> pa.Array:
    if column.schema.fields and len(column):
        return _structs(column.schema, column.children(), "}")
    return pa.array(["Struct{}"] * len(column), pa.string())


def _lists(column: FieldColumn) -> pa.Array:
    plain = None if column.is_arrow else columns_text.plain_list_texts(column.items)
    if plain is not None:
        return pa.array(plain, pa.string())
    lengths, elements = column.elements()
    return _around("[", _by_length(lengths, _texts(elements).fill_null("null")), "]")


def _maps(column: FieldColumn) -> pa.Array:
    keys, values = column.entries()
    entries = _joined(_texts(keys).fill_null("null"), "=", _texts(values).fill_null("null"))
    return _around("{", _by_length(map(len, column.items), entries), "}")


def _by_length(lengths: Iterable[int], texts: pa.Array) -> pa.Array:
    """So many texts together, for each length."""
    ends = pa.array(accumulate(lengths, initial=0), pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(ends, texts), ", ")


#: Of what has other values in it; no value is null.
_INSIDE: Final[dict[Type, Callable[[FieldColumn], pa.Array]]] = {
    Type.STRUCT: _inner_structs,
    Type.ARRAY: _lists,
    Type.MAP: _maps,
}
