"""`connect ui`: what it makes of answers that are none of Kafka Connect's."""

import asyncio
import json
import socket
from typing import Any

import httpx2 as httpx
import pytest

from connect.cli import main
from connect.cli._rest_client import AnswerError, RestClient
from connect.cli._statuses import measured_of
from connect.cli._ui_server import _app


async def ask(app: Any, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.get(path)


@pytest.mark.parametrize(
    ("status", "said"), [(200, "The server is not Kafka Connect: it sends no JSON."), (302, "Found. Log in.")]
)
def test_the_page_of_a_login_is_a_refusal_in_words(monkeypatch: pytest.MonkeyPatch, status: int, said: str) -> None:
    """A proxy in front of the cluster sends it, or leads to it, once a login has ended."""

    def request(*_: Any, **__: Any) -> Any:
        raise AnswerError(status, said, "http://worker:8083")

    monkeypatch.setattr(RestClient, "request", request)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = _app(RestClient("http://worker:8083"), listening)
        for path in ("/ui", "/ui/connectors", "/ui/connectors/orders", "/ui/cluster"):
            answer = asyncio.run(ask(app, path))
            assert answer.status_code == 502
            assert said in answer.text


def test_a_program_is_told_the_page_in_json(
    server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers["GET /"] = (200, {"version": "4.3.1", "commit": "connect-runtime-0.3.0", "kafka_cluster_id": "x"})
    ports: list[int] = []

    def serve(_: RestClient, listening: socket.socket) -> int:
        ports.append(listening.getsockname()[1])
        listening.close()
        return 0

    monkeypatch.setattr("connect.cli._ui_server.serve", serve)
    assert main(["ui", "--json", "--port", "0", "--url", server.url]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": f"http://localhost:{ports[0]}/ui", "cluster": server.url}


@pytest.mark.parametrize(("commit", "asked"), [("7c2a3b1", 0), ("connect-runtime-0.3.0", 3)])
def test_a_worker_of_java_is_not_asked_for_figures(server: Any, commit: str, asked: int) -> None:
    """It would log a line for each connector, every second as long as a page is open."""
    state = {"state": "RUNNING", "worker_id": "w:1"}
    info = {"name": "orders", "type": "sink", "config": {"connector.class": "x.Y"}, "tasks": []}
    status = {"name": "orders", "type": "sink", "connector": state, "tasks": []}
    server.answers |= {
        "GET /": (200, {"version": "4.3.1", "commit": commit, "kafka_cluster_id": "x"}),
        "GET /connectors": (200, {"orders": {"status": status, "info": info}}),
        "GET /connectors/orders": (200, info),
        "GET /connectors/orders/status": (200, status),
    }
    client = RestClient(server.url)
    client.is_of_java()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = _app(client, listening)
        for path in ("/ui", "/ui/connectors", "/ui/connectors/orders"):
            answer = asyncio.run(ask(app, path))
            assert answer.status_code == 200
            assert "orders" in answer.text or path == "/ui"
    measured_of(client)
    figures = [one.path for one in server.asked if "expand=metrics" in one.path or "timeseries" in one.path]
    assert len([path for path in figures if "expand" in path]) == (asked and asked + 1)
    assert [one.path for one in server.asked].count("/") == 1
