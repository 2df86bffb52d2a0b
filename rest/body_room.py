"""Limits the memory of request bodies: a number of bytes for one, and one for all of them together.

A request takes room as its body arrives, and returns it when it is answered. When there is none left, the request that
has waited longest for the rest of its body is dropped: a stalled client blocks nobody. A body of a few kilobytes takes
no room: of those there are as many as connections.
"""

from __future__ import annotations

import asyncio
import ctypes
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fastapi import Request, Response
from starlette.types import Message, Receive, Scope

from rest.errors import error_answer

#: Kafka takes a configuration of one megabyte; the task configurations of a connector are sent together.
MOST_BYTES: Final = 32 * 2**20
#: What takes no room.
SMALL: Final = 64 * 1024
#: How long a request waits for room that others give back.
_PATIENCE_S: Final = 5.0
#: So many pieces of bodies are read in one round of the event loop. Hundreds at once would keep everybody waiting.
_PIECES: Final = 8
#: After so many bytes at one time memory goes back to the system: what came in small pieces is else kept for good.
_MANY: Final = 8 * 2**20
_TIDY_AFTER_S: Final = 1.0


class BodyError(Exception):
    """A body is not read to its end."""

    status = 503


class TooLargeError(BodyError):
    """A body is larger than any that a worker needs."""

    status = 413

    def __init__(self, most: int) -> None:
        super().__init__(f"The body of this request is larger than {most >> 20} MiB.")


class CrowdedError(BodyError):
    """There is no room for a body: others are arriving."""

    def __init__(self) -> None:
        super().__init__("The worker is receiving too many bodies. Send the request again, without pauses.")


class Room:
    """Room for a number of bytes. For one event loop.

    Args:
        most: bytes, of all bodies together.
        patience: seconds; see `_PATIENCE_S`.
    """

    def __init__(self, most: int, patience: float = _PATIENCE_S) -> None:
        self._most = most
        self._patience = patience
        self._free = most
        self._least_free = most
        self._coming = 0  # free soon: of those that give way
        self._bodies: dict[_Body, None] = {}  # the first to begin first
        self._changed = asyncio.Event()
        self._turns: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> int:
        """Bytes that are not in use."""
        return self._free

    @contextmanager
    def body(self, scope: Scope, receive: Receive) -> Iterator[Receive]:
        """The body of a request, which takes room until this context ends. Receiving raises BodyError."""
        body = _Body(self, receive, min(self._most, MOST_BYTES), _length(scope))
        self._bodies[body] = None
        try:
            yield body.receive
        finally:
            del self._bodies[body]
            self._free += body.taken
            if body.leaving:
                self._coming -= body.taken
            self._changed.set()
            self._tidy()

    def _tidy(self) -> None:
        if self._free == self._most and self._least_free < self._most - _MANY:
            self._least_free = self._most
            asyncio.get_running_loop().call_later(_TIDY_AFTER_S, _give_back_memory)

    async def take(self, body: _Body, size: int) -> None:
        """Give a body more bytes. Raises CrowdedError."""
        until = time.monotonic() + self._patience
        while self._free < size:
            self._make_way(size)
            self._changed.clear()
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await self._changed.wait()
            except TimeoutError:
                raise CrowdedError from None
        self._free -= size
        self._least_free = min(self._least_free, self._free)
        body.taken += size

    async def turn(self) -> None:
        """Wait until another piece may be read."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._turns.append(turn)
        if len(self._turns) == 1:
            loop.call_soon(self._next_turns)
        await turn

    def _next_turns(self) -> None:
        for turn in [self._turns.popleft() for _ in range(min(_PIECES, len(self._turns)))]:
            if not turn.done():
                turn.set_result(None)
        if self._turns:
            asyncio.get_running_loop().call_soon(self._next_turns)

    def _make_way(self, size: int) -> None:
        """Drop requests that wait for their clients, the longest first, until there will be this many bytes."""
        for body in self._bodies:
            if self._free + self._coming >= size:
                return
            if body.taken and body.give_way():
                self._coming += body.taken


class _Body:
    """The body of one request."""

    def __init__(self, room: Room, receive: Receive, most: int, declared: int) -> None:
        self._room = room
        self._receive = receive
        self._most = most
        self._declared = declared
        self._size = 0
        self._complete = False
        self._waiting: asyncio.Timeout | None = None
        self.taken = 0
        self.leaving = False

    async def receive(self) -> Message:
        """The next part of it."""
        if self._complete:  # what comes now is the end of the connection
            return await self._receive()
        if self._declared > self._most:
            raise TooLargeError(self._most)
        if self._size >= SMALL:
            await self._room.turn()
        message = await self._next()
        if self.leaving:
            raise CrowdedError
        self._size += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._size > self._most:
            raise TooLargeError(self._most)
        if (more := self._size - SMALL - self.taken) > 0:
            await self._room.take(self, more)
        return message

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(None) as self._waiting:
                return await self._receive()
        except TimeoutError:
            raise CrowdedError from None
        finally:
            self._waiting = None

    def give_way(self) -> bool:
        """End, if it waits for its client. Returns whether it will."""
        if self._waiting is None or self.leaving:
            return False
        self._waiting.reschedule(asyncio.get_running_loop().time())
        self.leaving = True
        return True


def _give_back_memory() -> None:
    """Where the C library can: glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _length(scope: Scope) -> int:
    """The content length that a request announces."""
    digits = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(digits) if digits.isdigit() and len(digits) < 20 else 0


async def body_error(_: Request, error: Exception) -> Response:
    """The response to such an error."""
    assert isinstance(error, BodyError)
    answer = error_answer(error.status, str(error))
    if error.status == CrowdedError.status:
        answer.headers["Retry-After"] = "1"
    return answer


async def whole_body(receive: Receive) -> bytes:
    """All of it."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """Passes a body that was read to its next reader."""
    unread = [body]

    async def replay() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return replay
