"""Which names a worker answers to on listeners of this machine alone.

A web page can have the name of its own server lead to 127.0.0.1 once it is loaded (DNS rebinding), and then ask the
worker of whoever looks at it as if it were from there. Its requests have that name as Host, and no other site's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from socket import socket
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from connect.herder.listeners import parse_listeners
from connect.settings.rest_security_keys import ALLOWED_HOSTS
from rest.addresses import parse_address, without_port

#: In the scope of a request: whether the listener that it came to is one of this machine alone.
LOOPBACK: Final = "connect.loopback"


class Hosts:
    """The names.

    Args:
        names: besides localhost and loopback addresses. `*.example.com` is every name below that one, `*` any.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.strip().lower().rstrip(".") for name in names)
        self._below = tuple(name[1:] for name in self._names if name.startswith("*."))

    @classmethod
    def of(cls, raw: Mapping[str, str], named: Sequence[str]) -> Hosts:
        """Those of a worker: what its properties call it, and what it is told."""
        own = [raw.get("rest.advertised.host.name") or ""]
        for key in ("listeners", "admin.listeners"):
            own += [listener.host for listener in parse_listeners([url for url in raw.get(key, "").split(",") if url])]
        return cls([*filter(None, own), *named])

    def refusal(self, scope: Scope) -> str | None:
        """What to say to a request that is not for this worker; None when it is."""
        if not scope.get(LOOPBACK):
            return None
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), None)
        if given is None or self.known(given):  # only HTTP/1.0 has none, and no browser speaks that
            return None
        return (
            f'This worker does not answer to the name "{given[:200]}". Ask it as localhost, or add the name to'
            f" {ALLOWED_HOSTS} of the worker."
        )

    def known(self, host: str) -> bool:
        """Whether a Host, with or without port, is one of the names."""
        name = without_port(host.strip()).lower().rstrip(".")
        return (
            name in self._names or "*" in self._names or name.endswith(self._below) or name == "localhost" or _own(name)
        )


class OnLoopback:
    """An ASGI application around another one: marks what comes to listeners of this machine alone."""

    def __init__(self, app: ASGIApp, listening: Iterable[socket]) -> None:
        self._app = app
        addresses = [each.getsockname() for each in listening]
        self._addresses = {(host, port) for host, port, *_ in addresses if is_loopback(host)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and scope.get("server") in self._addresses:
            scope = {**scope, LOOPBACK: True}
        await self._app(scope, receive, send)


def is_loopback(address: str) -> bool:
    """Whether an address is one that only this machine reaches. ValueError: it is no address."""
    return parse_address(address).is_loopback


def _own(name: str) -> bool:
    try:
        return is_loopback(name)
    except ValueError:
        return False
