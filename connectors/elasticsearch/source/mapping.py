"""Structs from documents: the schema that an index's mapping gives, and a document's values as that schema has them.

| mapping | Connect |
|---|---|
| keyword, text, ip, version, wildcard, ... | STRING |
| long, integer, short, byte | INT64, INT32, INT16, INT8 |
| unsigned_long | Decimal without digits behind the point |
| double, scaled_float; float, half_float | FLOAT64; FLOAT32 |
| boolean, binary | BOOLEAN, BYTES |
| date in its usual format | Timestamp; date_nanos and other formats STRING, as they are written |
| object, nested | STRUCT, ARRAY of STRUCT |
| others | STRING: their JSON |
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import orjson

from connect import ConnectError, Schema, StructColumns, Type, Values, logical
from connect.data.times import EPOCH

Convert = Callable[[Any], Any]

_TEXTS: Final = frozenset(
    {
        "keyword",
        "text",
        "ip",
        "version",
        "wildcard",
        "constant_keyword",
        "match_only_text",
        "search_as_you_type",
        "icu_collation_keyword",
        "annotated_text",
        "date_nanos",
    }
)
_WHOLE: Final = {"long": Type.INT64, "integer": Type.INT32, "short": Type.INT16, "byte": Type.INT8}
_FRACTIONS: Final = {
    "double": Type.FLOAT64,
    "scaled_float": Type.FLOAT64,
    "float": Type.FLOAT32,
    "half_float": Type.FLOAT32,
}
_USUAL: Final = frozenset(
    {
        "strict_date_optional_time||epoch_millis",
        "strict_date_optional_time",
        "strict_date_optional_time_nanos",
        "date_optional_time",
        "epoch_millis",
    }
)
_STRING: Final = Schema(Type.STRING, optional=True)
#: What JSON has for values of these types that need no change.
_AS_THEY_ARE: Final[dict[str, type]] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(_WHOLE, int),
    **dict.fromkeys(_FRACTIONS, float),
    "boolean": bool,
}


class Unfitting(Exception):
    """A document does not fit the schema; the message says which field and why."""


class Mapped:
    """How an index's documents are converted.

    Args:
        index: its name.
        properties: of its mapping.
        arrays: fields that hold several values, by their paths.
    """

    def __init__(self, index: str, properties: Mapping[str, Any], arrays: frozenset[str]) -> None:
        self.index = index
        self._arrays = arrays
        self.schema, self._fields = self._struct(properties, "", name=index)
        self._as_they_are = {
            name: _AS_THEY_ARE[said["type"]]
            for name, said in properties.items()
            if said.get("type") in _AS_THEY_ARE and name not in arrays
        }

    def values(self, documents: list[dict[str, Any]]) -> Values:
        """The records' values.

        Raises:
            Unfitting: a document has a field that the mapping does not have, or a value of another type.
        """
        columns = []
        expanded = list(map(_expanded, documents))
        for name, convert in self._fields.items():
            values = [document.get(name) for document in expanded]
            kind = self._as_they_are.get(name)
            columns.append([v if v.__class__ is kind or v is None else convert(v) for v in values])
        known = self._fields.keys()
        for document in expanded:
            if not known >= document.keys():
                raise Unfitting(f'field "{next(iter(document.keys() - known))}" is in no mapping')
        return StructColumns(self.schema, columns)

    def _struct(self, properties: Mapping[str, Any], path: str, name: str | None) -> tuple[Schema, dict[str, Convert]]:
        schemas: dict[str, Schema] = {}
        converters: dict[str, Convert] = {}
        for field, said in properties.items():
            if said.get("type") == "alias":
                continue
            schemas[field], converters[field] = self._field(said, f"{path}{field}")
        if not schemas:
            raise ConnectError(
                f"The mapping of {self.index}{f', field {path[:-1]},' if path else ''} has no fields, so that there is "
                "no schema. Use value.format=schemaless, or fields.exclude."
            )
        return Schema.struct(schemas, name=name, optional=name is None), converters

    def _field(self, said: Mapping[str, Any], path: str) -> tuple[Schema, Convert]:
        kind: str = said.get("type", "object")
        schema, convert = self._single(kind, said, path)
        if kind == "nested" or path in self._arrays:
            return Schema.array(schema, optional=True), _each(convert, path)
        return schema, _list_or_only(path) if convert is _json else _only(convert, path)

    def _single(self, kind: str, said: Mapping[str, Any], path: str) -> tuple[Schema, Convert]:
        if kind in ("object", "nested") and said.get("properties"):
            schema, fields = self._struct(said["properties"], f"{path}.", None)
            return schema, _struct_of(fields, path)
        if kind in _TEXTS or (kind == "date" and said.get("format", "epoch_millis") not in _USUAL):
            return _STRING, _text
        if kind in _WHOLE:
            return Schema(_WHOLE[kind], optional=True), _whole
        if kind in _FRACTIONS:
            return Schema(_FRACTIONS[kind], optional=True), float
        if kind == "unsigned_long":
            return logical.decimal(0, optional=True), lambda value: Decimal(_whole(value))
        if kind == "boolean":
            return Schema(Type.BOOLEAN, optional=True), _boolean
        if kind == "binary":
            return Schema(Type.BYTES, optional=True), base64.b64decode
        if kind == "date":
            return logical.TIMESTAMP.as_optional(), _moment
        return _STRING, _json


def _struct_of(fields: Mapping[str, Convert], path: str) -> Convert:
    def struct(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Unfitting(f'field "{path}" holds {value!r} and should hold an object')
        value = _expanded(value)
        for name in value:
            if name not in fields:
                raise Unfitting(f'field "{path}.{name}" is in no mapping')
        return {name: convert(value.get(name)) for name, convert in fields.items()}

    return struct


def _only(convert: Convert, path: str) -> Convert:
    """For a field of one value, which may be written as a list of one."""

    def only(value: Any) -> Any:
        if isinstance(value, list):
            if len(value) > 1:
                raise Unfitting(f'field "{path}" holds several values: name it in array.fields')
            value = value[0] if value else None
        return None if value is None else _converted(convert, value, path)

    return only


def _list_or_only(path: str) -> Convert:
    """For a field that becomes JSON: a point or a vector is a list, and one value."""
    only = _only(_json, path)
    return lambda value: _json(value) if isinstance(value, list) and len(value) > 1 else only(value)


def _each(convert: Convert, path: str) -> Convert:
    """For a field of several values, of which one may be written without a list."""

    def each(value: Any) -> Any:
        if value is None:
            return None
        values = value if isinstance(value, list) else [value]
        return [None if one is None else _converted(convert, one, path) for one in values]

    return each


def _converted(convert: Convert, value: Any, path: str) -> Any:
    try:
        return convert(value)
    except (ValueError, TypeError, OverflowError, InvalidOperation, binascii.Error) as error:
        raise Unfitting(f'field "{path}" holds {str(value)[:100]!r}: {error}') from None


def _expanded(document: dict[str, Any]) -> dict[str, Any]:
    """A document in which `a.b` is a field of `a`, as the cluster reads it."""
    if not any("." in name for name in document):
        return document
    whole: dict[str, Any] = {}
    for name, value in document.items():
        head, _, rest = name.partition(".")
        if not rest:
            whole[head] = {**whole[head], **value} if _both(whole.get(head), value) else value
        else:
            inner = whole.get(head)
            added = _expanded({rest: value})
            whole[head] = _merged(inner, added) if isinstance(inner, dict) else added
    return whole


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = dict(one)
    for name, value in other.items():
        both[name] = _merged(both[name], value) if _both(both.get(name), value) else value
    return both


def _both(one: Any, other: Any) -> bool:
    return isinstance(one, dict) and isinstance(other, dict)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _whole(value: Any) -> int:
    """A whole number as the cluster indexes it: of texts too, and without decimals."""
    return int(Decimal(value)) if isinstance(value, str | float) else int(value)


def _boolean(value: Any) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false", ""):
        return False
    raise ValueError("is not a boolean")


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, int | float):
        return EPOCH + dt.timedelta(milliseconds=int(value))
    if len(value.removeprefix("-")) > 4 and value.removeprefix("-").isdigit():
        return EPOCH + dt.timedelta(milliseconds=int(value))
    # Python reads what the usual format allows but years and months alone.
    padded = value + {4: "-01-01", 7: "-01"}.get(len(value), "")
    read = dt.datetime.fromisoformat(padded)
    aware = read if read.tzinfo is not None else read.replace(tzinfo=dt.UTC)
    return aware.replace(microsecond=aware.microsecond // 1000 * 1000)
