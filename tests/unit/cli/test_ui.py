"""`connect ui`: what it makes of answers that are none of Kafka Connect's."""

import asyncio
import socket
from typing import Any

import httpx2 as httpx
import pytest

from connect.cli._rest_client import AnswerError, RestClient
from connect.cli._ui_server import _app


@pytest.mark.parametrize(
    ("status", "said"), [(200, "The server is not Kafka Connect: it sends no JSON."), (302, "Found. Log in.")]
)
def test_the_page_of_a_login_is_a_refusal_in_words(monkeypatch: pytest.MonkeyPatch, status: int, said: str) -> None:
    """A proxy in front of the cluster sends it, or leads to it, once a login has ended."""

    def request(*_: Any) -> Any:
        raise AnswerError(status, said, "http://worker:8083")

    monkeypatch.setattr(RestClient, "request", request)

    async def ask(app: Any, path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.get(path)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = _app(RestClient("http://worker:8083"), listening)
        for path in ("/ui", "/ui/connectors", "/ui/connectors/orders", "/ui/cluster"):
            answer = asyncio.run(ask(app, path))
            assert answer.status_code == 502
            assert said in answer.text
