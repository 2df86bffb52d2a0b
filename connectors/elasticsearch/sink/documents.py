"""Values as JSON documents, as Java's connector makes them.

Decimals are numbers (exact ones; Java's are doubles), Timestamp and Date milliseconds since 1970, Time milliseconds of
the day, bytes base64. A map with text keys is an object, another one a list of objects with key and value. Schemaless
values are written as they are. A text, or bytes, with a JSON object becomes that object.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import orjson

from connect import DataError, Schema, Text, Type, Values, logical
from connect.converters.json_converter import JsonConverter
from connect.data import java_text
from connect.data.arrow_column import ArrowColumn
from connect.data.column import Constant
from connect.data.map_columns import MapColumns
from connect.data.times import DAY_MS, EPOCH_DAY, time_ms, timestamp_ms

_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATETIME
_ANY_KEYS: Final = _OPTIONS | orjson.OPT_NON_STR_KEYS

#: Changes a value so that the encoder writes what it should; None where it does so anyway.
_Change = Callable[[Any], Any] | None


#: What the converter for JSON writes as the encoder here does.
_PLAIN: Final = frozenset({str, int, bool, type(None)})


def _is_plain(maps: MapColumns) -> bool:
    return all(isinstance(items, ArrowColumn) or set(map(type, items)) <= _PLAIN for items in maps.columns.values())


class Documents:
    """Makes documents of values.

    Args:
        compact_maps: see compact.map.entries.
    """

    def __init__(self, compact_maps: bool) -> None:
        self._compact = compact_maps
        self._converter = JsonConverter()
        self._converter.configure({"schemas.enable": "false"}, is_key=False)
        self._changes: dict[int, tuple[Schema, _Change]] = {}

    def of(self, values: Values) -> tuple[list[bytes | None], dict[int, DataError]]:
        r"""A document for each value, None for null, and the rows that cannot be one with the reason.

        No document has a line feed in it.
        """
        found: list[bytes | None] = [None] * len(values)
        wrong: dict[int, DataError] = {}
        for rows, group in values.groups():
            schema = group.schemas[0]
            try:
                made: Sequence[bytes | None] = self._group(schema, group)
            except (DataError, TypeError, ValueError, RecursionError):
                made = self._one_by_one(schema, rows, group, wrong)
            if rows == range(len(found)):
                found = list(made)
            else:
                for row, document in zip(rows, made, strict=True):
                    found[row] = document
        return found, wrong

    def _one_by_one(
        self, schema: Schema | None, rows: Sequence[int], group: Values, wrong: dict[int, DataError]
    ) -> list[bytes | None]:
        made: list[bytes | None] = []
        for at, row in enumerate(rows):
            try:
                made += self._group(schema, group.between(at, at + 1))
            except (DataError, TypeError, ValueError, RecursionError) as error:
                wrong[row] = error if isinstance(error, DataError) else DataError(f"It cannot be written: {error}.")
                made.append(None)
        return made

    def _group(self, schema: Schema | None, group: Values) -> Sequence[bytes | None]:
        if isinstance(group, Text):
            return list(map(_checked, group.encoded()))
        if schema is not None and schema.type in (Type.STRING, Type.BYTES) and logical.python_type(schema) is None:
            return [_checked(item.encode() if isinstance(item, str) else item) for item in group]
        raw = group.json
        if raw is not None and all(text is None or text[:1] == b"{" for text in raw):
            return list(map(_on_one_line, raw))
        if isinstance(group, MapColumns) and group.in_arrow and _is_plain(group):
            return self._converter.from_connect_batch(Constant("", len(group)), group)
        items = group.to_list()
        kinds = set(map(type, items)) - {type(None)}
        if kinds - {dict}:
            if schema is None and kinds <= {dict, str, bytes}:
                texts = (item.encode() if isinstance(item, str) else item for item in items)
                return [_checked(item) if isinstance(item, bytes) else _written(item) for item in texts]
            raise DataError(f"A document is an object, and the value is {_called(schema, kinds)}.")
        change = self._change_of(schema)
        if change is not None:
            items = [None if item is None else change(item) for item in items]
        try:
            return [None if item is None else orjson.dumps(item, _other, _OPTIONS) for item in items]
        except TypeError:
            # Keys that are not texts: rare, and slower to write.
            return [None if item is None else orjson.dumps(item, _other, _ANY_KEYS) for item in items]

    # Values whose schema asks for something else than the encoder would write.

    def _change_of(self, schema: Schema | None) -> _Change:
        if schema is None:
            return None
        known = self._changes.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._changes) > 1000:
                self._changes.clear()
            known = self._changes[id(schema)] = (schema, self._change(schema))
        return known[1]

    def _change(self, schema: Schema) -> _Change:
        if logical.python_type(schema) is not None:
            return None  # by its Python type
        match schema.type:
            case Type.FLOAT32:
                # A single float with as many digits as tell it from others.
                return lambda value: float(java_text(schema, float(value))) if math.isfinite(value) else None
            case Type.ARRAY if schema.value_schema is not None:
                element = self._of_null(schema.value_schema)
                return None if element is None else lambda items: [element(item) for item in items]
            case Type.MAP:
                return self._of_map(schema)
            case Type.STRUCT:
                return self._of_struct(schema)
        return None

    def _of_null(self, schema: Schema) -> _Change:
        """The same for a value that may be null: then it is the schema's default, as in Java's structs."""
        change, default = self._change(schema), schema.default
        if default is None:
            return None if change is None else lambda item: None if item is None else change(item)
        if change is None:
            return lambda item: default if item is None else item
        return lambda item: change(default if item is None else item)

    def _of_struct(self, schema: Schema) -> _Change:
        changes = [(field.name, change) for field in schema.fields if (change := self._of_null(field.schema))]
        if not changes:
            return None

        def struct(value: Any) -> Any:
            changed = dict(value)
            for name, change in changes:
                changed[name] = change(changed.get(name))
            return changed

        return struct

    def _of_map(self, schema: Schema) -> _Change:
        value = None if schema.value_schema is None else self._of_null(schema.value_schema)
        text_keys = schema.key_schema is not None and schema.key_schema.type is Type.STRING
        if self._compact and text_keys:
            return None if value is None else lambda items: {key: value(item) for key, item in items.items()}
        if value is None:
            return lambda items: [{"key": key, "value": item} for key, item in items.items()]
        return lambda items: [{"key": key, "value": value(item)} for key, item in items.items()]


def timed(document: bytes, field: str, time: bytes) -> bytes:
    """A document with a field, in the place of its own one of that name; the field's value is already JSON."""
    name = orjson.dumps(field)
    if name in document:  # a name that comes twice is refused
        document = _without(document, field)
    rest = document[1:] if document[1:].lstrip().startswith(b"}") else b"," + document[1:]
    return b"{%b:%b%b" % (name, time, rest)


