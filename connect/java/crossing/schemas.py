"""Schemas as text, as both ends of a crossing know them: in the form of JsonConverter."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from connect.converters import json_schema
from connect.converters.json_decode import Decoder
from connect.converters.json_encode import Preparer, lines
from connect.data.schema import Schema

_MOST: Final = 10_000
_decoder: Final = Decoder(replace_null=False)
_preparer: Final = Preparer(decimal_numeric=False, replace_null=False)


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


def _written(schema: Schema, default: Any) -> Any:
    return _preparer.column(schema, [default])[0]


def _value(schema: Schema, node: Any) -> Any:
    return _decoder.column(schema, [node], in_struct=True)[0]
