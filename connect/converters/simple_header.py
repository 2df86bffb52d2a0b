"""SimpleHeaderConverter: header values as readable text, parsed back by their form (KIP-145)."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping
from typing import Any

from connect.api.converter import NULL, HeaderConverter, SchemaAndValue
from connect.converters.values_parser import parse
from connect.data.schema import STRING, Schema, Type
from connect.data.text import java_text, utf8_text


class SimpleHeaderConverter(HeaderConverter):
    """Writes values as text and reads their types from the text: a header written as "5" comes back as a number."""

    def configure(self, config: Mapping[str, str]) -> None:
        """It has nothing to configure."""

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return NULL
        return parse(utf8_text(data)) if data else SchemaAndValue(STRING, "")

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        text = value if isinstance(value, str) else _written(schema, value)
        return text.encode("utf-8", "replace")


def _written(schema: Schema | None, value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        element = schema.value_schema if schema is not None else None
        return "[" + ",".join(_inside(element, item) for item in value) + "]"
    if isinstance(value, dict):
        if schema is not None and schema.type is Type.STRUCT:
            entries = (f'"{field.name}":{_inside(field.schema, value.get(field.name))}' for field in schema.fields)
        else:
            keys, values = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
            entries = (f"{_inside(keys, key)}:{_inside(values, item)}" for key, item in value.items())
        return "{" + ",".join(entries) + "}"
    if isinstance(value, dt.date | dt.time):
        return _moment(value)
    return java_text(schema, value)


def _inside(schema: Schema | None, value: Any) -> str:
    """An element of an array, map or struct; bytes are quoted there."""
    text = _written(schema, value)
    return f'"{text}"' if isinstance(value, bytes | bytearray | memoryview) else text


def _moment(value: dt.date | dt.time) -> str:
    if isinstance(value, dt.datetime):
        moment = value.astimezone(dt.UTC) if value.tzinfo is not None else value
        if moment.time().replace(microsecond=moment.microsecond // 1000 * 1000) != dt.time():
            return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
        value = moment.date()  # a moment at midnight is written as a date, as in Java
    return value.isoformat(timespec="milliseconds") + "Z" if isinstance(value, dt.time) else value.isoformat()
