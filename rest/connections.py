"""Accepts the connections of the REST interface: limited in number, and in the time for a request.

Uvicorn waits for the rest of a request without end, and accepts connections until the process has no descriptors left;
then asyncio retries, and logs a trace, two thousand times in a row. So connections are accepted here. Their number is
limited; at the limit, the one that has waited longest for its client is closed, and where none waits, the oldest of
those that follow events, as pages do: a browser comes back by itself. A client has limited time to send a request, and
to receive its response. Data that arrives faster than it is read stays with the client, except a little.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rest.rows import Row

log = logging.getLogger("connect.rest")

#: Gives the TLS context for the next connection: certificates may be renewed.
Tls = Callable[[], ssl.SSLContext]

#: How long a client may take to send a whole request, body and all, from the beginning of its connection or of a later
#: request on, and how long it may leave an answer untaken.
REQUEST_S: Final = 30.0
#: How long a connection stays open after an answer, as in Kafka Connect: proxies keep theirs for 60 s.
IDLE_S: Final = 90.0
#: How long a TLS handshake may take.
HANDSHAKE_S: Final = 10.0
#: So many connections at a time, and no more than half of the descriptors that a worker has left.
MOST: Final = 1000
_FEWEST: Final = 8
#: How long to wait when there is no descriptor for a connection, or nobody gives way, before looking again.
_PAUSE_S: Final = 1.0
#: What the kernel keeps of a connection that is not read, in bytes (it takes twice that). Unless told it keeps
#: megabytes, and what it has comes in one piece, as large as that. With this a body comes in at 250 MB/s.
RECEIVED: Final = 32 * 1024
#: How much of a body is read that nobody wants.
UNWANTED: Final = 256 * 1024
_SCARCE: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def most_connections() -> int:
    """The number of connections that this process should accept at a time, by its limit of descriptors."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST
    try:
        used = len(list(Path("/proc/self/fd").iterdir()))
    except OSError:  # only Linux has that
        used = 0
    return max(_FEWEST, min(MOST, (limit - used) // 2))


class Connections:
    """The open connections of one worker. For one event loop.

    Args:
        most: their maximum number.
        request, idle: seconds; see `REQUEST_S`, `IDLE_S`.
    """

    def __init__(self, most: int, request: float = REQUEST_S, idle: float = IDLE_S) -> None:
        self._most = most
        self._request = request
        self._idle = idle
        self._open: dict[asyncio.Protocol, None] = {}  # the oldest first
        self._waiting: dict[_Closable, asyncio.TimerHandle] = {}  # the longest first
        self._changed = asyncio.Event()
        self._crowd = Row(
            f"{most} connections to the REST API are open, which is the limit: the worker closes the one that has "
            f"waited longest for its client.",
            "There is room for connections to the REST API again. Connections that were closed for others:",
        )
        self._scarcity = Row(
            "The REST API cannot accept connections: {error}. Raise the limit of descriptors (ulimit -n).",
            "The REST API accepts connections again. Failed attempts:",
        )
        self.nonsense = Row(
            "A client of the REST API sends malformed requests: {what}",
            "Clients of the REST API send well-formed requests again. Malformed ones:",
        )

    async def take(self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol], tls: Tls | None) -> None:
        """Accept the connections of a socket, until this is cancelled.

        Args:
            protocol: creates the protocol of one connection, of a class from `watched`.
            tls: see `Tls`; None for http.
        """
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)  # for those that it takes
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
            if len(self._open) >= self._most and self._close_longest():
                self._crowd.one()
            served = protocol()
            self._open[served] = None
            task = loop.create_task(self._begin(connection, served, None if tls is None else tls()))
            beginning.add(task)
            task.add_done_callback(beginning.discard)

    async def _begin(self, connection: socket.socket, served: asyncio.Protocol, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        handshake = _Handshake(asyncio.current_task())
        if tls is not None:
            self.waits(handshake)
        try:
            await loop.connect_accepted_socket(
                lambda: served, connection, ssl=tls, ssl_handshake_timeout=None if tls is None else HANDSHAKE_S
            )
        except OSError as error:  # of TLS as well
            connection.close()
            self._leave(served)
            log.debug("A connection failed: %s", error)
        except asyncio.CancelledError:  # it gives way to another one
            self._leave(served)
        finally:
            self.works(handshake)

    async def _room(self) -> None:
        """Wait until one more connection is allowed, or one would give way to it: none does before it is there."""
        while len(self._open) > self._most or (len(self._open) == self._most and self._longest() is None):
            self._changed.clear()
            with contextlib.suppress(TimeoutError):  # a stream does not say when it begins
                await asyncio.wait_for(self._changed.wait(), _PAUSE_S)

    def _longest(self) -> _Closable | None:
        """The connection that has waited longest for its client; where none waits, the oldest stream."""
        return next(iter(self._waiting), None) or next(filter(None, map(_stream, self._open)), None)

    def _close_longest(self) -> bool:
        """Close that. Returns whether there is one."""
        longest = self._longest()
        if longest is None:
            return False
        self.works(longest)  # no longer: it is chosen once
        longest.abort()
        return True

    # What a connection says of itself.

    def waits(self, transport: _Closable, *, idle: bool = False) -> None:
        """It waits for its client, when `idle` for the next request; or still does."""
        if transport not in self._waiting:
            later = asyncio.get_running_loop().call_later
            self._waiting[transport] = later(self._idle if idle else self._request, transport.abort)
            self._changed.set()

    def works(self, transport: _Closable) -> None:
        """A request has arrived and is being answered."""
        if (timer := self._waiting.pop(transport, None)) is not None:
            timer.cancel()

    def ends(self, served: asyncio.Protocol, transport: _Closable) -> None:
        """It is closed."""
        self.works(transport)
        self._leave(served)

    def _leave(self, served: asyncio.Protocol) -> None:
        self._open.pop(served, None)
        self._changed.set()


class _Closable(Protocol):
    """What can be aborted: a connection, or the handshake before there is one."""

    def abort(self) -> None:
        """End it."""


def _stream(served: asyncio.Protocol) -> _Closable | None:
    """The connection of an answer that goes on as long as its client likes; None for others."""
    cycle = getattr(served, "cycle", None)
    if cycle is None or not cycle.response_started or cycle.response_complete:
        return None
    transport: asyncio.Transport = served.transport  # type: ignore[attr-defined]  # as uvicorn has it
    return None if transport.is_closing() else transport


class _Handshake:
    """The beginning of a connection with TLS."""

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        self._task = task

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()


class _Complaints(logging.Logger):
    """Uvicorn's log of a protocol. Its warnings are about data that a client sends: one line for many."""

    def __init__(self, row: Row) -> None:
        super().__init__("uvicorn.error", logging.WARNING)
        self.parent = logging.getLogger("uvicorn.error")
        self._row = row

    def warning(self, msg: object, *args: object, **_: Any) -> None:
        self._row.one(what=str(msg) % args if args else msg)


def watched(connections: Connections) -> type[asyncio.Protocol]:
    """Uvicorn's protocol for HTTP, which reports when it waits for its client."""

    class Watched(H11Protocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.logger = _Complaints(connections.nonsense)
            self._unwanted = 0
            self._idle = False  # after an answer

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            connections.waits(self.transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.ends(self, self.transport)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._idle:  # the time for a request begins with it
                self._idle = False
                connections.works(self.transport)
            super().data_received(data)
            if self.cycle is not None and self.cycle.body:  # the next piece when somebody asks for it
                self.flow.pause_reading()
            self._tell()
            self._drop(len(data))

        def _drop(self, size: int) -> None:
            """Read and drop a body after its response, so that the client sees that, but not without end."""
            answered = self.cycle is not None and self.cycle.response_complete
            self._unwanted = self._unwanted + size if answered and self.conn.their_state is h11.SEND_BODY else 0
            if self._unwanted > UNWANTED:
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            if self.cycle is None or self.cycle.response_complete:
                super().send_400_response(msg)
                return
            # Nonsense behind a request that is being answered: that answer would come behind this one.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self.transport.close()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._idle = True
            self._tell()

        def pause_writing(self) -> None:
            super().pause_writing()
            connections.waits(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            connections.works(self.transport)
            self._tell()

        def _tell(self) -> None:
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                connections.waits(self.transport, idle=self._idle)
            else:
                connections.works(self.transport)

    return Watched
