"""The page of the site that lists every operation and type of the REST API, made from its OpenAPI description."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: An OpenAPI description, or a part of one.
Described = Mapping[str, Any]

_INTRODUCTION = """# REST API: every operation

Made from the [OpenAPI description](openapi.json) of version {version}, which a worker answers to `GET /openapi.json`;
what workers ask each other is left out.
[The REST API](rest.md) says how it differs from Kafka Connect's, [security](security.md#who-may-use-the-rest-api) who
may do what.
"""


def page(described: Described) -> str:
    """The page, in Markdown.

    Args:
        described: the whole OpenAPI description.
    """
    sections: dict[str, list[str]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            (tag,) = operation["tags"]
            sections.setdefault(tag, []).extend(_operation(method, path, operation))
    lines = [_INTRODUCTION.format(version=described["info"]["version"])]
    for tag, section in sections.items():
        lines += [f"## {_capitalised(tag)}", "", *section]
    lines += ["## Types", ""]
    for name, schema in described["components"]["schemas"].items():
        lines += _type(name, schema)
    return "\n".join(lines)


def _operation(method: str, path: str, operation: Described) -> Iterator[str]:
    yield from (f"### {method.upper()} {path}", "", operation["description"], "")
    parameters = [
        (f"`{each['name']}`", each["in"], _kind(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", [])
    ]
    if "requestBody" in operation:
        parameters.append(("the body", "body", _content(operation["requestBody"]), ""))
    yield from _table(("parameter", "in", "type", "meaning"), parameters)
    answers = [
        (status, answer["description"], _content(answer)) for status, answer in operation.get("responses", {}).items()
    ]
    yield from _table(("answer", "when", "body"), answers)


def _type(name: str, schema: Described) -> Iterator[str]:
    yield from (f"### Type {name}", "", _paragraphs(schema.get("description", "")), "")
    required = schema.get("required", [])
    fields = [
        (f"`{field}`", _kind(kind), "yes" if field in required else "no")
        for field, kind in schema.get("properties", {}).items()
    ]
    yield from _table(("field", "type", "always there"), fields)
    if not fields:
        yield from (_kind(schema), "")


def _content(described: Described) -> str:
    """The type of a body, of a request or an answer."""
    return " or ".join(
        f"{_kind(content.get('schema', {}))}{'' if kind == 'application/json' else f' ({kind})'}"
        for kind, content in described.get("content", {}).items()
    )


def _kind(schema: Described) -> str:
    """A schema in a few words, with links to the types that it names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#type-{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object with values of {_kind(schema['additionalProperties'])}"
    return kind


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A table, or nothing where it would be empty."""
    made = [f"| {' | '.join(_cell(each) for each in row)} |" for row in rows]
    return [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *made, ""] if made else []


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", " ".join(text.split()))


def _paragraphs(text: str) -> str:
    """A docstring without its indentation."""
    return re.sub(r"^ +", "", text, flags=re.MULTILINE)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
