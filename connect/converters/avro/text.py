"""The text of an Avro schema, as Java's Avro writes it: each named type in full once, and by its name after that."""

from __future__ import annotations

import re
from typing import Any, Final

from connect.converters.avro.from_connect import Json, Number
from connect.data.schema import Type
from connect.data.text import java_double, java_float32

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPECIAL: Final = re.compile(r'["\\\x00-\x1f]')
_NAMED: Final = frozenset({"record", "enum", "fixed"})


def schema_text(schema: Json) -> str:
    """The text of a schema whose named types have a name and a namespace, and are complete wherever they are used."""
    return _type(schema, None, set())


def _type(node: Json, space: str | None, seen: set[tuple[str, str]]) -> str:
    if isinstance(node, str):
        return _json(node)
    if isinstance(node, list):
        return "[" + ",".join(_type(each, space, seen) for each in node) + "]"
    parts: list[tuple[str, str]] = []
    if node["type"] in _NAMED:
        own = node["namespace"]
        name = (own, node["name"])
        if name in seen:
            return _json(node["name"] if own == (space or "") else ".".join(filter(None, name)))
        seen.add(name)
        parts += [("type", _json(node["type"])), ("name", _json(node["name"]))]
        if own != (space or ""):
            parts.append(("namespace", _json(own)))
        space = own
    for key, value in node.items():
        if node["type"] in _NAMED and key in ("type", "name", "namespace"):
            continue
        if key in ("items", "values") or (key == "type" and not isinstance(value, str)):
            parts.append((key, _type(value, space, seen)))
        elif key == "fields":
            fields = [_field(each, space, seen) for each in value]
            parts.append((key, "[" + ",".join(fields) + "]"))
        else:
            parts.append((key, _json(value)))
    return _object(parts)


def _field(field: dict[str, Any], space: str | None, seen: set[tuple[str, str]]) -> str:
    return _object(
        [(key, _type(value, space, seen) if key == "type" else _json(value)) for key, value in field.items()]
    )


def _object(parts: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_json(key)}:{text}" for key, text in parts) + "}"


def _json(value: Any) -> str:
    """Any JSON, as Jackson writes it: nothing escaped that need not be."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{_SPECIAL.sub(_escaped, value)}"'
    if isinstance(value, Number):
        text = java_float32(value.value) if value.type is Type.FLOAT32 else java_double(value.value)
        return text if value.value - value.value == 0 else f'"{text}"'
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, dict):
        return _object([(str(key), _json(each)) for key, each in value.items()])
    return str(value)


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"
