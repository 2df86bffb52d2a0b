"""A client has so long for a request; who works on one has as long as it takes."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import pytest

from connect.herder.listeners import bind, parse_listeners
from rest.server import RestServer, Site
from tests.support.rest import ask

REQUEST_S = 0.5


@pytest.fixture
def answer() -> threading.Event:
    """What the application waits for."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def port(answer: threading.Event) -> Iterator[int]:
    """Where an application answers, of any part of the interface, that reads the whole body."""

    async def app(scope, receive, send) -> None:
        while (await receive()).get("more_body"):
            pass
        await asyncio.to_thread(answer.wait)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})

    bound = bind(parse_listeners(["http://127.0.0.1:0"]))
    server = RestServer([Site(frozenset(), bound, "")], {}, lambda _: app, request=REQUEST_S)
    server.start()
    assert server.wait(30)
    yield bound[0].listener.port
    answer.set()
    server.stop(10)


def closed(client: socket.socket) -> bool:
    """Whether the other side has closed it. Waits a moment."""
    try:
        return client.recv(1000) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"],
    ids=["nothing", "half a head", "half a body"],
)
@pytest.mark.parametrize("trickles", [False, True])
def test_half_a_request_has_an_end(port: int, beginning: bytes, trickles: bool) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(REQUEST_S / 10)
        client.sendall(beginning)
        for _ in range(200):
            if closed(client):
                break
            if trickles and beginning:
                client.sendall(b"x")
            assert ask(port, "GET", "/").status == 200  # others are answered
        else:
            pytest.fail("it is open")


def test_an_answer_may_take_longer(port: int, answer: threading.Event) -> None:
    answer.clear()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(REQUEST_S * 3)
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(TimeoutError):
            client.recv(1000)
        answer.set()
        assert client.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_connection_is_used_again(port: int) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as client:
        client.connect()
        used = client.sock
        for _ in range(3):
            client.request("PUT", "/", b"x" * 100_000)
            assert client.getresponse().read() == b"{}"
            assert client.sock is used
