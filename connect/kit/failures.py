"""Errors of a REST API."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from connect.errors import MASK, ConnectError

#: Statuses after which the same request may succeed later.
PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_PORTS: Final = {"http": 80, "https": 443}
#: How much of an answer's body a message shows.
_SHOWN: Final = 300


class RestError(ConnectError):
    """A failed request. The message shows no login, no query and no secret.

    Attributes:
        status: of the response; 0 without one.
        passing: whether the same request may succeed later.
        pause: seconds that the server asks to wait before.
    """

    def __init__(self, message: str, *, status: int = 0, passing: bool = False, pause: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.passing = passing
        self.pause = pause


def origin(url: str) -> str:
    """Scheme, host and port of a URL: the server that may see a login. For messages too."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or _PORTS.get(parts.scheme, 0)
    usual = port == _PORTS.get(parts.scheme)
    return f"{parts.scheme}://{host}{'' if usual else f':{port}'}"


def phrase(status: int) -> str:
    """Such as "404 Not Found"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def shown(content: bytes, secrets: Iterable[str]) -> str:
    """A server's text about a failure, on one line, if it has one. It may repeat parts of the request."""
    text = content[: 4 * _SHOWN].decode(errors="replace")
    for secret in secrets:
        for part in (secret, secret.rpartition(" ")[2]):
            if len(part) > 3:
                text = text.replace(part, MASK)
    text = " ".join(text.split())
    return "" if not text or text.startswith("<") or not text.isprintable() else text[:_SHOWN]
