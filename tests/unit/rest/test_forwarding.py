"""What another worker has to do is sent on to it, with stored secrets in the place of masks."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx2 as httpx
import pytest

from connect.herder.errors import ElsewhereError, ForbiddenError
from connect.peers import PeerClient
from connect.storage.config_history import ConfigVersion

from .conftest import Client


class Other(HTTPServer):
    """Another worker: keeps what it is asked, and answers 201."""

    answer = b"{}"
    location = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Other

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.asked.append((self.command, self.path, json.loads(body or b"null")))
        self.send_response(201)
        self.send_header("Content-Length", str(len(self.server.answer)))
        if self.server.location:
            self.send_header("Location", self.server.location)
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
    herder.leader = other.url
    herder.configs["x"] = {"a.password": "s3cr3t", "name": "x"}
    return serve()


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


def test_a_location_is_one_that_the_client_reaches(client: Client, other: Other) -> None:
    """As in Kafka Connect: the leader's own address may be one of the workers' network alone."""
    other.location = "http://leader.internal:8083/connectors/a%2Fb"
    made = client.post("/connectors", json={"name": "a/b", "config": {"b": "1"}})
    assert (made.status_code, made.headers["location"]) == (201, "http://worker:8083/connectors/a%2Fb")


def test_the_leader_of_a_restored_version_need_not_know_histories(client: Client, herder, other: Other) -> None:
    herder.versions = [ConfigVersion("x", 4, {"a.password": "old", "name": "x"})]
    other.answer = b'{"name":"x","config":{"a.password":"old","name":"x"},"tasks":[],"type":"source"}'
    answer = client.post("/connectors/x/history/4/restore")
    assert (answer.status_code, answer.json()["config"]) == (201, {"a.password": "[hidden]", "name": "x"})
    assert other.asked == [("PUT", "/connectors/x/config?forward=true", {"a.password": "old", "name": "x"})]


CONFLICT = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


def test_a_request_that_was_sent_on_twice_ends_here(client: Client, other: Other) -> None:
    answer = client.put("/connectors/x/config?forward=false", json={"a": "1"})
    assert (answer.status_code, answer.json()["message"]) == (409, CONFLICT)
    assert other.asked == []


def test_a_request_goes_on_once_more_and_before_anything_is_done_for_it(client: Client, herder, other: Other) -> None:
    assert client.put("/connectors/x/pause").status_code == 201
    assert client.post("/connectors/x/restart?includeTasks=true&forward=true").status_code == 201
    assert other.asked == [
        ("PUT", "/connectors/x/pause?forward=true", None),
        ("POST", "/connectors/x/restart?includeTasks=true&forward=false", None),
    ]
    assert herder.asked == []


def test_a_connector_or_a_task_alone_is_restarted_where_it_runs(client: Client, herder, other: Other) -> None:
    owners = {("x", None): other.url, ("x", 1): None}
    herder.leader = "http://127.0.0.1:1/"
    herder.owner_url = lambda name, task=None: owners[name, task]
    assert client.post("/connectors/x/restart").status_code == 201
    assert client.post("/connectors/x/tasks/1/restart").status_code == 204
    assert other.asked == [("POST", "/connectors/x/restart?forward=true", None)]
    assert herder.asked == [("restart", "x", 1)]


def test_a_group_that_changes_in_between_is_a_conflict_as_in_kafka_connect(serve, herder) -> None:
    def pause(_: str) -> None:
        raise ElsewhereError

    herder.pause = pause
    answer = serve().put("/connectors/x/pause")
    assert (answer.status_code, answer.json()["message"]) == (409, CONFLICT)


def test_what_is_said_to_be_of_a_worker_is_looked_at_before_it_goes_on(serve, herder, other: Other) -> None:
    class Workers:
        peers = PeerClient()

        def check_headers(self, _: Any) -> None:
            pass

        def check_signature(self, body: bytes, _: Any) -> None:
            if body != b"[]":
                raise ForbiddenError("Internal request contained invalid signature.")

    herder.leader = other.url
    client = serve(requests_of_workers=Workers())
    assert client.post("/connectors/x/tasks", json=[{}]).status_code == 403
    assert other.asked == []
    assert client.post("/connectors/x/tasks", json=[]).status_code == 201
    assert other.asked == [("POST", "/connectors/x/tasks?forward=true", [])]


def test_a_worker_that_hangs_keeps_nobody_else_waiting(serve, herder, other: Other) -> None:
    """Far more than the threads that an event loop has; and the end does not wait for them either."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as silent:
        hangs = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        leaders = iter([*[hangs] * 63, other.url, hangs, other.url, other.url])
        herder.leader_url = lambda: next(leaders)
        app = serve()._transport.app

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
