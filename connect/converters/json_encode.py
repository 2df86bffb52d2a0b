"""Values as JSON, byte for byte as Kafka Connect writes it, a column at a time.

A fast encoder writes the text. Before it, values that it would write differently from Java (a double such as 1.0E10, a
date, a map whose keys are not strings) are replaced by what Java writes for them; a column without such values is
written untouched. After it, what Java escapes differently is replaced in the finished bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice
from types import NoneType
from typing import Any, Final

import msgspec

from connect.converters.json_text import SURROGATE
from connect.data import logical
from connect.data.schema import INT_BITS, Schema, Type
from connect.data.text import java_decimal, java_double, java_float32
from connect.errors import DataError

Column = Sequence[Any]

_ENCODER: Final = msgspec.json.Encoder()
_AS_THEY_ARE: Final = frozenset({str, int, bool, NoneType, bytes, bytearray, memoryview})
_INT64: Final = 1 << 63
_WORTH_COLUMNS: Final = 16


def lines(column: Column) -> bytes:
    """The JSON of prepared values, each followed by a line feed. There is no other line feed."""
    try:
        text = _ENCODER.encode_lines(column)
    except UnicodeEncodeError:
        joined = "".join(_text(value) + "\n" for value in column)
        text = SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04X}", joined).encode()
    if b"\\" in text and b"\\u00" in text:
        text = _ESCAPED.sub(_in_capitals, text)
    if not text.isascii() and any(lead in text for lead in (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")):
        text = _BEYOND_UFFFF.sub(_as_pair, text)
    return text


# An escaped character is read as a whole, so that the second of two backslashes begins no other.
_ESCAPED: Final = re.compile(rb"\\(?:u00[0-9a-f]{2}|.)", re.DOTALL)
_BEYOND_UFFFF: Final = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")


def _in_capitals(escaped: re.Match[bytes]) -> bytes:
    text = escaped[0]
    return b"\\u" + text[2:].upper() if text.startswith(b"\\u") else text


def _as_pair(character: re.Match[bytes]) -> bytes:
    pair = character[0].decode().encode("utf-16-be").hex().upper()
    return f"\\u{pair[:4]}\\u{pair[4:]}".encode()


def _text(value: Any) -> str:
    """One prepared value, with any characters."""
    if isinstance(value, str):
        # The parts around halves of surrogate pairs are quoted by the encoder.
        parts = (
            part if SURROGATE.fullmatch(part) else _ENCODER.encode(part).decode()[1:-1]
            for part in re.split("([\ud800-\udfff])", value)
        )
        return '"' + "".join(parts) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_text(name)}:{_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return _ENCODER.encode(value).decode()


class Preparer:
    """Replaces what the encoder would write differently from Java.

    Args:
        decimal_numeric: whether decimals are JSON numbers; else base64.
        replace_null: whether null becomes the default of a schema that has one.
    """

    def __init__(self, *, decimal_numeric: bool, replace_null: bool) -> None:
        self.decimal_numeric = decimal_numeric
        self._replace_null = replace_null
        self._decimal = _decimal_number if decimal_numeric else logical.encode

    def column(self, schema: Schema | None, values: Column) -> Column:
        """What to write for these values; the very same sequence if nothing had to be changed.

        Raises:
            DataError: a value does not fit its schema, or cannot be JSON.
        """
        if schema is None:
            return self._schemaless(values)
        kinds = set(map(type, values))
        if NoneType in kinds:
            return self._with_nulls(schema, values)
        expected = logical.python_type(schema)
        if expected is not None:
            self._expect(schema, values, expected)
            write = self._decimal if expected is Decimal else logical.encode
            return [write(schema, value) for value in values]
        match schema.type:
            case Type.STRING:
                return values if kinds <= {str} else self._expect(schema, values, str)
            case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
                return _whole(schema, values, kinds)
            case Type.FLOAT64:
                return _floats(values if kinds <= {float} else self._as_floats(schema, values))
            case Type.FLOAT32:
                return [_raw(value, java_float32) for value in self._as_floats(schema, values)]
            case Type.BOOLEAN:
                return values if kinds <= {bool} else self._expect(schema, values, bool)
            case Type.BYTES:
                return self._expect(schema, values, bytes, bytearray, memoryview)
            case Type.ARRAY:
                self._expect(schema, values, list, tuple)
                flat = list(chain.from_iterable(values))
                prepared = self._inner("element", schema.value_schema, flat)
                return values if prepared is flat else _like(values, prepared)
            case Type.MAP:
                self._expect(schema, values, dict)
                return self._maps(schema, values)
            case _:
                self._expect(schema, values, dict)
                return self._structs(schema, values)

    def _expect(self, schema: Schema, values: Column, *kinds: type) -> Column:
        for value in values:
            if not isinstance(value, kinds):
                name = schema.name if logical.python_type(schema) else schema.type.name
                raise DataError(f"{type(value).__name__} where {name} takes {kinds[0].__name__}.")
        return values

    def _as_floats(self, schema: Schema, values: Column) -> Column:
        if any(isinstance(value, bool) for value in values):
            raise DataError(f"bool where {schema.type.name} takes float.")
        return [float(value) for value in self._expect(schema, values, float, int)]

    def _with_nulls(self, schema: Schema, values: Column) -> Column:
        instead = None
        if schema.default is not None and self._replace_null:
            instead = self.column(schema, [schema.default])[0]
        elif not schema.optional:
            raise DataError(f"null where the schema requires a value of type {schema.type.name} and has no default.")
        rest = iter(self.column(schema, [value for value in values if value is not None]))
        return [instead if value is None else next(rest) for value in values]

    def _maps(self, schema: Schema, values: Column) -> Column:
        assert schema.key_schema is not None
        keys = list(chain.from_iterable(values))
        flat = list(chain.from_iterable(map(dict.values, values)))
        items = self._inner("map value", schema.value_schema, flat)
        if schema.key_schema.type is not Type.STRING:
            return _pairs(values, self._inner("map key", schema.key_schema, keys), items)
        if NoneType in set(map(type, keys)):
            keys = ["null" if key is None else key for key in keys]  # as Java writes it
        elif items is flat:
            self._expect(schema.key_schema, keys, str)
            return values
        return _objects(values, self._expect(schema.key_schema, keys, str), items)

    def _structs(self, schema: Schema, values: Column) -> Column:
        names = tuple(field.name for field in schema.fields)
        alike = list(map(tuple, values)).count(names) == len(values)
        columns: list[Column]
        if alike and values:
            columns = list(zip(*map(dict.values, values), strict=True))
        else:
            for value in values:
                for name in value:
                    if schema.field(name) is None:
                        raise DataError(f'there is no field "{name}" in {schema!r}.')
            columns = [[value.get(name) for value in values] for name in names]
        prepared = [
            self._inner(field.name, field.schema, column) for field, column in zip(schema.fields, columns, strict=True)
        ]
        if alike and all(new is old for new, old in zip(prepared, columns, strict=True)):
            return values
        if not names:
            return [{} for _ in values]
        return [dict(zip(names, row, strict=True)) for row in zip(*prepared, strict=True)]

    def _inner(self, name: str, schema: Schema | None, values: Column) -> Column:
        try:
            return self.column(schema, values)
        except DataError as error:
            raise DataError(f"{name}: {error}") from None

    # Without a schema: JSON's own types, whatever mixture of them.

    def _schemaless(self, values: Column) -> Column:
        kinds = set(map(type, values))
        if int in kinds:
            _check_int64(values if len(kinds) == 1 else [value for value in values if type(value) is int])
        if kinds <= _AS_THEY_ARE:
            return values
        changed: dict[type, Iterator[Any]] = {}
        for kind in kinds - _AS_THEY_ARE:
            part = [value for value in values if type(value) is kind] if len(kinds) > 1 else values
            new = self._schemaless_part(kind, part)
            if new is not part:
                changed[kind] = iter(new)
        if not changed:
            return values
        return [next(changed[type(value)]) if type(value) in changed else value for value in values]

    def _schemaless_part(self, kind: type, values: Column) -> Column:
        if kind is float:
            return _floats(values)
        if issubclass(kind, dict):
            if not set(map(type, set().union(*values))) <= {str}:
                return [self._schemaless_map(value) for value in values]
            return self._schemaless_objects(values, untouched=kind is dict)
        if issubclass(kind, list | tuple):
            flat = list(chain.from_iterable(values))
            items = self._schemaless(flat)
            return values if items is flat and kind is list else _like(values, items)
        for plain in (str, int, float):
            if issubclass(kind, plain):
                return self._schemaless([plain(value) for value in values])
        raise DataError(f"a value of type {kind.__name__} has no place in JSON without a schema.")

    def _schemaless_objects(self, values: Column, *, untouched: bool) -> Column:
        rows = map(dict.values, values)
        if len(values) >= _WORTH_COLUMNS and len(set(map(len, values))) == 1:
            # Objects alike: field by field, since the values of one field are mostly of one type.
            columns = list(zip(*rows, strict=True))
            prepared = [self._schemaless(column) for column in columns]
            if untouched and all(new is old for new, old in zip(prepared, columns, strict=True)):
                return values
            if not columns:
                return [{} for _ in values]
            return [dict(zip(v, row, strict=True)) for v, row in zip(values, zip(*prepared, strict=True), strict=True)]
        flat = list(chain.from_iterable(rows))
        items = self._schemaless(flat)
        if untouched and items is flat:
            return values
        return _objects(values, chain.from_iterable(values), items)

    def _schemaless_map(self, value: dict[Any, Any]) -> Any:
        items = self._schemaless(list(value.values()))
        if all(isinstance(key, str) for key in value):
            return dict(zip(map(str, value), items, strict=True))
        return [list(pair) for pair in zip(self._schemaless(list(value)), items, strict=True)]


def _whole(schema: Schema, values: Column, kinds: set[type]) -> Column:
    for kind in kinds:
        if not issubclass(kind, int) or kind is bool:
            raise DataError(f"{kind.__name__} where {schema.type.name} takes int.")
    high = 1 << (INT_BITS[schema.type] - 1)
    for value in (min(values), max(values)) if values else ():
        if not -high <= value < high:
            raise DataError(f"{value} does not fit into {schema.type.name}.")
    return values if kinds <= {int} else list(map(int, values))


def _check_int64(numbers: Column) -> None:
    for number in (min(numbers), max(numbers)):
        if not -_INT64 <= number < _INT64:
            raise DataError(f"{number} does not fit into INT64, the largest whole number of Kafka Connect.")


def _floats(values: Column) -> Column:
    # Between a thousandth and ten million the encoder and Java write the same.
    if all([1e-3 <= size < 1e7 or size == 0 for size in map(abs, values)]):  # noqa: C419 - a list is faster
        return values
    return [value if 1e-3 <= abs(value) < 1e7 else _raw(value, java_double) for value in values]


def _raw(value: float, text: Callable[[float], str]) -> Any:
    written = text(value)
    # NaN and the infinities are written as strings.
    return msgspec.Raw(written.encode()) if written[-1].isdigit() else written


def _decimal_number(schema: Schema, value: Decimal) -> Any:
    if not value.is_finite():
        raise DataError(f"{value} is not a number that Decimal takes.")
    return msgspec.Raw(java_decimal(value).encode())


def _like(values: Column, items: Column) -> list[list[Any]]:
    rest = iter(items)
    return [list(islice(rest, len(value))) for value in values]


def _objects(values: Column, keys: Iterable[str], items: Column) -> list[dict[str, Any]]:
    names, rest = iter(keys), iter(items)
    return [dict(zip(islice(names, len(v)), islice(rest, len(v)), strict=True)) for v in values]


def _pairs(values: Column, keys: Column, items: Column) -> list[list[list[Any]]]:
    names, rest = iter(keys), iter(items)
    return [list(map(list, zip(islice(names, len(v)), islice(rest, len(v)), strict=True))) for v in values]