def _without(document: bytes, field: str) -> bytes:
    """A document without a field, with all digits of its numbers."""
    whole = json.loads(document, parse_int=Decimal, parse_float=Decimal)
    if field not in whole:
        return document
    del whole[field]
    return written(whole)


def written(value: Any) -> bytes:
    """The JSON of a schemaless value."""
    return orjson.dumps(value, _other, _ANY_KEYS)


def _written(item: Any) -> bytes | None:
    return None if item is None else written(item)


def _checked(text: bytes | None) -> bytes | None:
    """A text for a document, checked."""
    if text is None:
        return None
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(f"The text is not a JSON object, which a document has to be: {error}.") from None
    if not isinstance(parsed, dict):
        raise DataError("The text is JSON, but no object, which a document has to be.")
    return _on_one_line(bytes(text))


def _on_one_line(text: bytes | None) -> bytes | None:
    # Within JSON's strings a line feed is escaped, so that any other one is blank space.
    if text is None or (b"\n" not in text and text[:1] == b"{"):
        return text
    return text.replace(b"\n", b" ").strip()


def _other(value: Any) -> Any:
    """The conversion of types that the encoder does not know."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value) if value.is_finite() else "null")
    if isinstance(value, dt.datetime):
        return timestamp_ms(value)
    if isinstance(value, dt.date):
        return (value.toordinal() - EPOCH_DAY) * DAY_MS
    if isinstance(value, dt.time):
        return time_ms(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def _called(schema: Schema | None, kinds: set[type]) -> str:
    return schema.type.name if schema is not None else ", ".join(sorted(kind.__name__ for kind in kinds))
