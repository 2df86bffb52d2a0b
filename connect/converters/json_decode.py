"""Values of parsed JSON by their schema, a column at a time.

A column that already has the form of its schema is returned untouched; that makes the good path fast. Ambiguities are
resolved as in Kafka Connect: a number that is too big wraps, a text in place of a number is 0.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import chain, islice
from math import copysign
from types import NoneType
from typing import Any, Final

from connect.converters.json_text import MISSING
from connect.data import logical
from connect.data.schema import INT_BITS, Field, Schema, Type
from connect.data.text import float32
from connect.errors import DataError, SchemaError

Column = Sequence[Any]


class Inexact(Exception):
    """The column holds a float whose exact decimal digits matter: parse again, keeping them."""


def schemaless(node: Any) -> Any:
    """The value of exactly parsed JSON without a schema: whole numbers have 64 bits, all others are doubles.

    Args:
        node: what was parsed. It is modified.
    """
    root = [node]
    level: list[Any] = [root]
    while level:  # not by recursion: a record must not get at Python's stack
        inner = []
        for holder in level:
            for place, item in holder.items() if type(holder) is dict else enumerate(holder):
                kind = type(item)
                if kind is dict or kind is list:
                    inner.append(item)
                elif kind is Decimal:
                    holder[place] = _double(item)
                elif kind is int:
                    holder[place] = _wrapped(item, 64)
        level = inner
    return None if node is MISSING else root[0]


class Decoder:
    """Makes values of columns of parsed JSON.

    Args:
        replace_null: whether null becomes the default of a schema that has one.
    """

    def __init__(self, replace_null: bool) -> None:
        self._replace_null = replace_null

    def column(self, schema: Schema, nodes: Column, *, in_struct: bool = False) -> Column:
        """The values of these nodes; the very same sequence if nothing had to be changed.

        Raises:
            DataError: a node cannot be a value of this schema.
            Inexact: see there. Never when nodes have Decimal for float.
        """
        kinds = set(map(type, nodes))
        if NoneType in kinds:
            return self._with_nulls(schema, nodes, in_struct)
        if schema.name in _LOGICAL:
            make = _LOGICAL[schema.name]
            return [make(schema, node) for node in nodes]
        match schema.type:
            case Type.STRING:
                values = nodes if kinds <= {str} else [node if type(node) is str else None for node in nodes]
            case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
                bits = INT_BITS[schema.type]
                high = 1 << (bits - 1)
                if kinds <= {int} and (not nodes or (min(nodes) >= -high and max(nodes) < high)):
                    return nodes
                return [_whole(node, bits) for node in nodes]
            case Type.FLOAT64:
                if kinds <= {float} and not (0.0 in nodes and any(map(_is_minus_zero, nodes))):
                    return nodes
                return [_double(node) for node in nodes]
            case Type.FLOAT32:
                return [float32(_double(node)) for node in nodes]
            case Type.BOOLEAN:
                return nodes if kinds <= {bool} else [node is True for node in nodes]
            case Type.BYTES:
                values = [_base64(node) if type(node) is str else None for node in nodes]
            case Type.ARRAY:
                return self._arrays(schema, nodes, in_struct)
            case Type.MAP:
                return self._maps(schema, nodes, in_struct)
            case _:
                return self._structs(schema, nodes)
        if in_struct and not schema.optional and None in values:
            raise DataError(f"something else than the JSON string that {schema.type.name} takes.")
        return values

    def _with_nulls(self, schema: Schema, nodes: Column, in_struct: bool) -> Column:
        instead = None
        if schema.default is not None and self._replace_null:
            instead = schema.default
        elif not schema.optional:
            raise DataError(f"null where the schema requires a value of type {schema.type.name}.")
        values = iter(self.column(schema, [node for node in nodes if node is not None], in_struct=in_struct))
        return [instead if node is None else next(values) for node in nodes]

    def _arrays(self, schema: Schema, nodes: Column, in_struct: bool) -> Column:
        assert schema.value_schema is not None
        # Java iterates over whatever has children: an object's values, nothing of a number.
        lists = [n if type(n) is list else list(n.values()) if type(n) is dict else [] for n in nodes]
        flat = list(chain.from_iterable(lists))
        values = self._inner("element", schema.value_schema, flat, in_struct)
        if values is flat:
            return lists
        rest = iter(values)
        return [list(islice(rest, len(items))) for items in lists]

    def _maps(self, schema: Schema, nodes: Column, in_struct: bool) -> Column:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if schema.key_schema.type is Type.STRING:
            if not set(map(type, nodes)) <= {dict}:
                raise DataError("a map with string keys must be a JSON object.")
            if in_struct and schema.key_schema.name in _LOGICAL and any(nodes):
                raise DataError(f"a string is not {_short_name(schema.key_schema)}, and the map's keys should be.")
            flat = list(chain.from_iterable(map(dict.values, nodes)))
            values = self._inner("map value", schema.value_schema, flat, in_struct)
            if values is flat:
                return nodes
            rest = iter(values)
            return [dict(zip(node, islice(rest, len(node)), strict=True)) for node in nodes]
        return [self._map_of_pairs(schema, node, in_struct) for node in nodes]

    def _map_of_pairs(self, schema: Schema, node: Any, in_struct: bool) -> dict[Any, Any]:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if type(node) is not list or not all(type(pair) is list and len(pair) == 2 for pair in node):
            raise DataError("a map with keys that are not strings must be a JSON array of [key, value] arrays.")
        keys = self._inner("map key", schema.key_schema, [pair[0] for pair in node], in_struct)
        values = self._inner("map value", schema.value_schema, [pair[1] for pair in node], in_struct)
        try:
            found = dict(zip(keys, values, strict=True))
        except TypeError:
            raise DataError(f"keys of type {schema.key_schema.type.name} cannot be the keys of a dict.") from None
        if len(found) < len(keys) and len(found) < _count_in_java(schema.key_schema, keys):
            raise DataError("two keys that only Java tells apart, as 0.0 and -0.0, cannot be the keys of a dict.")
        return found

    def _structs(self, schema: Schema, nodes: Column) -> Column:
        if not set(map(type, nodes)) <= {dict}:
            raise DataError("a struct must be a JSON object.")
        names = tuple(field.name for field in schema.fields)
        alike = list(map(tuple, nodes)).count(names) == len(nodes)
        columns: list[Column]
        if alike and nodes:
            columns = list(zip(*map(dict.values, nodes), strict=True))
        else:
            columns = [[node.get(name) for node in nodes] for name in names]
        values = self.fields(schema, columns)
        if alike and all(value is column for value, column in zip(values, columns, strict=True)):
            return nodes
        if not names:
            return [{} for _ in nodes]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def fields(self, schema: Schema, columns: Sequence[Column]) -> list[Column]:
        """The values of a struct's fields: a column of parsed JSON for each, missing ones null. Errors as `column`."""
        return [self.field(field, column) for field, column in zip(schema.fields, columns, strict=True)]

    def field(self, field: Field, column: Column) -> Column:
        """The values of one field of structs. Errors as `column`."""
        return self._inner(field.name, field.schema, column, True)

    def _inner(self, name: str, schema: Schema, nodes: Column, in_struct: bool) -> Column:
        try:
            return self.column(schema, nodes, in_struct=in_struct)
        except DataError as error:
            raise DataError(f"{name}: {error}") from None


