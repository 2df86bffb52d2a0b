"""Addresses as sockets and headers write them."""

import pytest

from rest.addresses import parse_address, without_port


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
    ],
)
def test_an_address_is_read_without_its_zone_and_ipv4_as_ipv4(written: str, address: str) -> None:
    assert str(parse_address(written)) == address


@pytest.mark.parametrize("written", ["", "localhost", "10.0.0.7:80", "[::1]", "10.0.0", "1"])
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        parse_address(written)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:8083", "localhost"),
        ("localhost", "localhost"),
        ("10.0.0.7:80", "10.0.0.7"),
        ("[::1]:8083", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
    ],
)
def test_a_port_is_cut_off(host: str, name: str) -> None:
    assert without_port(host) == name
