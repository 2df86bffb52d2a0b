"""Checks the headers of every request first, before the login.

The name that it is sent to (`Hosts`), the page that sends it (`Origins`), and proxies in between (`Proxies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from socket import socket
from typing import Final
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from connect.errors import ConfigError
from connect.herder.listeners import parse_listeners
from connect.settings.java_regex import java_regex
from connect.settings.raw import comma_separated
from connect.settings.rest_security_keys import ALLOWED_HOSTS
from rest.addresses import parse_address, without_port
from rest.errors import error_answer
from rest.rows import Row

#: In the scope of a request: whether the listener that it came to is one of this machine alone.
LOOPBACK: Final = "connect.loopback"


class Hosts:
    """The names that a worker answers to on loopback listeners.

    A web page can have the name of its own server resolve to 127.0.0.1 once it is loaded (DNS rebinding), and then send
    requests to the worker on the reader's machine as if it were from there. They have that name as Host, and no other.

    Args:
        names: besides localhost and loopback addresses. `*.example.com` is every name below that one, `*` any.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.strip().lower().rstrip(".") for name in names)
        self._below = tuple(name[1:] for name in self._names if name.startswith("*."))

    @classmethod
    def of(cls, raw: Mapping[str, str], named: Sequence[str]) -> Hosts:
        """Those of a worker: from its properties."""
        own = [raw.get("rest.advertised.host.name") or ""]
        for key in ("listeners", "admin.listeners"):
            own += [listener.host for listener in parse_listeners([url for url in raw.get(key, "").split(",") if url])]
        return cls([*filter(None, own), *named])

    def refusal(self, scope: Scope) -> str | None:
        """The error for a request that is not for this worker; None when it is."""
        if not scope.get(LOOPBACK):
            return None
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), None)
        if given is None or self.known(given):  # only HTTP/1.0 has none, and no browser speaks that
            return None
        return (
            f'This worker does not answer to the name "{given[:200]}". Use localhost, or add the name to'
            f" {ALLOWED_HOSTS} of the worker."
        )

    def known(self, host: str) -> bool:
        """Whether a Host, with or without port, is one of the names."""
        name = without_port(host.strip()).lower().rstrip(".")
        return (
            name in self._names or "*" in self._names or name.endswith(self._below) or name == "localhost" or _own(name)
        )


