"""Serves the REST interface on a thread of the worker, on all of its listeners.

Addresses are bound at once, so that a port in use is reported before anything starts, and early clients wait instead of
being refused. The rest comes up after the connectors.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from connect.herder.listeners import Bound
from rest.app import Part
from rest.connections import IDLE_S, REQUEST_S, Connections, Tls, most_connections, watched
from rest.edge import OnLoopback
from rest.errors import error_answer
from rest.security.certificates import renewed_listener_context, with_certificates
from rest.ui.live import ENDING

log = logging.getLogger("connect.rest")

#: As in Kafka Connect.
GRACEFUL_S = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """An application and the addresses at which it is served.

    Attributes:
        parts: which resources it has.
        bound: its listeners.
        tls: where the settings of https listeners stand: "listeners.https." or "admin.listeners.https.".
    """

    parts: frozenset[Part]
    bound: Sequence[Bound]
    tls: str


class RestServer:
    """Runs until `stop`.

    Args:
        sites: see `Site`.
        raw: the worker's properties, for TLS.
        make_app: creates the application with these parts; called on the server's thread.
        request: seconds that a client has to send a request.
        idle: seconds after which a connection without one is closed.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        raw: Mapping[str, str],
        make_app: Callable[[frozenset[Part]], ASGIApp],
        request: float = REQUEST_S,
        idle: float = IDLE_S,
    ) -> None:
        self._sites = sites
        self._raw = raw
        self._make_app = make_app
        self._request_s = request
        self._idle_s = idle
        self._servers: list[_Server] = []
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)
        self._started = threading.Event()
        self._stopping = False
        self._error: Exception | None = None

    def start(self) -> None:
        """Start. Returns at once."""
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait until requests are answered. Returns whether they are. Raises the error that prevents it."""
        started = self._started.wait(timeout)
        if self._error is not None:
            raise self._error
        return started

    def close(self) -> None:
        """Accept no more requests. Running ones continue."""
        self._stopping = True
        for server in self._servers:
            server.end()

    def stop(self, graceful: float) -> None:
        """Accept no more requests, and let running ones end within this many seconds."""
        self.close()
        if self._thread.ident is None:
            self._close_sockets()
            return
        self._thread.join(graceful)
        for server in self._servers:
            server.force_exit = True
        self._thread.join(1.0)

    def _run(self) -> None:
        try:
            connections = Connections(most_connections(), self._request_s, self._idle_s)
            self._servers = [server for site in self._sites for server in self._make(site, connections)]
            if not self._stopping:
                asyncio.run(self._serve())
        except Exception as error:
            self._error = error
            log.error("The REST API does not run: %s", error, exc_info=error)
        finally:
            self._started.set()
            self._close_sockets()

    def _close_sockets(self) -> None:
        for site in self._sites:
            for bound in site.bound:
                with contextlib.suppress(OSError):
                    bound.socket.close()

    def _make(self, site: Site, connections: Connections) -> list[_Server]:
        app = _Framing(OnLoopback(self._make_app(site.parts), [bound.socket for bound in site.bound]))
        plain = [bound.socket for bound in site.bound if bound.listener.scheme == "http"]
        secure = [bound.socket for bound in site.bound if bound.listener.scheme == "https"]
        made = []
        if plain:
            made.append(self._server(app, plain, None, connections))
        if secure:
            made.append(self._server(app, secure, renewed_listener_context(self._raw, site.tls).current, connections))
        return made

    def _server(self, app: ASGIApp, sockets: list[socket.socket], tls: Tls | None, connections: Connections) -> _Server:
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            # Others that happen to be installed have no limit to headers, and take connections from our hands.
            http="h11",
            ws="none",
            # Headers of proxies are `rest.edge`' business.
            proxy_headers=False,
            # Uvicorn's 5 s are over while many a client still takes the connection for open.
            timeout_keep_alive=math.ceil(self._idle_s),
            timeout_graceful_shutdown=int(GRACEFUL_S),
        )
        config.load()
        config.ssl = None if tls is None else tls()  # by which uvicorn knows what it speaks
        protocol = watched(connections)
        config.http_protocol_class = (
            protocol if config.ssl is None or config.ssl.verify_mode is ssl.CERT_NONE else with_certificates(protocol)
        )
        return _Server(config, sockets, tls, connections)

    async def _serve(self) -> None:
        serving = [asyncio.create_task(server.serve(sockets=[])) for server in self._servers]
        # All that uvicorn tells is an attribute.
        while not all(server.started or server.should_exit for server in self._servers):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        self._started.set()
        await asyncio.gather(*serving)


class _Server(uvicorn.Server):
    """Accepts connections by `rest.connections`, and wakes up once a second.

    Uvicorn's own does ten times, which was a third of the CPU of an idle worker.
    """

    def __init__(
        self, config: uvicorn.Config, sockets: Sequence[socket.socket], tls: Tls | None, connections: Connections
    ) -> None:
        super().__init__(config)
        self._sockets = sockets
        self._tls = tls
        self._open_connections = connections
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Accept no more requests. Thread-safe."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._ending.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        take = self._open_connections.take
        taking = [asyncio.create_task(take(each, self._protocol, self._tls)) for each in self._sockets]
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), 1.0)
        for task in taking:
            task.cancel()
        await asyncio.gather(*taking, return_exceptions=True)
        for each in self._sockets:
            each.close()

    def _protocol(self) -> asyncio.Protocol:
        """The protocol of one connection, created as uvicorn creates it."""
        make = cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class)
        state = {**self.lifespan.state, ENDING: self._ending}
        return make(config=self.config, server_state=self.server_state, app_state=state)


class _Framing:
    """Refuses requests that two readers may split in two ways: 400, and the connection is closed.

    Proxies and workers have to agree where a request ends. With Transfer-Encoding and Content-Length a proxy may use
    the one and the worker the other; the rest is then read as the next request, of another user. HTTP/1.0 knows no
    Transfer-Encoding. https://www.rfc-editor.org/rfc/rfc9112#section-6.1
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = _in_origin_form(scope)
            reason = _misleading(scope)
            if reason is not None:
                answer = error_answer(400, reason)
                answer.headers["Connection"] = "close"
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _in_origin_form(scope: Scope) -> Scope:
    """A request as others send it, where a client wrote the whole URL, as it does to a proxy.

    What stands in the URL counts instead of Host. https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2
    """
    scheme, separator, rest = scope["raw_path"].partition(b"://")
    if not separator or scheme.lower() not in (b"http", b"https"):
        return scope
    host, slash, path = rest.partition(b"/")
    raw = (slash or b"/") + path
    headers = [(b"host", host), *((name, value) for name, value in scope["headers"] if name != b"host")]
    return {**scope, "raw_path": raw, "path": unquote(raw.decode("ascii")), "headers": headers}


def _misleading(scope: Scope) -> str | None:
    names = {name for name, _ in scope["headers"]}
    if b"transfer-encoding" not in names:
        return None
    if b"content-length" in names:
        return "The request has Transfer-Encoding and Content-Length. Send one of them."
    if scope["http_version"] == "1.0":
        return "The request has Transfer-Encoding, which HTTP/1.0 does not have. Send Content-Length."
    return None
