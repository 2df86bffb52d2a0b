"""One request to another worker."""

import socket
from typing import Any

import pytest

from connect import peers


def test_a_request_arrives_as_it_was_sent(peer: Any) -> None:
    peer.answer = (201, {"Location": "/connectors/a", "Content-Type": "application/json"}, b'{"name":"a"}')
    status, headers, body = peers.PeerClient().exchange("POST", f"{peer.url}connectors", b"{}", {"X-Any": "1"})
    assert (status, body) == (201, b'{"name":"a"}')
    assert ("Location", "/connectors/a") in headers
    ((method, path, seen, content),) = peer.seen
    assert (method, path, content, seen["x-any"]) == ("POST", "/connectors", b"{}", "1")


@pytest.mark.parametrize("status", [204, 302, 400, 404, 409, 500])
def test_whatever_is_answered_is_an_answer(peer: Any, status: int) -> None:
    body = b"" if status == 204 else b'{"error_code":1}'
    peer.answer = (status, {"Location": f"{peer.url}other"}, body)
    found, _, content = peers.PeerClient().exchange("PUT", f"{peer.url}connectors/a/pause")
    assert (found, content) == (status, body)
    assert len(peer.seen) == 1


def test_no_proxy_is_between_workers(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert peers.PeerClient().exchange("GET", peer.url)[0] == 200


def test_that_nobody_answers_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(peers.PeerError, match=r"POST http://127\.0\.0\.1:\d+/ had no answer") as error:
            peers.PeerClient().exchange("POST", url, b"{}")
    assert error.value.status is None


def test_that_an_answer_ends_early_is_an_error(peer: Any) -> None:
    peer.answer = (200, {"Content-Length": "100", "Connection": "close"}, b"{")
    with pytest.raises(peers.PeerError, match="had no answer"):
        peers.PeerClient().exchange("GET", peer.url)


def test_sending_is_in_json_and_wants_success(peer: Any) -> None:
    peer.answer = (200, {}, b"[]")
    assert peers.PeerClient().send("POST", f"{peer.url}connectors/a/tasks", b"[]", {"X-Any": "1"}) == b"[]"
    assert peer.seen[0][2]["content-type"] == "application/json"
    peer.answer = (409, {}, b'{"error_code":409,"message":"busy"}')
    with pytest.raises(peers.PeerError, match="was answered with 409.*busy") as error:
        peers.PeerClient().send("POST", peer.url, b"[]")
    assert error.value.status == 409
