"""Refuses requests that two readers may cut in two ways: proxies and workers have to agree where a request ends.

With Transfer-Encoding and Content-Length a proxy may go by the one and the worker by the other; what is left over is
then read as the next request, of somebody else. HTTP/1.0 knows no Transfer-Encoding. Such a request is answered with
400 and its connection closed. https://www.rfc-editor.org/rfc/rfc9112#section-6.1
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from rest.errors import error_answer


class Framing:
    """An ASGI application around all others of a listener."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            reason = _misleading(scope)
            if reason is not None:
                answer = error_answer(400, reason)
                answer.headers["Connection"] = "close"
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _misleading(scope: Scope) -> str | None:
    names = {name for name, _ in scope["headers"]}
    if b"transfer-encoding" not in names:
        return None
    if b"content-length" in names:
        return "The request has Transfer-Encoding and Content-Length. Send one of them."
    if scope["http_version"] == "1.0":
        return "The request has Transfer-Encoding, which HTTP/1.0 does not have. Send Content-Length."
    return None
