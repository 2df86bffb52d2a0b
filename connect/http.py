"""Sends HTTP requests with Python's own library: one over a connection of its own, or many over kept ones.

Redirects are not followed: they could send credentials to another server. The caller judges the response's status.
"""

from __future__ import annotations

import base64
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from connect.errors import ConnectError

#: The default limit of a response. A longer one is an error: it would fill this process's memory.
MOST_BYTES: Final = 256 << 20
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})


class NoAnswerError(ConnectError):
    """A server did not respond to a request, or not with HTTP. The message shows neither credentials nor the query.

    Attributes:
        reason: the error that ended the connection.
    """

    def __init__(self, method: str, address: str, reason: Exception) -> None:
        super().__init__(f"{method} {address} had no answer: {words(reason)}")
        self.reason = reason


class Answer(NamedTuple):
    """A server's response, whatever its status."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes


def exchange(
    method: str,
    url: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float,
    connect_timeout: float | None = None,
    tls: ssl.SSLContext | None = None,
    proxy: str | None = None,
    most_bytes: int = MOST_BYTES,
) -> Answer:
    """Send a request and read the response. A user and password in the URL are not sent.

    Args:
        method: the HTTP method.
        url: http:// or https://.
        body: None sends none.
        headers: in addition to Host and Content-Length.
        timeout: seconds to wait for each read or write.
        connect_timeout: seconds to wait for the connection, if less.
        tls: for https; default: the certificate authorities that Python trusts.
        proxy: `http://host:port`, optionally with user and password, see `machine_proxy`; None connects directly.
        most_bytes: limit of the response body.

    Raises:
        NoAnswerError: there was no response.
    """
    route = _Route(url, proxy)
    connection: HTTPConnection | None = None
    try:
        connection = route.connection(timeout, connect_timeout, tls)
        connection.connect()
        connection.sock.settimeout(timeout)
        with route.send(connection, method, body, headers) as response:
            return Answer(response.status, response.getheaders(), _content(response, most_bytes))
    except (OSError, HTTPException) as error:
        raise NoAnswerError(method, route.address, error) from error
    finally:
        if connection is not None:
            connection.close()


class Connections:
    """Connections that stay open from one request to the next. Any thread may ask; each request has one to itself.

    A server may close a connection that was kept, at any time. A request that finds this out, because nothing of an
    answer comes, is sent once more over a new connection if its method is idempotent (RFC 9110, 9.2.2). Of another one
    the server may have seen the first, so whoever asks decides.

    Args:
        timeout: seconds in which a server may be silent.
        connect_timeout: seconds for a connection, if less.
        tls: for https; without it whom Python trusts.
        proxy: the proxy for a URL, see `machine_proxy`, which is one.
        idle: seconds after which a connection that nobody used is not used again.
    """

    def __init__(
        self,
        *,
        timeout: float,
        connect_timeout: float | None = None,
        tls: ssl.SSLContext | None = None,
        proxy: Callable[[str], str | None] = lambda _: None,
        idle: float = 30.0,
    ) -> None:
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._tls = tls
        self._proxy = proxy
        self._idle = idle
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str, str | None], list[tuple[HTTPConnection, float]]] = {}
        self._used: set[HTTPConnection] = set()
        self._closed = False

    def exchange(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        most_bytes: int = MOST_BYTES,
    ) -> Answer:
        """Send a request and read its answer, as `exchange` does.

        Raises:
            NoAnswerError: there was none, or `close` was called meanwhile.
        """
        route = _Route(url, self._proxy(url))
        try:
            if (kept := self._take(route)) is not None:
                try:
                    return self._ask(kept, route, method, body, headers, most_bytes)
                except (RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
                    if self._closed or method not in _IDEMPOTENT or getattr(error, "answered", False):
                        raise
            fresh = route.connection(self._timeout, self._connect_timeout, self._tls)
            return self._ask(fresh, route, method, body, headers, most_bytes)
        except (OSError, HTTPException) as error:
            raise NoAnswerError(method, route.address, error) from error

    def close(self) -> None:
        """Close them all, also those that wait for an answer: whoever asked gets NoAnswerError."""
        with self._lock:
            self._closed = True
            kept = [connection for each in self._kept.values() for connection, _ in each]
            self._kept.clear()
            for connection in self._used:
                if (open_socket := connection.sock) is not None:
                    try:
                        open_socket.shutdown(socket.SHUT_RDWR)  # `close` would not wake who reads
                    except OSError:
                        pass
        for connection in kept:
            connection.close()

    def _connect(self, connection: HTTPConnection) -> None:
        connection.connect()
        connection.sock.settimeout(self._timeout)

    def _take(self, route: _Route) -> HTTPConnection | None:
        """A connection that was kept, and that its server has not closed."""
        while True:
            with self._lock:
                if not (waiting := self._kept.get(route.key)):
                    return None
                connection, since = waiting.pop()
            if time.monotonic() - since < self._idle and not _readable(connection.sock):
                return connection
            connection.close()

    def _ask(
        self,
        connection: HTTPConnection,
        route: _Route,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        most_bytes: int,
    ) -> Answer:
        with self._lock:
            if self._closed:
                raise HTTPException("the connections are closed")
            self._used.add(connection)
        whole = False
        try:
            if connection.sock is None:
                self._connect(connection)
            response = route.send(connection, method, body, headers)
            try:
                content = _content(response, most_bytes)
                answer = Answer(response.status, response.getheaders(), content)
                whole = not response.will_close
            except OSError as error:
                error.answered = True  # type: ignore[attr-defined]
                raise
            finally:
                response.close()
            return answer
        finally:
            with self._lock:
                self._used.discard(connection)
                whole = whole and not self._closed
                if whole:
                    self._kept.setdefault(route.key, []).append((connection, time.monotonic()))
            if not whole:
                connection.close()


class _Route:
    """How to ask for a URL: of whom, and for what.

    Attributes:
        address: the URL without what may be secret: a login, a query.
        key: what requests have in common that can share a connection.
    """

    def __init__(self, url: str, proxy: str | None) -> None:
        server = urlsplit(url)
        place = server.netloc.rpartition("@")[2]
        self._server = server
        self._proxied = proxy is not None
        self._asked, self._login = (server, {}) if proxy is None else _proxy(proxy)
        self._target = f"{server.path or '/'}{'?' if server.query else ''}{server.query}"
        if self._proxied and server.scheme != "https":
            self._target = f"http://{place}{self._target}"
        self.address = f"{server.scheme}://{place}{server.path}"
        self.key = (server.scheme, place, proxy)

    def connection(self, timeout: float, connect_timeout: float | None, tls: ssl.SSLContext | None) -> HTTPConnection:
        """One that is not open yet."""
        within = timeout if connect_timeout is None else min(timeout, connect_timeout)
        asked, server = self._asked, self._server
        if server.scheme != "https":
            return HTTPConnection(asked.hostname or "", asked.port, timeout=within)
        connection = HTTPSConnection(asked.hostname or "", asked.port, timeout=within, context=tls)
        if self._proxied:
            connection.set_tunnel(server.hostname or "", server.port, self._login)
        return connection

    def send(
        self, connection: HTTPConnection, method: str, body: bytes | None, headers: Mapping[str, str] | None
    ) -> HTTPResponse:
        """Send a request; the head of its answer."""
        login = self._login if self._server.scheme == "http" else {}
        connection.request(method, self._target, body, {**(headers or {}), **login})
        return connection.getresponse()


def basic(user_info: str) -> str:
    """The Authorization header for `user:password`."""
    return "Basic " + base64.b64encode(user_info.encode()).decode()


def machine_proxy(url: str) -> str | None:
    """The proxy for a URL from the environment variables https_proxy and no_proxy, if any."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    found = getproxies().get(parts.scheme)
    return None if found is None or proxy_bypass(parts.netloc.rpartition("@")[2]) else found


def words(reason: Exception) -> str:
    """A short text for the error of a connection."""
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def _readable(connected: socket.socket) -> bool:
    poll = select.poll()  # select() itself knows no file descriptor above 1023
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))


def _content(response: HTTPResponse, most_bytes: int) -> bytes:
    # read() with a number of bytes would accept a body of a known length that is cut off.
    known = response.length is not None
    too_long = response.length is not None and response.length > most_bytes
    content = b"" if too_long else response.read() if known else response.read(most_bytes + 1)
    if too_long or len(content) > most_bytes:
        raise HTTPException(f"the answer is longer than {most_bytes} bytes")
    return content


def _proxy(proxy: str) -> tuple[SplitResult, dict[str, str]]:
    """A proxy's address, and the headers that log in to it."""
    parts = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    if not parts.username:
        return parts, {}
    return parts, {"Proxy-Authorization": basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")}
