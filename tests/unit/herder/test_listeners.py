"""Where a worker listens, and what it tells others."""

import socket

import pytest

from connect.herder.listeners import Listener, advertised, bind, parse_listeners


def test_addresses_are_read() -> None:
    assert parse_listeners(["http://:8083", "HTTPS://a.b:8443/", "http://[::1]:1"]) == [
        Listener("http", "", 8083),
        Listener("https", "a.b", 8443),
        Listener("http", "::1", 1),
    ]
    assert str(Listener("http", "::1", 1)) == "http://[::1]:1"


@pytest.mark.parametrize("url", ["localhost:8083", "http://a", "ftp://a:1", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not an address to listen on"):
        parse_listeners([url])


HOST = socket.gethostname()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, f"http://{HOST}:8083"),
        ({"listeners": "http://0.0.0.0:1"}, f"http://{HOST}:1"),
        ({"listeners": "http://a:1,https://b:2"}, "http://a:1"),
        ({"listeners": "http://a:1,https://b:2", "rest.advertised.listener": "https"}, "https://b:2"),
        ({"listeners": "http://a:1", "rest.advertised.host.name": "c", "rest.advertised.port": "3"}, "http://c:3"),
        ({"listeners": "http://[::1]:8083"}, "http://[::1]:8083"),
        ({"listeners": "http://a:1", "rest.advertised.host.name": "fd00::7"}, "http://[fd00::7]:1"),
        ({"listeners": "http://a:1", "rest.advertised.host.name": "[fd00::7]"}, "http://[fd00::7]:1"),
    ],
)
def test_others_are_told_the_advertised_address(settings: dict[str, str], told: str) -> None:
    assert str(advertised(settings)) == told
    assert advertised(settings).address == told.removeprefix("http://").removeprefix("https://")


def test_all_addresses_are_taken_or_none() -> None:
    (first,) = bind([Listener("http", "127.0.0.1", 0)])
    taken = first.listener
    assert taken.port != 0
    (free,) = bind([Listener("http", "127.0.0.1", 0)])
    free.socket.close()
    with pytest.raises(OSError, match="in use") as refused:
        bind([free.listener, taken])
    assert refused.value.filename == str(taken)
    bind([free.listener])[0].socket.close()
    first.socket.close()
