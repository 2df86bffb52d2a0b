"""Sends one request to another worker's REST interface, over TLS as this worker's own listeners have it."""

from __future__ import annotations

import http.client
import ssl
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import Any

from connect.errors import ConnectError
from connect.peers.tls import peer_context


class PeerError(ConnectError):
    """Another worker did not answer, or refused.

    Attributes:
        status: of HTTP; None when there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


Headers = list[tuple[bytes, bytes]]

_tls: ssl.SSLContext | None = None


def use_tls_of(raw: Mapping[str, str]) -> None:
    """Ask other workers over https from now on as a worker with these properties does. Once, before the first request.

    Raises:
        ConfigError: a key or trust store cannot be read.
    """
    global _tls
    _tls = peer_context(raw)


def exchange(
    method: str,
    url: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, Headers, bytes]:
    """Send a request; whatever the other worker answers is an answer: status, headers, body.

    `tls` is for https; without it that of `use_tls_of` counts.

    Raises:
        PeerError: there was no answer.
    """
    request = urllib.request.Request(  # noqa: S310 - workers know each other's http and https addresses from the group
        url, data=body, method=method, headers=dict(headers or {})
    )
    # Workers reach each other as they are: this machine's proxies are for the world outside.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls or _tls), _EveryStatusIsAnAnswer
    )
    try:
        with opener.open(request, timeout=timeout) as answer:
            return answer.status, _raw(answer.headers), answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise PeerError(f"{method} {url} had no answer: {error}") from error


def send(
    method: str,
    url: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,
    tls: ssl.SSLContext | None = None,
) -> bytes:
    """Send a request in JSON and return the answer's body.

    Raises:
        PeerError: no answer, or one that is not a success; the message has what the other worker says.
    """
    headers = {"Content-Type": "application/json", **(headers or {})}
    status, _, content = exchange(method, url, body, headers, timeout, tls)
    if not 200 <= status < 300:
        said = content.decode("utf-8", "replace")
        raise PeerError(f"{method} {url} was answered with {status}: {said}", status)
    return content


class _EveryStatusIsAnAnswer(urllib.request.HTTPErrorProcessor):
    """Takes every status as an answer, redirections included."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response

    https_response = http_response


def _raw(headers: Message) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
