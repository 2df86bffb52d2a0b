"""The HTTP rules of Kafka Connect's server, applied before a resource is called.

An unknown path is 404, a wrong method 405, a body that is not JSON 415, a client that accepts no JSON 406; OPTIONS
lists the methods, HEAD answers as GET does, a slash at the end changes nothing. A slash inside a connector's name,
written %2F, stays part of it; Kafka Connect refuses that. What is no JSON (/metrics) is for whatever a client accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fastapi import Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from rest.errors import error_answer, plain_error

#: Stands for a slash inside a part of a path. No name may hold it: it is a control character.
SLASH = "\x1f"
#: Takes the place of that character where a path has it itself: no name may hold this one either.
_NO_SLASH = "\x1e"


@dataclass(frozen=True)
class _Path:
    pattern: re.Pattern[str]
    methods: frozenset[str]
    taking_body: frozenset[str]
    in_json: bool


class ConnectRules:
    """Applies the rules to the paths of these routes, and passes everything else on.

    Args:
        app: the application behind.
        routes: a route with a requestBody in its `openapi_extra` expects JSON.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute]) -> None:
        self._app = app
        self._paths = _paths(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": routed_path(scope)}
        path = next((known for known in self._paths if known.pattern.match(scope["path"])), None)
        if path is not None:
            answer = _refusal(path, scope)
            if answer is not None:
                await answer(scope, receive, send)
                return
            if scope["method"] == "HEAD":
                scope["method"] = "GET"  # the server sends no body for HEAD
        await self._app(scope, receive, send)


def routed_path(scope: Scope) -> str:
    """The path by which a resource is found: without a slash at its end, those inside of its parts replaced."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None or b"%2f" not in raw.lower():
        path: str = scope["path"].replace(SLASH, _NO_SLASH)
    else:
        parts = raw.decode("ascii", "replace").split("/")
        path = "/".join(unquote(part).replace(SLASH, _NO_SLASH).replace("/", SLASH) for part in parts)
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def _refusal(path: _Path, scope: MutableMapping[str, Any]) -> Response | None:
    """The response instead of the resource's, None when it may be called."""
    method = scope["method"]
    if method == "OPTIONS":
        allowed = ", ".join(sorted(path.methods))
        return Response(allowed, 200, {"Allow": allowed}, media_type="text/plain")
    if method not in path.methods:
        refused = plain_error(405)
        refused.headers["Allow"] = ", ".join(sorted(path.methods))
        return refused
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    content = headers.get(b"content-type")
    if content is not None:
        kind = _media(content)
        if "/" not in kind:
            return error_answer(400, f"Content-Type: {content} is not a media type.")
        if kind not in {"application/json", "application/*", "*/*"}:
            return plain_error(415)
    elif method in path.taking_body and (headers.get(b"content-length", "0") != "0" or b"transfer-encoding" in headers):
        return plain_error(415)
    accept = headers.get(b"accept", "").strip() if path.in_json else ""
    if accept and not any(_media(one) in {"application/json", "application/*", "*/*"} for one in accept.split(",")):
        return plain_error(406)
    return None


def _media(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _paths(routes: Iterable[APIRoute]) -> list[_Path]:
    found: dict[str, tuple[re.Pattern[str], set[str], set[str]]] = {}
    others: set[str] = set()
    for route in routes:
        _, methods, taking_body = found.setdefault(route.path, (route.path_regex, {"OPTIONS"}, set()))
        own = route.methods or set()
        if "text/plain" in (route.responses.get(200) or {}).get("content", {}):
            others.add(route.path)
        methods |= own
        if "GET" in own:
            methods.add("HEAD")
        if "requestBody" in (route.openapi_extra or {}):
            taking_body |= own
    return [
        _Path(pattern, frozenset(methods), frozenset(taking), place not in others)
        for place, (pattern, methods, taking) in found.items()
    ]
