"""Reads the body of a request to its end, and hands it to who reads it next. How much it may be: `rest.body_room`."""

from __future__ import annotations

from starlette.types import Message, Receive


async def whole_body(receive: Receive) -> bytes:
    """All of it."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """Hands a body that was read to who reads it next."""
    unread = [body]

    async def replay() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return replay
