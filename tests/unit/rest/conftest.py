import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2 as httpx
import pytest

from connect.plugins import Plugins
from connect.settings.worker_keys import STANDALONE
from rest.app import create_app

from .fake_herder import FakeHerder
from .page_reader import CONFIG

LEAST = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "offset.storage.file.filename": "offsets",
}


class Client:
    """Asks an app, in an event loop of its own."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._runner = runner

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        return self._runner.run(self._request(method, url, options))

    def get(self, url: str, **options: Any) -> httpx.Response:
        return self.request("GET", url, **options)

    def put(self, url: str, **options: Any) -> httpx.Response:
        return self.request("PUT", url, **options)

    def post(self, url: str, **options: Any) -> httpx.Response:
        return self.request("POST", url, **options)

    def patch(self, url: str, **options: Any) -> httpx.Response:
        return self.request("PATCH", url, **options)

    def delete(self, url: str) -> httpx.Response:
        return self.request("DELETE", url)

    async def _request(self, method: str, url: str, options: dict[str, Any]) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://worker:8083") as client:
            return await client.request(method, url, **options)


Serve = Callable[..., Client]


@pytest.fixture
def herder() -> FakeHerder:
    return FakeHerder()


@pytest.fixture
def serve(herder: FakeHerder) -> Iterator[Serve]:
    """An app with these keys in the worker's configuration, and a client for it."""
    with asyncio.Runner() as runner:

        def make(
            settings: Mapping[str, str] | None = None, around: Callable[[Any], Any] = lambda app: app, **options: Any
        ) -> Client:
            raw = {**LEAST, **(settings or {})}
            app = create_app(herder, Plugins.discover(), STANDALONE.parse(raw), raw, **options)
            return Client(around(app), runner)

        yield make


@pytest.fixture
def client(serve: Serve) -> Client:
    return serve()


@pytest.fixture
def orders(herder):
    """A connector of that name is there."""
    herder.configs["orders"] = dict(CONFIG)
