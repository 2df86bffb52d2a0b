"""What another worker has to do is sent on to it, with stored secrets in the place of masks."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx2 as httpx
import pytest

from connect.herder.errors import ElsewhereError
from rest.forwarding import Forwarding

from .conftest import Client


class Other(HTTPServer):
    """Another worker: keeps what it is asked, and answers 201."""

    answer = b"{}"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Other

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.command, self.path, json.loads(body)))
        self.send_response(201)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_PATCH = do_POST = do_PUT  # noqa: N815 - the names that the library calls

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def other() -> Iterator[Other]:
    server = Other()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(serve, herder, other: Other) -> Client:
    """Of a worker that is not the leader; connector x is stored with a password."""

    def elsewhere(*_: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(ElsewhereError("not the leader", other.url))
        return future

    herder.put_connector = herder.patch_connector = elsewhere
    herder.configs["x"] = {"a.password": "s3cr3t", "name": "x"}
    return serve(around=Forwarding)


def test_the_leader_gets_the_secret_and_not_its_mask(client: Client, other: Other) -> None:
    shown = client.get("/connectors/x/config").json()
    assert shown["a.password"] == "[hidden]"
    assert client.put("/connectors/x/config", json=shown).status_code == 201
    client.patch("/connectors/x/config", json={"a.password": "[hidden]", "b": None})
    client.post("/connectors", json={"name": "y", "config": {"b": 1}, "initial_state": "paused"})
    assert other.asked == [
        ("PUT", "/connectors/x/config?forward=true", {"a.password": "s3cr3t", "name": "x"}),
        ("PATCH", "/connectors/x/config?forward=true", {"a.password": "s3cr3t", "b": None}),
        (
            "POST",
            "/connectors?forward=true",
            {"name": "y", "config": {"b": "1", "name": "y"}, "initial_state": "PAUSED"},
        ),
    ]


def test_what_a_leader_of_java_answers_shows_no_secret(client: Client, other: Other) -> None:
    told = {"name": "x", "config": {"a.password": "s3cr3t", "name": "x"}, "tasks": [], "type": "source"}
    other.answer = json.dumps(told).encode()
    for answer in (
        client.put("/connectors/x/config", json={"a.password": "[hidden]", "name": "x"}),
        client.patch("/connectors/x/config", json={"b": "1"}),
        client.post("/connectors", json={"name": "x", "config": {"a.password": "[hidden]"}}),
    ):
        assert answer.json() == {**told, "config": {"a.password": "[hidden]", "name": "x"}}
    other.answer = b"no JSON"
    assert client.put("/connectors/x/config", json={"b": "1"}).text == "no JSON"


def test_a_request_that_was_sent_on_twice_ends_here(client: Client, other: Other) -> None:
    assert client.put("/connectors/x/config?forward=false", json={"a": "1"}).status_code >= 400
    assert other.asked == []


def test_a_worker_that_hangs_keeps_nobody_else_waiting(serve, herder, other: Other) -> None:
    """Far more than the threads that an event loop has; and the end does not wait for them either."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as silent:

        def elsewhere(name: str, *_: Any, **__: Any) -> Future[Any]:
            hangs = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            raise ElsewhereError("not the leader", hangs if name == "hangs" else other.url)

        herder.put_connector = elsewhere
        app = serve(around=Forwarding)._transport.app

        async def ask() -> tuple[int, int]:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker:8083") as client:
                waiting = [asyncio.create_task(client.put("/connectors/hangs/config", json={})) for _ in range(63)]
                silent.settimeout(30)
                taken = [(await asyncio.to_thread(silent.accept))[0] for _ in waiting]
                answered = await client.put("/connectors/x/config", json={})
                waiting.append(asyncio.create_task(client.put("/connectors/hangs/config", json={})))
                taken.append((await asyncio.to_thread(silent.accept))[0])
                refused = await client.put("/connectors/x/config", json={})
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
                again = await client.put("/connectors/x/config", json={})
                assert again.status_code == 201
                for connection in taken:
                    connection.close()
                return answered.status_code, refused.status_code

        assert asyncio.run(ask()) == (201, 503)
