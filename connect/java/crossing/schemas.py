"""Schemas as text, as both ends of a crossing know them: in the form of JsonConverter, but for defaults.

A default is text, too: the base64 of its value in MessagePack (`packed`). JSON has no NaN, and Java's JsonConverter
neither writes nor reads the default of a struct.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from typing import Any, Final

from connect.converters import json_schema
from connect.converters.json_encode import lines
from connect.data.schema import Schema
from connect.java.crossing.packed import pack, paired, unpack

_MOST: Final = 10_000


@lru_cache(_MOST)
def text_of(schema: Schema) -> bytes:
    """A schema's text."""
    return lines([json_schema.to_json(schema, _written)])[:-1]


@lru_cache(_MOST)
def schema_of(text: bytes) -> Schema:
    """The schema of a text that the JVM wrote."""
    schema = json_schema.from_json(json.loads(text), _value)
    assert schema is not None
    return schema


def _written(schema: Schema, default: Any) -> str:
    return base64.b64encode(pack(paired(default))).decode()


def _value(schema: Schema, node: str) -> Any:
    return unpack(base64.b64decode(node))