def _count_in_java(schema: Schema, keys: Column) -> int:
    """The number of entries of a Java map with these keys: there two arrays of bytes are never equal."""
    by_identity = schema.type is Type.BYTES and schema.name != logical.DECIMAL_NAME
    return len(keys) if by_identity else len(set(map(repr, keys)))


def _whole(node: Any, bits: int) -> int:
    if type(node) is float:
        raise Inexact
    if type(node) is Decimal:
        # Ten to the 64th is a multiple of two to the 64th: nothing is left, and 1E+999999999 is not written out.
        return 0 if node.as_tuple().exponent > bits else _wrapped(int(node), bits)  # type: ignore[operator]
    return _wrapped(node, bits) if type(node) is int else 0


def _wrapped(number: int, bits: int) -> int:
    high = 1 << (bits - 1)
    return (number + high) % (high << 1) - high


def _is_minus_zero(number: float) -> bool:
    return number == 0 and copysign(1, number) < 0


def _double(node: Any) -> float:
    if type(node) is float:
        if _is_minus_zero(node):
            raise Inexact  # Java reads -0.0 as 0.0, but -1E-400 as -0.0
        return node
    if type(node) not in (int, Decimal) or not node:
        return 0.0
    try:
        return float(node)
    except OverflowError:
        return float("inf") if node > 0 else float("-inf")


#: Java's decoder takes white space between groups of four, and goes on after padding.
_GROUPS: Final = re.compile(r"[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)")


def _base64(text: str) -> bytes:
    try:
        if len(text) % 4 or text.endswith("==="):  # padding behind what is complete: Python's strict mode takes it
            raise ValueError
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        groups = _GROUPS.findall(text)
        if _GROUPS.sub("", text).strip("".join(map(chr, range(33)))):
            raise DataError("what should be base64 is not.") from None
        return b"".join(map(binascii.a2b_base64, groups))


def _decimal(schema: Schema, node: Any) -> Decimal:
    if type(node) is float:
        raise Inexact
    if type(node) is int:
        return Decimal(node)
    if type(node) is Decimal:
        return node or node.copy_abs()
    if type(node) is not str:
        raise DataError(f"Decimal takes a JSON number or base64, and there is {_kind(node)}.")
    encoded = _base64(node)
    if not encoded:
        raise DataError("Decimal takes at least one byte, and there is none.")
    value: Decimal = logical.decode(schema, encoded)
    return value


def _short_name(schema: Schema) -> str:
    return str(schema.name).rpartition(".")[2]


def _counted(bits: int) -> Callable[[Schema, Any], Any]:
    low = -(1 << (bits - 1))

    def make(schema: Schema, node: Any) -> Any:
        if type(node) is not int or (bits < 64 and not low <= node < -low):
            raise DataError(f"{_short_name(schema)} takes a whole JSON number, and there is {_kind(node)}.")
        try:
            return logical.decode(schema, node if low <= node < -low else _wrapped(node, bits))
        except SchemaError as error:
            raise DataError(f"{_short_name(schema)}: {error}") from None

    return make


_LOGICAL: Final[dict[str | None, Callable[[Schema, Any], Any]]] = {
    logical.DECIMAL_NAME: _decimal,
    logical.DATE_NAME: _counted(32),
    logical.TIME_NAME: _counted(32),
    logical.TIMESTAMP_NAME: _counted(64),
}


def _kind(node: Any) -> str:
    return "a number that is too big or has a fraction" if type(node) in (int, float, Decimal) else type(node).__name__
