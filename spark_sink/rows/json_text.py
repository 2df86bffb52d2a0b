"""JSON of single values, as Spark's to_json writes it."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any, Final


def json_text(value: Any) -> str:
    """A value in JSON. Of a dict, what is null is left out."""
    match value:
        case dict():
            parts = (f"{_quoted(str(name))}:{json_text(each)}" for name, each in value.items() if each is not None)
            return "{" + ",".join(parts) + "}"
        case list() | tuple():
            return "[" + ",".join(map(json_text, value)) + "]"
        case str():
            return _quoted(value)
        case None | bool() | int():
            return _PLAIN.encode(value)
        case float():
            return _PLAIN.encode(value) if math.isfinite(value) else _quoted(_SPECIAL.get(str(value), "NaN"))
        case Decimal():
            return format(value, "f")
        case bytes():
            return _quoted(base64.b64encode(value).decode())
        case dt.datetime():
            moment = value.astimezone(dt.UTC).replace(tzinfo=None)
            return _quoted(moment.isoformat(timespec="milliseconds") + "Z")
        case dt.date():
            return _quoted(value.isoformat())
        case dt.time():
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return str(seconds * 1000 + value.microsecond // 1000)
    return _quoted(str(value))


_PLAIN: Final = json.JSONEncoder()
_SPECIAL: Final = {"inf": "Infinity", "-inf": "-Infinity"}


def _quoted(text: str) -> str:
    # Half of a surrogate pair, which JSON may bring, is a question mark in Java.
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)
