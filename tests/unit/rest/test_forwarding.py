"""Requests that another worker has to carry out, sent on to it."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from rest.forwarding import ELSEWHERE, Forwarding

JSON = [(b"content-type", b"application/json")]


class Leader:
    """The other worker: keeps what it is asked."""

    def __init__(self) -> None:
        self.status = 201
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        leader = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                leader.seen.append((self.command, self.path, headers, body))
                self.send_response(leader.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Location", "/connectors/a")
                self.send_header("Content-Length", "9")
                self.end_headers()
                self.wfile.write(b'{"by":"l"}'[:9])

            do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - names of the standard library

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def leader() -> Iterator[Leader]:
    made = Leader()
    try:
        yield made
    finally:
        made.close()


def follower(url: str, status: int = 409, error: Exception | None = None) -> Forwarding:
    """An application that can do nothing itself, and says where it can be done; it reads what it is sent."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        if ELSEWHERE in scope:
            scope[ELSEWHERE].append(url)
        await send({"type": "http.response.start", "status": status, "headers": JSON})
        await send({"type": "http.response.body", "body": b"here:" + body})
        if error is not None:
            raise error

    return Forwarding(app)


def ask(
    app: Forwarding, method: str, path: str, query: str = "", body: bytes = b"", **headers: str
) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Message] = []
    pieces = [body[:1], body[1:]]

    async def receive() -> Message:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    try:
        asyncio.run(app(scope, receive, send))
    finally:
        ask.sent = sent  # type: ignore[attr-defined]
    start, content = sent
    return start["status"], dict(start["headers"]), content["body"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_request_goes_on_as_it_is(leader: Leader, method: str) -> None:
    body = json.dumps({"name": "ä"}).encode()
    signed = {"X_Connect_Authorization": "abc", "X_Connect_Request_Signature_Algorithm": "HmacSHA256"}
    status, headers, content = ask(
        follower(leader.url),
        method,
        "/connectors/a%2Fb%20c",
        "includeTasks=true&onlyFailed=",
        body,
        content_type="application/json",
        authorization="Basic eA==",
        cookie="x",
        **signed,
    )
    assert (status, content) == (201, b'{"by":"l"')
    given = {name.lower(): value for name, value in headers.items()}
    assert given[b"location"] == b"/connectors/a"
    assert given[b"content-length"] == b"9"
    ((seen_method, path, seen, seen_body),) = leader.seen
    assert (seen_method, seen_body) == (method, body)
    assert path == "/connectors/a%2Fb%20c?includeTasks=true&onlyFailed=&forward=true"
    assert seen["authorization"] == "Basic eA=="
    assert seen["x-connect-authorization"] == "abc"
    assert "cookie" not in seen


@pytest.mark.parametrize(("asked", "passed"), [("", "forward=true"), ("forward=true", "forward=false")])
def test_it_goes_on_twice_at_most(leader: Leader, asked: str, passed: str) -> None:
    ask(follower(leader.url), "PUT", "/connectors/a/pause", asked)
    assert leader.seen[0][1] == f"/connectors/a/pause?{passed}"


def test_the_third_says_that_it_cannot(leader: Leader) -> None:
    assert ask(follower(leader.url), "PUT", "/a", "forward=false", b"x")[::2] == (409, b"here:x")
    assert leader.seen == []


def test_while_nobody_knows_who_can_it_is_answered_here() -> None:
    assert ask(follower(""), "PUT", "/a", body=b"x")[::2] == (409, b"here:x")


def test_what_is_read_is_never_sent_on(leader: Leader) -> None:
    assert ask(follower(leader.url, 200), "GET", "/connectors")[::2] == (200, b"here:")
    assert leader.seen == []


def test_a_worker_that_does_not_answer_is_an_error() -> None:
    status, headers, content = ask(follower("http://127.0.0.1:9/"), "DELETE", "/connectors/a")
    assert status == 500
    assert json.loads(content)["error_code"] == 500
    assert headers[b"content-type"] == b"application/json"


def test_an_unforeseen_error_is_answered_all_the_same() -> None:
    with pytest.raises(RuntimeError, match="unforeseen"):
        ask(follower("", 500, RuntimeError("unforeseen")), "POST", "/connectors", body=b"x")
    assert [message["type"] for message in ask.sent] == ["http.response.start", "http.response.body"]  # type: ignore[attr-defined]
