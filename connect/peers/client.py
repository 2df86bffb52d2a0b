"""Sends one request to another worker's REST interface."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping

from connect.errors import ConnectError


class PeerError(ConnectError):
    """Another worker did not answer, or refused.

    Attributes:
        status: of HTTP; None when there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def send(
    method: str,
    url: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,
    tls: ssl.SSLContext | None = None,
) -> bytes:
    """Send a request and return the answer's body.

    Raises:
        PeerError: no answer, or one that is not a success; the message has what the other worker says.
    """
    request = urllib.request.Request(  # noqa: S310 - workers know each other's http and https addresses from the group
        url, data=body, method=method, headers={"Content-Type": "application/json", **(headers or {})}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout, context=tls) as answer:  # noqa: S310
            content: bytes = answer.read()
            return content
    except urllib.error.HTTPError as error:
        said = error.read().decode("utf-8", "replace")
        raise PeerError(f"{method} {url} was answered with {error.code}: {said}", error.code) from None
    except OSError as error:
        raise PeerError(f"{method} {url} had no answer: {error}") from error
