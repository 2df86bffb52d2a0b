"""One request over HTTP: what is an answer, what is none, and that nothing secret is shown."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from connect.http import NoAnswerError, exchange, machine_proxy


@contextmanager
def serving(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers one request with these bytes; yields its host and port, and what it was sent."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection:
                seen.append(connection.recv(65_536))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}", seen
        thread.join()


def test_a_request_names_path_and_query_and_no_login() -> None:
    with serving(b"HTTP/1.1 201 Created\r\nX-Any: 1\r\nContent-Length: 2\r\n\r\n{}") as (host, seen):
        answer = exchange("PUT", f"http://me:secret99@{host}/a?b=c", b"body", {"X-Own": "2"}, timeout=5)
    assert (answer.status, answer.content) == (201, b"{}")
    assert ("X-Any", "1") in answer.headers
    (sent,) = seen
    assert sent.startswith(b"PUT /a?b=c HTTP/1.1\r\n")
    assert f"Host: {host}\r\n".encode() in sent
    assert b"X-Own: 2\r\n" in sent
    assert b"Authorization" not in sent


def test_a_redirection_is_an_answer() -> None:
    with serving(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n") as (host, _):
        assert exchange("GET", f"http://{host}", timeout=5).status == 302


def test_a_proxy_is_asked_by_the_whole_address_and_with_its_login() -> None:
    with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (host, seen):
        exchange("GET", "http://elsewhere:81/a?b=c", timeout=5, proxy=f"http://me:p%40ss@{host}")
    assert seen[0].startswith(b"GET http://elsewhere:81/a?b=c HTTP/1.1\r\nHost: elsewhere:81\r\n")
    assert b"Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in seen[0]


def test_a_proxy_makes_a_tunnel_for_https() -> None:
    with serving(b"HTTP/1.1 200 OK\r\n\r\n") as (host, seen), pytest.raises(NoAnswerError):
        exchange("GET", "https://elsewhere/a", timeout=5, proxy=f"me:p@{host}")
    assert seen[0].startswith(b"CONNECT elsewhere:443 HTTP/1.")
    assert b"Proxy-Authorization: Basic bWU6cA==\r\n" in seen[0]


def test_the_proxy_of_this_machine_is_for_what_it_does_not_except(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "here")
    monkeypatch.delenv("https_proxy", raising=False)
    assert machine_proxy("http://there:80/a") == "http://proxy:3128"
    assert machine_proxy("http://me:secret@here:80/a") is None
    assert machine_proxy("https://there/a") is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345678", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901", "longer than 10 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n12345678901", "longer than 10 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n", "longer than 10 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123", ""),
        (b"SSH-2.0-OpenSSH\r\n", ""),
        (b"", ""),
    ],
)
def test_what_ends_early_is_too_long_or_no_http_is_no_answer(answer: bytes, why: str) -> None:
    with serving(answer) as (host, _):
        with pytest.raises(NoAnswerError, match=f"GET http://127.*/a had no answer: .*{why}") as raised:
            exchange("GET", f"http://me:secret99@{host}/a?token=secret98", timeout=5, most_bytes=10)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("length", [b"", b"Content-Length: 10\r\n"])
def test_what_is_just_as_long_is_an_answer(length: bytes) -> None:
    with serving(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n1234567890") as (host, _):
        assert exchange("GET", f"http://{host}", timeout=5, most_bytes=10).content == b"1234567890"


def test_silence_and_nobody_there_are_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoAnswerError) as raised:
            exchange("GET", url, timeout=0.1)
        assert isinstance(raised.value.reason, TimeoutError)
    with pytest.raises(NoAnswerError, match="refused"):
        exchange("GET", url, timeout=5)
