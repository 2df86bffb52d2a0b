"""Sends a request on to the worker that can carry it out: the group's leader, or whoever runs a connector or task.

As in Kafka Connect a request is sent on at most twice: to the leader as this worker knows it, and by that one to the
leader as it knows it. `?forward=` says whether it may go on.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect import peers

log = logging.getLogger("connect.rest")

#: Where an error handler leaves the address of the worker to ask: a list in the scope.
ELSEWHERE: Final = "connect.elsewhere"
#: Where a resource leaves the body to send on, if it is another one than it got: a list in the scope. What stands
#: behind a mask is put in by the worker that showed it; the leader may be one of Java, which knows of no masks.
RESOLVED: Final = "connect.resolved"

_TIMEOUT_S = 90.0
_HOP_BY_HOP = {b"connection", b"content-length", b"date", b"keep-alive", b"server", b"transfer-encoding"}


class Forwarding:
    """An ASGI application around the REST interface of a worker in a group."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        elsewhere: list[str] = []
        resolved: list[bytes] = []
        answer: list[Message] = []

        async def replay() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def keep(message: Message) -> None:
            answer.append(message)

        try:
            await self._app({**scope, ELSEWHERE: elsewhere, RESOLVED: resolved}, replay, keep)
            if elsewhere and elsewhere[0]:
                url = _next_hop(scope, elsewhere[0])
                if url is not None:
                    answer = await _ask(scope, url, resolved[-1] if resolved else body)
        finally:  # an app answers with what went wrong, and then raises it
            for message in answer:
                await send(message)


async def _read(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _next_hop(scope: Scope, base: str) -> str | None:
    """Where to send the request; None when it has been sent on often enough."""
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    forward = query.get("forward")
    if forward == "false":
        return None
    # The first to send it on lets the next one do so once more: the leader may just have changed.
    query["forward"] = "true" if forward is None else "false"
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    return f"{base.rstrip('/')}{path}?{urlencode(query)}"


async def _ask(scope: Scope, url: str, body: bytes) -> list[Message]:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    passed_on = {name: headers[name] for name in ("content-type", "accept", "authorization") if name in headers}
    signed = {name: value for name, value in headers.items() if name.startswith("x-connect-")}
    try:
        status, answered, content = await asyncio.to_thread(
            peers.exchange, scope["method"], url, body or None, {**passed_on, **signed}, _TIMEOUT_S
        )
    except peers.PeerError as error:
        log.warning("%s", error)
        status, answered = 500, [(b"content-type", b"application/json")]
        content = (
            b'{"error_code":500,"message":"IO Error trying to forward REST request: the other worker has no answer"}'
        )
    kept = [(name, value) for name, value in answered if name.lower() not in _HOP_BY_HOP]
    kept.append((b"content-length", str(len(content)).encode()))
    return [
        {"type": "http.response.start", "status": status, "headers": kept},
        {"type": "http.response.body", "body": content},
    ]