class OnLoopback:
    """An ASGI application around another one: marks requests to loopback listeners."""

    def __init__(self, app: ASGIApp, listening: Iterable[socket]) -> None:
        self._app = app
        addresses = [each.getsockname() for each in listening]
        self._addresses = {(host, port) for host, port, *_ in addresses if is_loopback(host)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and scope.get("server") in self._addresses:
            scope = {**scope, LOOPBACK: True}
        await self._app(scope, receive, send)


def is_loopback(address: str) -> bool:
    """Whether an address is one that only this machine reaches. Raises ValueError for other texts."""
    return parse_address(address).is_loopback


def _own(name: str) -> bool:
    try:
        return is_loopback(name)
    except ValueError:
        return False


_READS: Final = {"GET", "HEAD", "OPTIONS"}
_KEY: Final = "access.control.allow.origin"
#: Scheme, name of a host and port. What is longer is none, and would take patterns long.
_LONGEST_ORIGIN: Final = 300
#: What no name has, but patterns have.
_PATTERN: Final = frozenset("*+?()[]{}|^$\\")
_PORTS: Final = {"http": 80, "https": 443}


class OtherOrigins:
    """The web pages of other servers that `access.control.allow.origin` names: origins, and patterns for them.

    As in Kafka Connect a pattern is a regular expression of Java's, for the whole origin. Its own reads every entry as
    one; here an entry with no other sign than the dots of a name is that origin and no similar one. `*` is any.

    Args:
        written: the value of the key.

    Raises:
        ConfigError: a pattern is none.
    """

    def __init__(self, written: str) -> None:
        entries = comma_separated(written)
        self.any = "*" in entries
        self.exact = [one for one in entries if one != "*"]  # http://[::1]:3000 is an origin, too
        try:
            self._patterns = [java_regex(one) for one in self.exact if _PATTERN.intersection(one)]
        except ValueError as error:
            raise ConfigError(_KEY, f"{error} Write origins, such as https://ui.example.com, or patterns.") from None

    def __contains__(self, origin: str) -> bool:
        if self.any or origin in self.exact:
            return True
        return len(origin) <= _LONGEST_ORIGIN and any(one.fullmatch(origin) for one in self._patterns)

    def __bool__(self) -> bool:
        return self.any or bool(self.exact)


class Cors(CORSMiddleware):
    """Allows web pages of other servers to read answers.

    Args:
        app: what answers.
        origins: of these pages.
        methods: that they may use.
    """

    def __init__(self, app: ASGIApp, origins: OtherOrigins, methods: Sequence[str]) -> None:
        super().__init__(app, ["*"] if origins.any else (), methods, ["*"])
        self._origins = origins

    def is_allowed_origin(self, origin: str) -> bool:
        return origin in self._origins


class Origins:
    """The web pages that may change something.

    A browser sends requests of a page of another site with the user's password or certificate, though the page may not
    read the response (CSRF). It names the page's site in Origin. Programs send no Origin.

    Args:
        others: besides the worker's own.
    """

    def __init__(self, others: OtherOrigins) -> None:
        self._others = others

    def refusal(self, scope: Scope) -> str | None:
        """The error for a page that may not send this request; None for everybody else."""
        if scope["method"] in _READS or self._others.any:
            return None
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        for name, value in scope["headers"]:
            origin = value.decode("latin-1")
            if name == b"origin" and not _same(origin, host) and origin not in self._others:
                return (
                    f'A web page of "{origin[:200]}" may not change anything here. To allow it, add its origin to'
                    f" {_KEY} of the worker."
                )
        return None


def _same(origin: str, host: str) -> bool:
    """Whether a page comes from the server that it sends to. The scheme does not count: TLS may end at a proxy."""
    scheme = origin.partition(":")[0].lower()
    own = _place(origin)
    return own is not None and own == _place(f"{scheme}://{host}")


def _place(url: str) -> tuple[str, int] | None:
    try:
        found = urlsplit(url)
        if not found.hostname or found.username is not None:
            return None
        return found.hostname.rstrip("."), found.port or _PORTS[found.scheme]
    except (ValueError, KeyError):
        return None


_SCHEMES: Final = {"http", "https"}


class Proxies:
    """Trusted proxies: their X-Forwarded-For, -Proto and -Host are used.

    Anybody may send such headers. So they count only from the addresses of `rest.forwarded.allow.ips`; in a chain of
    proxies, as far back as they are all trusted.

    Args:
        named: addresses and networks: 10.0.0.7, 10.1.0.0/16, 2001:db8::/48.

    Raises:
        ValueError: one is neither.
    """

    def __init__(self, named: Iterable[str]) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(one) for one in named]

    def trusts(self, address: str) -> bool:
        """Whether an address is trusted."""
        try:
            found = parse_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def seen_through(self, scope: Scope) -> Scope:
        """A request as its client sent it to the first of them."""
        if not self._networks or not scope.get("client") or not self.trusts(scope["client"][0]):
            return scope
        found = dict(scope)
        if hops := _list(scope, b"x-forwarded-for"):
            found["client"] = (self._client(scope["client"][0], hops), 0)
        if (schemes := _list(scope, b"x-forwarded-proto")) and schemes[0].lower() in _SCHEMES:
            found["scheme"] = schemes[0].lower()
        if hosts := _list(scope, b"x-forwarded-host"):
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            found["headers"] = [(b"host", hosts[0].encode("latin-1")), *others]
        return found

    def _client(self, nearest: str, hops: list[str]) -> str:
        """The first address on the way back that is not trusted; the last valid one where a hop names none."""
        for hop in reversed(hops):
            address = _address(hop)
            if address is None:
                break
            nearest = address
            if not self.trusts(address):
                break
        return nearest


def _list(scope: Scope, header: bytes) -> list[str]:
    """A header's values, of all of its lines."""
    return comma_separated(",".join(value.decode("latin-1") for name, value in scope["headers"] if name == header))


def _address(hop: str) -> str | None:
    """The address of a hop, which may have a port."""
    try:
        return str(parse_address(without_port(hop)))
    except ValueError:
        return None


class Edge:
    """An ASGI application around the REST interface."""

    def __init__(self, app: ASGIApp, hosts: Hosts, origins: Origins, proxies: Proxies) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._proxies = proxies
        self._refused = Row("A request is refused: {why}", "No further refused requests. Refused for Host or Origin:")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The name that the browser used, not what it may say that a proxy was asked for.
        if reason := self._hosts.refusal(scope):
            await self._refuse(421, reason, scope, receive, send)
            return
        scope = self._proxies.seen_through(scope)
        if reason := self._origins.refusal(scope):
            await self._refuse(403, reason, scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _refuse(self, status: int, reason: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._refused.one(why=reason)
        await error_answer(status, reason)(scope, receive, send)
