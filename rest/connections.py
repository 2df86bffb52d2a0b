"""Takes the connections that come to the REST interface: so many at a time, so long for a request, and calmly.

Uvicorn waits for the rest of a request without end, and takes connections until the process has no descriptors left;
then asyncio tries, and logs a trace, two thousand times in a row. So connections are taken here. There is a limit to
them; when it is reached, the one that has waited longest for its client goes. And a client has so long to send a
request, and to take its answer.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

log = logging.getLogger("connect.rest")

#: How long a client may take to send a whole request, body and all, from its connection's beginning or the last answer
#: on, and how long it may leave an answer untaken.
REQUEST_S: Final = 30.0
#: How long a TLS handshake may take.
HANDSHAKE_S: Final = 10.0
#: So many connections at a time, and no more than half of the descriptors that a worker has left.
MOST: Final = 1000
_FEWEST: Final = 8
#: How long to wait when there is no descriptor for a connection.
_PAUSE_S: Final = 1.0
#: So long without one more, and it is over.
_CALM_S: Final = 5.0
_SCARCE: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def most_connections() -> int:
    """How many connections this process should take at a time, by its limit of descriptors."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST
    try:
        used = len(list(Path("/proc/self/fd").iterdir()))
    except OSError:  # only Linux has that
        used = 0
    return max(_FEWEST, min(MOST, (limit - used) // 2))


class Connections:
    """Those that are open at one worker. Used from one event loop.

    Args:
        most: how many there may be.
        request: seconds; see `REQUEST_S`.
    """

    def __init__(self, most: int, request: float = REQUEST_S) -> None:
        self._most = most
        self._request = request
        self._open = 0
        self._waiting: dict[asyncio.Transport, asyncio.TimerHandle] = {}  # the longest first
        self._changed = asyncio.Event()
        self._crowd = _Row(
            f"{most} connections to the REST API are open, as many as may be: who keeps it waiting longest is closed.",
            "There is room for connections to the REST API again. Closed for others:",
        )
        self._scarcity = _Row(
            "No connection to the REST API can be taken: {error}. Raise the limit of descriptors (ulimit -n).",
            "Connections to the REST API are taken again. Tries in vain:",
        )

    async def take(
        self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None
    ) -> None:
        """Take what comes to a socket, until this is cancelled.

        Args:
            protocol: makes what serves one connection, of a class from `watched`.
        """
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        beginning: set[asyncio.Task[None]] = set()
        while True:
            await self._room()
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno in _SCARCE:
                    self._scarcity.one(error=error.strerror)
                    self._close_longest()
                    await asyncio.sleep(_PAUSE_S)
                continue  # else: the client went away before it was taken
            self._open += 1
            task = loop.create_task(self._begin(connection, protocol, tls))
            beginning.add(task)
            task.add_done_callback(beginning.discard)

    async def _begin(
        self, connection: socket.socket, protocol: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(
                protocol, connection, ssl=tls, ssl_handshake_timeout=None if tls is None else HANDSHAKE_S
            )
        except OSError as error:  # of TLS as well
            connection.close()
            self._leave()
            log.debug("A connection did not come about: %s", error)

    async def _room(self) -> None:
        """Wait until there may be one more connection."""
        while self._open >= self._most:
            self._changed.clear()
            if self._close_longest():
                self._crowd.one()
            await self._changed.wait()

    def _close_longest(self) -> bool:
        """Close the connection whose client has let us wait longest, if any does. Returns whether one does."""
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        self.works(longest)  # no longer: it is chosen once
        longest.abort()
        return True

    # What a connection says of itself.

    def waits(self, transport: asyncio.Transport) -> None:
        """It waits for its client; or still does."""
        if transport not in self._waiting:
            later = asyncio.get_running_loop().call_later
            self._waiting[transport] = later(self._request, transport.abort)
            self._changed.set()

    def works(self, transport: asyncio.Transport) -> None:
        """A request is here and its answer under way."""
        if (timer := self._waiting.pop(transport, None)) is not None:
            timer.cancel()

    def ends(self, transport: asyncio.Transport) -> None:
        """It is closed."""
        self.works(transport)
        self._leave()

    def _leave(self) -> None:
        self._open -= 1
        self._changed.set()


class _Row:
    """Something that happens many times in a row, in two lines: when it begins, and with the count when it is over."""

    def __init__(self, begins: str, ends: str) -> None:
        self._begins = begins
        self._ends = ends
        self._count = 0
        self._over: asyncio.TimerHandle | None = None

    def one(self, **details: Any) -> None:
        """It happens once more."""
        if self._over is None:
            log.warning("%s", self._begins.format(**details))
        else:
            self._over.cancel()
        self._count += 1
        self._over = asyncio.get_running_loop().call_later(_CALM_S, self._end)

    def _end(self) -> None:
        log.info("%s %d.", self._ends, self._count)
        self._count, self._over = 0, None


def watched(protocol: type[asyncio.Protocol], connections: Connections) -> type[asyncio.Protocol]:
    """One of uvicorn's HTTP protocols, which tells when it waits for its client."""

    class Watched(protocol):  # type: ignore[misc, valid-type]  # which class it is depends on what is installed
        transport: asyncio.Transport
        cycle: Any  # the request that was begun last, and its answer; None before the first

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            connections.waits(self.transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.ends(self.transport)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._tell()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._tell()

        def pause_writing(self) -> None:
            super().pause_writing()
            connections.waits(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._tell()

        def _tell(self) -> None:
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                connections.waits(self.transport)
            else:
                connections.works(self.transport)

    return Watched
