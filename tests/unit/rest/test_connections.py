"""A client has so long for a request; who works on one has as long as it takes."""

import asyncio
import logging
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from connect.errors import ConfigError
from connect.herder.listeners import bind, parse_listeners
from rest.connections import IDLE_S, Connections
from rest.security.certificates import listener_context
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
def answering(answer: threading.Event) -> Iterator[Callable[..., int]]:
    """Starts an application, of any part of the interface, that reads the whole body: with seconds for a request, and
    for a connection without one. Returns its port."""

    async def app(scope, receive, send) -> None:
        while (await receive()).get("more_body"):
            pass
        await asyncio.to_thread(answer.wait)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})

    with ExitStack() as stack:

        def start(request: float, idle: float = IDLE_S) -> int:
            bound = bind(parse_listeners(["http://127.0.0.1:0"]))
            server = RestServer([Site(frozenset(), bound, "")], {}, lambda _: app, request=request, idle=idle)
            server.start()
            stack.callback(server.stop, 10)
            assert server.wait(30)
            return bound[0].listener.port

        yield start
        answer.set()


@pytest.fixture
def port(answering: Callable[..., int]) -> int:
    """The same with `REQUEST_S`."""
    return answering(REQUEST_S)


def made(key: Path, file: Path) -> None:
    """A certificate that vouches for itself, and its key."""
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-subj", "/CN=worker", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run(words, check=True, capture_output=True)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server shows, and a client that trusts it."""
    key, file = tmp_path / "key", tmp_path / "pem"
    made(key, file)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file, key)
    return server, ssl.create_default_context(cafile=file)


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


def read_answer(client: socket.socket) -> None:
    read = client.recv(1000)
    assert read.startswith(b"HTTP/1.1 200")
    while not read.endswith(b"{}"):
        read += client.recv(1000)


def test_an_idle_connection_stays_open_and_the_time_of_a_request_begins_with_it(answering) -> None:
    """Clients and proxies keep connections for longer than a request may take."""
    port, half = answering(1.0, 60.0), b"GET / HTTP/1.1\r\nHost: x\r\n"
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        for _ in range(2):
            client.settimeout(30)
            client.sendall(half + b"\r\n")
            read_answer(client)
            client.settimeout(1.5)
            assert not closed(client)
        client.settimeout(30)
        client.sendall(half)
        assert closed(client)


def test_an_idle_connection_is_closed_in_the_end(answering) -> None:
    with socket.create_connection(("127.0.0.1", answering(60.0, 0.5)), 30) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        read_answer(client)
        assert closed(client)


@pytest.mark.parametrize(
    "request_",
    [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"],
    ids=["nonsense", "upgrade"],
)
def test_nobody_fills_the_log_with_nonsense(port: int, request_: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            client.sendall(request_)
            assert client.recv(1000).startswith(b"HTTP/1.1 ")
    assert len(caplog.records) <= 1


def test_a_listener_has_the_cipher_suites_that_its_keys_name(tmp_path: Path, certificate: object) -> None:
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "key").read_text() + (tmp_path / "pem").read_text())
    prefix, suite = "listeners.https.ssl.", "ECDHE-ECDSA-AES256-GCM-SHA384"
    keys = {f"{prefix}keystore.type": "PEM", f"{prefix}keystore.location": str(both), f"{prefix}cipher.suites": suite}
    found = [each["name"] for each in listener_context(keys, "listeners.https.").get_ciphers()]
    assert [name for name in found if not name.startswith("TLS_")] == [suite]  # those of TLS 1.3 are OpenSSL's own
    with pytest.raises(ConfigError, match=r"listeners\.https\.ssl\.cipher\.suites.*OpenSSL's names"):
        listener_context({**keys, f"{prefix}cipher.suites": "TLS_NONE"}, "listeners.https.")


def test_a_certificate_that_was_renewed_counts_for_the_next_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a restart: some are valid for days."""

    async def app(scope, receive, send) -> None:
        raise AssertionError("nobody asks")

    def renew() -> str:
        made(tmp_path / "key", tmp_path / "pem")
        fresh = tmp_path / "fresh.pem"
        fresh.write_text((tmp_path / "key").read_text() + (tmp_path / "pem").read_text())
        fresh.replace(store)
        return (tmp_path / "pem").read_text()

    def shown() -> str:
        return ssl.get_server_certificate(("127.0.0.1", bound[0].listener.port), timeout=30)

    store = tmp_path / "worker.pem"
    first = renew()
    bound = bind(parse_listeners(["https://127.0.0.1:0"]))
    keys = {"listeners.https.ssl.keystore.type": "PEM", "listeners.https.ssl.keystore.location": str(store)}
    server = RestServer([Site(frozenset(), bound, "listeners.https.")], keys, lambda _: app)
    server.start()
    try:
        assert server.wait(30)
        assert shown() == first
        store.write_text("half of one")
        assert [shown(), shown()] == [first, first]
        assert [line.levelname for line in caplog.records] == ["ERROR"]  # said once
        second = renew()
        assert shown() == second != first
        store.unlink()
        assert shown() == second
    finally:
        server.stop(10)


class Nothing(asyncio.Protocol):
    """Takes a connection, and knows when it was there."""

    def __init__(self) -> None:
        self.made = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.made.set()


def test_a_handshake_that_is_not_finished_gives_way(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    """Well before its time is up: somebody else waits."""
    server, client = certificate

    async def test() -> None:
        connections = Connections(most=3)
        bound = bind(parse_listeners(["https://127.0.0.1:0"]))[0]
        served: list[Nothing] = []

        def protocol() -> Nothing:
            served.append(Nothing())
            return served[-1]

        taking = asyncio.create_task(connections.take(bound.socket, protocol, lambda: server))
        with ExitStack() as silent:
            for _ in range(6):
                silent.enter_context(socket.create_connection(("127.0.0.1", bound.listener.port)))
            _, writer = await asyncio.open_connection(
                "127.0.0.1", bound.listener.port, ssl=client, ssl_handshake_timeout=5
            )
            await served[-1].made.wait()
            assert len(connections._open) <= 3
            writer.close()
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        bound.socket.close()

    asyncio.run(asyncio.wait_for(test(), 60))


def test_answers_without_an_end_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages follow events for as long as they are open. A browser whose connection is closed comes back by itself."""

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: {}\n\n", "more_body": scope["path"] == "/events"})
        while scope["path"] == "/events" and (await receive())["type"] != "http.disconnect":
            pass

    monkeypatch.setattr("rest.server.most_connections", lambda: 3)
    bound = bind(parse_listeners(["http://127.0.0.1:0"]))
    server = RestServer([Site(frozenset(), bound, "")], {}, lambda _: app)
    server.start()
    assert server.wait(30)
    port = bound[0].listener.port
    with ExitStack() as pages:
        pages.callback(server.stop, 10)
        followed = [pages.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(3)]
        for page in followed:
            page.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200" in page.recv(1000)
        assert ask(port, "GET", "/other").status == 200
        oldest, *others = followed
        while not closed(oldest):
            pass
        for page in others:
            page.settimeout(0.1)
            assert not [1 for _ in range(2) if closed(page)]
