"""Sends one HTTP request, over a connection of its own, with Python's own library.

No redirection is followed: it would carry a login elsewhere. What an answer means is for who asks to say.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from connect.errors import ConnectError

#: Of an answer, unless who asks wants less. What is longer is no answer: it would fill this process's memory.
MOST_BYTES: Final = 256 << 20


class NoAnswerError(ConnectError):
    """A server has no answer to a request, or none that is HTTP. The message shows neither a login nor a query.

    Attributes:
        reason: what the connection ended with.
    """

    def __init__(self, method: str, address: str, reason: Exception) -> None:
        super().__init__(f"{method} {address} had no answer: {words(reason)}")
        self.reason = reason


class Answer(NamedTuple):
    """What a server answers, whatever its status."""

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
    """Send a request and read its answer. A user and password in the URL are left out.

    Args:
        method: of HTTP.
        url: http:// or https://.
        body: None sends none.
        headers: besides those that say how long the body is and where the request goes.
        timeout: seconds in which the server may be silent.
        connect_timeout: seconds for the connection, if less.
        tls: for https; without it whom Python trusts.
        proxy: `http://host:port`, also with a login, see `machine_proxy`; None asks the server itself.
        most_bytes: of the answer.

    Raises:
        NoAnswerError: there was none.
    """
    server = urlsplit(url)
    place = server.netloc.rpartition("@")[2]
    target = f"{server.path or '/'}{'?' if server.query else ''}{server.query}"
    address = f"{server.scheme}://{place}{server.path}"
    within = timeout if connect_timeout is None else min(timeout, connect_timeout)
    asked, login = (server, {}) if proxy is None else _proxy(proxy)
    connection: HTTPConnection | None = None
    try:
        if server.scheme == "https":
            connection = HTTPSConnection(asked.hostname or "", asked.port, timeout=within, context=tls)
            if proxy is not None:
                connection.set_tunnel(server.hostname or "", server.port, login)
        else:
            connection = HTTPConnection(asked.hostname or "", asked.port, timeout=within)
            if proxy is not None:
                target = f"http://{place}{target}"
        connection.connect()
        connection.sock.settimeout(timeout)
        connection.request(method, target, body, {**(headers or {}), **(login if server.scheme == "http" else {})})
        with connection.getresponse() as response:
            return Answer(response.status, response.getheaders(), _content(response, most_bytes))
    except (OSError, HTTPException) as error:
        raise NoAnswerError(method, address, error) from error
    finally:
        if connection is not None:
            connection.close()


def basic(user_info: str) -> str:
    """The header Authorization for `user:password`."""
    return "Basic " + base64.b64encode(user_info.encode()).decode()


def machine_proxy(url: str) -> str | None:
    """The proxy for a URL by this machine's variables (https_proxy, no_proxy), if any."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    found = getproxies().get(parts.scheme)
    return None if found is None or proxy_bypass(parts.netloc.rpartition("@")[2]) else found


def words(reason: Exception) -> str:
    """What is wrong with a connection."""
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def _content(response: HTTPResponse, most_bytes: int) -> bytes:
    # Asked for a number of bytes it would take an end that comes too early for one.
    known = response.length is not None and response.length <= most_bytes
    content = response.read() if known else response.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise HTTPException(f"the answer is longer than {most_bytes} bytes")
    return content


def _proxy(proxy: str) -> tuple[SplitResult, dict[str, str]]:
    """Where a proxy is, and the headers that log in to it."""
    parts = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    if not parts.username:
        return parts, {}
    return parts, {"Proxy-Authorization": basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")}
