"""Takes from proxies that the configuration names whom they ask for: X-Forwarded-For, -Proto and -Host.

Anybody may send such headers. So they count only from the addresses of `rest.forwarded.allow.ips`; of a chain of
proxies, as far back as it is made of those.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from starlette.types import Scope

from rest.addresses import parse_address, without_port

_SCHEMES: Final = {"http", "https"}


class Proxies:
    """Those that are named.

    Args:
        named: addresses and networks: 10.0.0.7, 10.1.0.0/16, 2001:db8::/48.

    Raises:
        ValueError: one is neither.
    """

    def __init__(self, named: Iterable[str]) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(one) for one in named]

    def trusts(self, address: str) -> bool:
        """Whether an address is one of theirs."""
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
        """The first address on the way back that is not one of theirs; the last that is one where a hop says none."""
        for hop in reversed(hops):
            address = _address(hop)
            if address is None:
                break
            nearest = address
            if not self.trusts(address):
                break
        return nearest


def _list(scope: Scope, header: bytes) -> list[str]:
    """What a header says, in all of its lines."""
    lines = [value.decode("latin-1") for name, value in scope["headers"] if name == header]
    return [part for part in (each.strip() for each in ",".join(lines).split(",")) if part]


def _address(hop: str) -> str | None:
    """The address of a hop, which may have a port."""
    try:
        return str(parse_address(without_port(hop)))
    except ValueError:
        return None
