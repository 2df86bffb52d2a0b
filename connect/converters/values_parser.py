"""Parses a value from text by its form: `Values.parseString` of Kafka Connect (KIP-145).

Numbers get the smallest type that holds them, ``[1, 2.5]`` is an array, ``{"a": true}`` a map, ``2020-01-31`` a Date,
``12:30:00.000Z`` a Time, ``2020-01-31T12:30:00.000Z`` a Timestamp. Everything else is text.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from connect.api.converter import SchemaAndValue
from connect.data import logical
from connect.data import schema as schemas
from connect.data.schema import Schema, Type
from connect.data.text import float32
from connect.data.times import EPOCH
from connect.errors import DataError

_BLANKS: Final = "".join(map(chr, range(33)))
_BLANK: Final = re.compile(r"[\0- ]*")
_TOKEN: Final = re.compile(r'(?:\\.|[^][{}:,"\\])*', re.DOTALL)
_QUOTED: Final = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_NUMBER: Final = re.compile(r"[-+](?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_TEMPORAL: Final = re.compile(
    r"(?P<date>([0-9]{4})-([0-9]{2})-([0-9]{2}))?(?P<t>T)?(?P<time>([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z)?"
)
_WORDS: Final = {"true": True, "false": False, "null": None}
_NULL: Final = SchemaAndValue(None, None)


class _NoValueError(Exception):
    """The text is only text."""


def parse(text: str) -> SchemaAndValue:
    """The value of a text, with its schema.

    An array or map whose elements have no schema in common, or that has none, is schemaless.

    Raises:
        DataError: a map has two keys that Python takes for one.
    """
    word = text.strip(_BLANKS)
    if word in _WORDS:
        return _NULL if word == "null" else SchemaAndValue(schemas.BOOLEAN, _WORDS[word])
    try:
        start = _after_blanks(text, 0)
        if text[start : start + 1] == '"':
            return SchemaAndValue(schemas.STRING, text)
        # What comes after a number, a date or a closing bracket is dropped, as Java does.
        return _value(text, start, inside=False)[0]
    except (_NoValueError, RecursionError):
        return SchemaAndValue(schemas.STRING, text)


def _value(text: str, at: int, *, inside: bool) -> tuple[SchemaAndValue, int]:
    first = text[at : at + 1]
    if first == "[":
        return _array(text, at + 1)
    if first == "{":
        return _map(text, at + 1)
    if first == '"':
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise _NoValueError
        return _temporal(quoted[1]) or SchemaAndValue(schemas.STRING, quoted[1]), quoted.end()
    temporal = _TEMPORAL.match(text, at)
    assert temporal is not None
    token = _TOKEN.match(text, at)
    assert token is not None
    if temporal["time"]:
        token = _TOKEN.match(text, temporal.end())
        assert token is not None
        found_time = _temporal(temporal[0]) if not token[0].strip(_BLANKS) else None
        if found_time is not None:
            return found_time, token.end()
        token = _TOKEN.match(text, at)
        assert token is not None
    word = token[0].strip(_BLANKS)
    if inside and word in _WORDS:
        return (_NULL if word == "null" else SchemaAndValue(schemas.BOOLEAN, _WORDS[word])), token.end()
    found = _temporal(word) or _number(word)
    if found is None:
        raise _NoValueError
    return found, token.end()


def _array(text: str, at: int) -> tuple[SchemaAndValue, int]:
    items: list[SchemaAndValue] = []
    while True:
        at = _after_blanks(text, at)
        if text[at : at + 1] == "]":
            element, values = _common(items)
            schema = None if element is None else Schema.array(element)
            return SchemaAndValue(schema, values), at + 1
        item, at = _value(text, at, inside=True)
        items.append(item)
        at = _after_blanks(text, at)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            raise _NoValueError


def _map(text: str, at: int) -> tuple[SchemaAndValue, int]:
    keys: list[SchemaAndValue] = []
    items: list[SchemaAndValue] = []
    while True:
        at = _after_blanks(text, at)
        if text[at : at + 1] == "}":
            break
        key, at = _value(text, at, inside=True)
        at = _after_blanks(text, at)
        if key.value is None or text[at : at + 1] != ":":
            raise _NoValueError
        item, at = _value(text, _after_blanks(text, at + 1), inside=True)
        keys.append(key)
        items.append(item)
        at = _after_blanks(text, at)
        if text[at : at + 1] == ",":
            at += 1
    key_schema, names = _common(keys)
    value_schema, values = _common(items)
    try:
        found = dict(zip(names, values, strict=True))
    except TypeError:
        raise _NoValueError from None  # a list as a key
    if len(found) < len(names) and len(found) < len({(type(name), name) for name in names}):
        raise DataError("two keys that only Java tells apart, as 1 and true, cannot be the keys of a dict.")
    schema = None if key_schema is None or value_schema is None else Schema.map(key_schema, value_schema)
    return SchemaAndValue(schema, found), at + 1


_WIDER: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def _common(items: list[SchemaAndValue]) -> tuple[Schema | None, list[Any]]:
    """The schema that elements share, numbers widened to it, or None where they share none."""
    values = [item.value for item in items]
    if None in values and any(value is not None for value in values):
        raise _NoValueError
    if not items:
        return None, values
    common = items[0].schema
    for schema in (item.schema for item in items):
        if common is None or schema is None:
            return None, values
        if common.type is schema.type and common.name == schema.name:
            common = schema
        elif common.type in _WIDER and schema.type in _WIDER and common.name is None and schema.name is None:
            common = max(common, schema, key=lambda each: _WIDER.index(each.type))
        else:
            return None, values
    assert common is not None
    if common.type in (Type.FLOAT32, Type.FLOAT64):
        values = [float32(value) if common.type is Type.FLOAT32 else float(value) for value in values]
    return common, values


def _number(token: str) -> SchemaAndValue | None:
    # Java looks at one half of a surrogate pair at a time, which is no digit.
    if _NUMBER.fullmatch(token) is None or max(token) > "\uffff":
        return None
    try:
        number = Decimal(token)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if not -(1 << 31) < exponent < 1 << 31:
        return None
    if number.adjusted() < 19 and number == number.to_integral_value():
        whole = int(number)
        for kind, schema in _WHOLE:
            if -(1 << (kind - 1)) <= whole < 1 << (kind - 1):
                return SchemaAndValue(schema, whole)
    wide = float(number)
    if exponent != 0 and math.isfinite(float32(wide)):
        return SchemaAndValue(schemas.FLOAT32, float32(wide))
    if exponent != 0 and math.isfinite(wide):
        return SchemaAndValue(schemas.FLOAT64, wide)
    return SchemaAndValue(logical.decimal(-exponent), number)


_WHOLE: Final = ((8, schemas.INT8), (16, schemas.INT16), (32, schemas.INT32), (64, schemas.INT64))


def _temporal(text: str) -> SchemaAndValue | None:
    """A Date, Time or Timestamp; overflow of a month, a day or an hour is carried over, as in Java."""
    found = _TEMPORAL.fullmatch(text)
    if (
        found is None
        or not (found["date"] or found["time"])
        or bool(found["t"]) != bool(found["date"] and found["time"])
    ):
        return None
    _, year, month, day, _, _, hour, minute, second, milli = found.groups()
    clock = dt.timedelta()
    if found["time"]:
        clock = dt.timedelta(hours=int(hour), minutes=int(minute), seconds=int(second), milliseconds=int(milli))
    try:
        if not found["date"]:
            if clock >= dt.timedelta(days=1):
                return None
            return SchemaAndValue(logical.TIME, (EPOCH + clock).time())
        years, months = divmod(int(month) - 1, 12)
        first = dt.datetime(int(year) + years, months + 1, 1, tzinfo=dt.UTC)
        moment = first + dt.timedelta(days=int(day) - 1) + clock
    except (ValueError, OverflowError):
        return None
    if found["time"]:
        return SchemaAndValue(logical.TIMESTAMP, moment)
    return SchemaAndValue(logical.DATE, moment.date())


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    assert blanks is not None
    return blanks.end()
