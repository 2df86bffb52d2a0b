"""A schema as text to keep and read again: the JSON of `json_schema`, with defaults as JsonConverter writes them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from connect.converters import json_schema
from connect.converters.json_decode import Decoder
from connect.converters.json_encode import Preparer, lines
from connect.data.schema import Schema
from connect.errors import DataError

_PREPARER = Preparer(decimal_numeric=False, replace_null=False)
_DECODER = Decoder(replace_null=False)


def text_of(schema: Schema) -> str:
    """One line of JSON that `schema_of_text` makes an equal schema of."""
    return lines([json_schema.to_json(schema, lambda s, default: _PREPARER.column(s, [default])[0])])[:-1].decode()


def schema_of_text(text: str | bytes) -> Schema:
    """The schema that a text of `text_of` describes.

    Raises:
        DataError: it is no JSON, or describes no schema.
    """
    try:
        node: Any = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise DataError(f"A schema is kept as JSON, and this is none: {error}") from None
    schema = json_schema.from_json(node, lambda s, value: _DECODER.column(s, [value])[0])
    if schema is None:
        raise DataError("A schema is kept as JSON, and this is null.")
    return schema
