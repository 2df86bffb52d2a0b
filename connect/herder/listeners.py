"""Where a worker's REST interface listens, and the address that others use to reach it.

listeners=http://:8083,https://10.0.0.1:8443      an empty host is every address of the machine
rest.advertised.host.name, .port, .listener       the address for others, if not the first listener
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

_URL = re.compile(r"(https?)://(\[[^\]]*\]|[^/:\s]*):(\d+)/?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Listener:
    """An address to listen on. An empty host is every address of the machine."""

    scheme: Literal["http", "https"]
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.address}"

    @property
    def address(self) -> str:
        """Host and port, as in a URL: an IPv6 address has brackets. Kafka Connect names its workers so."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def parse_listeners(urls: Sequence[str]) -> list[Listener]:
    """Parse the value of `listeners`. Raises ValueError."""
    found = []
    for url in urls:
        match = _URL.fullmatch(url.strip())
        if match is None:
            raise ValueError(
                f'"{url}" is not an address to listen on. Write http://host:8083, or http://:8083 for all.'
            )
        scheme = cast("Literal['http', 'https']", match[1].lower())
        found.append(Listener(scheme, match[2].strip("[]"), int(match[3])))
    return found


def advertised(raw: Mapping[str, str]) -> Listener:
    """The address by which other workers and users reach a worker. Raises ValueError."""
    listeners = parse_listeners((raw.get("listeners") or "http://:8083").split(","))
    scheme = (raw.get("rest.advertised.listener") or "").strip().lower()
    chosen = next((one for one in listeners if one.scheme == scheme), listeners[0])
    host = (raw.get("rest.advertised.host.name") or chosen.host).strip().strip("[]")
    if host in {"", "0.0.0.0", "::"}:  # noqa: S104 - is told from others here, not listened on
        host = socket.gethostname()
    port = (raw.get("rest.advertised.port") or "").strip()
    return Listener(chosen.scheme, host, int(port) if port else chosen.port)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound listener; `listener` has the actual port."""

    listener: Listener
    socket: socket.socket


def bind(listeners: Sequence[Listener]) -> list[Bound]:
    """Bind all of these addresses, or none.

    Raises:
        OSError: one cannot be bound; `strerror` says why, `filename` which.
    """
    found: list[Bound] = []
    for listener in listeners:
        try:
            found.append(_bind(listener))
        except OSError as error:
            for bound in found:
                bound.socket.close()
            raise OSError(error.errno, error.strerror or str(error), str(listener)) from error
    return found


def _bind(listener: Listener) -> Bound:
    host = listener.host
    family = socket.AF_INET6 if ":" in host or (not host and socket.has_dualstack_ipv6()) else socket.AF_INET
    if host and ":" not in host:
        family, _, _, _, address = socket.getaddrinfo(host, listener.port, type=socket.SOCK_STREAM)[0]
        host = str(address[0])
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(host)))
        listening.bind((host, listener.port))
        listening.listen(1024)
        listening.set_inheritable(False)
    except BaseException:
        listening.close()
        raise
    return Bound(Listener(listener.scheme, listener.host, listening.getsockname()[1]), listening)
