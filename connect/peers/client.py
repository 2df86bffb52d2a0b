"""Sends one request to another worker's REST interface."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message

from connect.errors import ConnectError


class PeerError(ConnectError):
    """Another worker did not answer, or refused.

    Attributes:
        status: of HTTP; None when there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


Headers = list[tuple[bytes, bytes]]


def exchange(
    method: str,
    url: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, Headers, bytes]:
    """Send a request; whatever the other worker answers is an answer: status, headers, body.

    Raises:
        PeerError: there was no answer.
    """
    request = urllib.request.Request(  # noqa: S310 - workers know each other's http and https addresses from the group
        url, data=body, method=method, headers=dict(headers or {})
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout, context=tls) as answer:  # noqa: S310
            return answer.status, _raw(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, _raw(error.headers), error.read()
    except OSError as error:
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


def _raw(headers: Message) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
