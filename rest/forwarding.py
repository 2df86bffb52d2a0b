"""Sends a request on to the worker that can carry it out: the group's leader, or whoever runs a connector or task.

As in Kafka Connect a request is sent on at most twice: to the leader as this worker knows it, and by that one to the
leader as it knows it. `?forward=` says whether it may go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect import peers
from rest.elsewhere import ELSEWHERE, RESOLVED, Resolved
from rest.security.forwarded import AUDITED, HEADER, SIGNATURE, VOUCH, NoSessionKeyError
from rest.whole_body import again, whole_body

log = logging.getLogger("connect.rest")

_TIMEOUT_S = 90.0
#: Requests that wait for other workers at one time. One that hangs must not use this worker up.
_AT_ONCE = 64
_PASSED_ON = ("content-type", "accept", "authorization")
#: What is told of the other worker's answer; this worker adds its own to it.
_TOLD = {b"content-type", b"location", b"www-authenticate", b"retry-after", AUDITED.encode()}

T = TypeVar("T")


class Forwarding:
    """An ASGI application around the REST interface of a worker in a group."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        body = await whole_body(receive)
        elsewhere: list[str] = []
        resolved: list[Resolved] = []
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        try:
            await self._app({**scope, ELSEWHERE: elsewhere, RESOLVED: resolved}, again(body, receive), keep)
            if elsewhere and elsewhere[0]:
                url = _next_hop(scope, elsewhere[0])
                if url is not None:
                    answer = await self._ask(scope, url, resolved[-1] if resolved else Resolved(body, _as_it_is))
        finally:  # an app answers with what went wrong, and then raises it
            for message in answer:
                await send(message)

    async def _ask(self, scope: Scope, url: str, resolved: Resolved) -> list[Message]:
        body = resolved.body
        if self._waiting >= _AT_ONCE:
            return _error(503, "Too many requests wait for another worker. Ask again in a moment.")
        self._waiting += 1
        try:
            headers = headers_for(scope, url, body)
            status, answered, content = await _in_thread(
                lambda: peers.exchange(scope["method"], url, body or None, headers, _TIMEOUT_S)
            )
        except NoSessionKeyError as error:
            return _error(error.status, str(error))
        except peers.PeerError as error:
            log.warning("%s", error)
            return _error(500, "IO Error trying to forward REST request: the other worker has no answer")
        finally:
            self._waiting -= 1
        told = [(name, value) for name, value in answered if name.lower() in _TOLD]
        return _answer(status, told, await resolved.readable(content))


async def _as_it_is(body: bytes) -> bytes:
    return body


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


def headers_for(scope: Scope, url: str, body: bytes) -> dict[str, str]:
    """What goes along: who asks, and what proves it to the other worker."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    sent = {name: value for name, value in headers.items() if name in _PASSED_ON or name.startswith("x-connect-")}
    for name in (HEADER, SIGNATURE):  # were for this worker
        sent.pop(name, None)
    if vouch := scope.get(VOUCH):
        _, _, target = url.partition("://")
        sent |= vouch(scope["method"], "/" + target.partition("/")[2], body)
    return sent


async def _in_thread(ask: Callable[[], T]) -> T:
    """What it returns or raises. The thread is its own: one that hangs keeps neither others nor the end waiting."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[T] = loop.create_future()

    def give(result: T | None, error: Exception | None) -> None:
        if answered.cancelled():
            return
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(result)  # type: ignore[arg-type]  # None only where T is

    def run() -> None:
        result, error = None, None
        try:
            result = ask()
        except Exception as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop has ended
            loop.call_soon_threadsafe(give, result, error)

    threading.Thread(target=run, name="forward", daemon=True).start()
    return await answered


def _error(status: int, message: str) -> list[Message]:
    body = msgspec.json.encode({"error_code": status, "message": message})
    return _answer(status, [(b"content-type", b"application/json")], body)


def _answer(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> list[Message]:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": body},
    ]
