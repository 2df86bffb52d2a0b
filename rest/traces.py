"""A span for each request, in the trace of its caller where that sends `traceparent`.

https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect.telemetry.spans import TRACEPARENT, SpanContext, Tracer, current
from rest.metrics import METHODS, ROUTE, is_stream

#: Programs ask for these all the time.
_UNTRACED: Final = ("/metrics", "/health")


class TracedRequests:
    """An ASGI application within `TimedRequests`, which has the list for the route."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._tracer.on or scope["path"].startswith(_UNTRACED):
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        about = {"http.request.method": method, "url.path": scope["path"], "url.scheme": scope["scheme"]}
        span = self._tracer.open(method, "server", _caller(scope), about)
        if span is None:
            await self._app(scope, receive, send)
            return
        error = ""

        def end() -> None:
            if route := scope.get(ROUTE):
                span.name = f"{method} {route[-1]}"
                span.attributes["http.route"] = route[-1]
            span.end(error)

        async def note(message: Message) -> None:
            nonlocal error
            if message["type"] == "http.response.start":
                status = message["status"]
                span.attributes["http.response.status_code"] = status
                error = str(status) if status >= 500 else ""
                if is_stream(message):  # it lasts as long as its reader likes
                    end()
            await send(message)

        token = current.set(span.context)
        try:
            await self._app(scope, receive, note)
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            current.reset(token)
            end()


def _caller(scope: Scope) -> SpanContext | None:
    """The span that sent the request. Of two headers none counts."""
    found = [value for name, value in scope["headers"] if name == TRACEPARENT.encode()]
    return SpanContext.of_header(found[0]) if len(found) == 1 else None
