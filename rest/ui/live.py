"""/ui/live: what changes on a page, as server-sent events, so that the page need not be loaded again.

    GET /ui/live?page=/ui/connectors?sort=lag&browser=5e2a

    event: parts
    data: {"list": "<table ..."}

    event: late
    data: {"message": "The worker answered with HTTP 502."}

    event: over
    data: {"message": "The worker answered with HTTP 404."}

The page is rendered again and again with the rights of its reader, and those of its live parts that have changed are
sent, by their ids; all of them after `late`: the page could not be shown for a while. `over` is the last event: it
cannot be shown any more. Each event is an object of JSON.

All windows of a browser share six connections to a host, and would wait for a seventh. So a browser, by the name that
it has made up for itself, gets four streams; the next request gets 204, and its page is loaded every two seconds.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Message, Scope

from rest.rules import SLASH
from rest.ui.rendering import HEADERS, page

router = APIRouter(prefix="/ui", include_in_schema=False)

#: The name under which the server puts an `asyncio.Event` into the state of a request: it is set when the server ends.
ENDING: Final = "ending"
_EVERY_S: Final = 1.0
#: With thousands of connectors a page takes its time: the next is rendered after so many times that.
_SHARE: Final = 4.0
#: Pages that are rendered at a time, for all readers: it is done on the one thread that answers everybody.
_AT_ONCE: Final = 4
#: Streams of one browser at a time.
_OF_A_BROWSER: Final = 4
#: After so long without a change a comment is sent: proxies close connections on which nothing moves.
_QUIET_S: Final = 15.0
#: Around a live part. Nothing that a connector says can look like its end: in templates every value is escaped.
_BEGIN: Final = '<div data-live id="'
_END: Final = "<!--/live--></div>"
#: In the scope of a request: only the live parts of its page will be seen.
LIVE: Final = "connect.live"
#: What is not a page with live parts, this among them.
_NOT_PAGES: Final = ("/ui/live", "/ui/static/")
#: What routers note in a scope about the request that it belongs to.
_OF_THIS_REQUEST: Final = {"router", "endpoint", "path_params", "route", "fastapi_astack", "state"}


@router.get("/live")
async def live(request: Request) -> Response:
    """The changes of a page, until its reader or the server goes."""
    path, _, query = request.query_params.get("page", "").partition("?")
    plain = unquote(path)  # as the router will see it
    if not plain.startswith("/ui") or plain.startswith(_NOT_PAGES):
        return page("error.html", status=400, title="Not shown", message="There is no such page.")
    browser, streams = request.query_params.get("browser", ""), _streams_of(request.app)
    if browser and streams[browser] >= _OF_A_BROWSER:
        return Response(status_code=204)
    headers = {**HEADERS, "X-Accel-Buffering": "no"}
    events = _counted(_events(request, path, query), streams, browser)
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


async def _counted(events: AsyncIterator[str], streams: Counter[str], browser: str) -> AsyncIterator[str]:
    streams[browser] += 1
    try:
        async for event in events:
            yield event
    finally:
        streams[browser] -= 1
        if not streams[browser]:
            del streams[browser]


async def _events(request: Request, path: str, query: str) -> AsyncIterator[str]:
    ending: asyncio.Event = getattr(request.state, ENDING, None) or asyncio.Event()
    room = _room_of(request.app)
    sent: Mapping[str, str] = {}
    spoke = time.monotonic()
    while not ending.is_set():
        began = time.monotonic()
        async with room:
            status, text = await _rendered(request, path, query)
        parts = live_parts(text) if status == 200 else {}
        changed = {name: part for name, part in parts.items() if sent.get(name) != part}
        sent = parts
        now = time.monotonic()
        if status != 200:
            # What is no refusal may pass: a worker starts, or that of `connect ui` does.
            refused = 400 <= status < 500
            yield _event("over" if refused else "late", {"message": f"The worker answered with HTTP {status}."})
            if refused:
                return
            spoke = now
        elif changed:
            yield _event("parts", changed)
            spoke = now
        elif now - spoke > _QUIET_S:
            yield ":\n\n"
            spoke = now
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), max(_EVERY_S, _SHARE * (now - began)))


def _room_of(app: FastAPI) -> asyncio.Semaphore:
    """What all streams of an application share."""
    if not hasattr(app.state, "live_room"):
        app.state.live_room = asyncio.Semaphore(_AT_ONCE)
    room: asyncio.Semaphore = app.state.live_room
    return room


def _streams_of(app: FastAPI) -> Counter[str]:
    """How many streams each browser has, by its name."""
    if not hasattr(app.state, "live_streams"):
        app.state.live_streams = Counter()
    streams: Counter[str] = app.state.live_streams
    return streams


def live_parts(text: str) -> dict[str, str]:
    """What is inside each live part of a page, by its id."""
    found = {}
    for part in text.split(_BEGIN)[1:]:
        opened, _, inside = part.partition(">")
        found[opened.partition('"')[0]] = inside.partition(_END)[0]
    return found


def _event(name: str, data: Mapping[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


async def _rendered(request: Request, path: str, query: str) -> tuple[int, str]:
    """A page of this application as its reader would get it: HTTP status and text."""
    status, body = 500, bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            body.extend(message.get("body", b""))

    await request.app(_scope(request.scope, path, query), receive, send)
    return status, body.decode()


def _scope(scope: Scope, path: str, query: str) -> Scope:
    parts = (unquote(part).replace("/", SLASH) for part in path.split("/"))
    return {
        **{key: value for key, value in scope.items() if key not in _OF_THIS_REQUEST},
        "method": "GET",
        "path": "/".join(parts),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        LIVE: True,
    }
