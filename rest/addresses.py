"""IP addresses as sockets and headers write them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address


def parse_address(text: str) -> IPv4Address | IPv6Address:
    """An address without its zone; an IPv4 address that an IPv6 socket shows (::ffff:10.0.0.7) as IPv4.

    Raises:
        ValueError: it is not an address.
    """
    found = ip_address(text.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return found if mapped is None else mapped


def without_port(host: str) -> str:
    """The name or the address, without the port if it has one: `[::1]:8083`, `10.0.0.7:80`, `::1`, `localhost`."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]
