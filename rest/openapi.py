"""/openapi.json, and /docs: the same for people, without anything from another host."""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from rest.api import json_answer
from rest.models import connectors, figures, history, plugins, pool, records, worker

_MODELS = [
    found
    for room in (worker, connectors, figures, history, records, plugins, pool)
    for found in vars(room).values()
    if isinstance(found, type) and issubclass(found, msgspec.Struct) and found.__module__ == room.__name__
]
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light
  dark; }
code { font-size: .95em; } summary { cursor: pointer; padding: .2rem 0; } h2 { margin-top: 2rem; }
.method { display: inline-block; width: 4.5rem; font-weight: 600; } details > div { margin: 0 0 .8rem 4.5rem; }
pre { overflow: auto; padding: .8rem; border: 1px solid #8886; border-radius: 4px; }
"""


router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
async def description(request: Request) -> Response:
    """For programs."""
    return json_answer(describe(request.app))


@router.get("/docs")
async def page(request: Request) -> Response:
    """For people."""
    return Response(_page(describe(request.app)), media_type="text/html")


def describe(app: FastAPI) -> dict[str, Any]:
    """The interface as OpenAPI 3.1."""
    found = get_openapi(title=app.title, version=app.version, routes=app.routes)
    _, schemas = msgspec.json.schema_components(_MODELS, ref_template="#/components/schemas/{name}")
    # Ours take the place of FastAPI's: we answer with errors of our own.
    found["components"] = {"schemas": schemas}
    for path in found["paths"].values():
        for operation in path.values():
            operation.get("responses", {}).pop("422", None)
            for parameter in operation.get("parameters", []):
                parameter["schema"] = _without_null(parameter["schema"])
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter of a path is never null: describe an optional one by its type alone."""
    kinds: list[dict[str, Any]] = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return kinds[0] | {name: value for name, value in schema.items() if name != "anyOf"}


def _page(found: dict[str, Any]) -> str:
    sections: dict[str, list[str]] = {}
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["others"])[0]
            sections.setdefault(tag, []).append(_operation(method, path, operation))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(lines)}" for tag, lines in sections.items())
    schemas = "".join(
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<pre>{escape(msgspec.json.format(msgspec.json.encode(schema)).decode())}</pre></details>"
        for name, schema in found["components"]["schemas"].items()
    )
    title = escape(found["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<h1>{title}</h1><p>For programs: <a href="openapi.json">openapi.json</a></p>{body}'
        f"<h2>Types</h2>{schemas}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [
        f"<li><code>{escape(parameter['name'])}</code> ({parameter['in']}): "
        f"{escape(parameter.get('description') or parameter.get('schema', {}).get('description') or '')}</li>"
        for parameter in operation.get("parameters", [])
    ]
    if "requestBody" in operation:
        lines.append(f"<li>body: {_type(operation['requestBody']['content'])}</li>")
    for status, answer in operation.get("responses", {}).items():
        kind = f": {_type(answer['content'])}" if "content" in answer else ""
        lines.append(f"<li>{escape(str(status))} {escape(answer['description'])}{kind}</li>")
    does = escape(operation.get("description") or operation.get("summary") or "")
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> {does}</summary>'
        f"<div><ul>{''.join(lines)}</ul></div></details>"
    )


def _type(content: dict[str, Any]) -> str:
    schema = next(iter(content.values())).get("schema", {})
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{escape(name)}">{escape(name)}</a>'
    return f"<code>{escape(msgspec.json.encode(schema).decode())}</code>"
