"""Reads the body of a request to its end, before anybody has looked at it: only so much of it."""

from __future__ import annotations

from typing import Final

from starlette.types import Message, Receive

#: Kafka takes a configuration of one megabyte; the task configurations of a connector are sent together.
MOST_BYTES: Final = 32 * 2**20


class TooLargeError(Exception):
    """A body is larger than anything that a worker is asked. Answered with 413."""

    def __init__(self) -> None:
        super().__init__(f"The body of this request is larger than {MOST_BYTES >> 20} MiB.")


async def whole_body(receive: Receive) -> bytes:
    """All of it. Raises TooLargeError."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > MOST_BYTES:
            raise TooLargeError
        parts.append(part)
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
