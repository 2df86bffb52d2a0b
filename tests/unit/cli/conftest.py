"""A small server that answers like a worker, for what a real one does rarely."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """Give `answers` a status and a JSON value (or text) for "GET /connectors"; a list of them is used up in turn."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        self.asked.append(asked)
        found = self.answers.get(f"{asked.method} {asked.path.partition('?')[0]}", (404, {"message": "Not Found"}))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        status, value = found
        return status, b"" if value is None else value.encode() if isinstance(value, str) else json.dumps(
            value
        ).encode()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """Starts a server, with TLS if it gets a context. What the environment says of clusters is taken away."""
    for name in ("CONNECT_URL", "CONNECT_TOKEN", "CONNECT_AUTH"):
        monkeypatch.delenv(name, raising=False)
    servers: list[ThreadingHTTPServer] = []

    def start(context: ssl.SSLContext | None = None) -> Server:
        class Handler(BaseHTTPRequestHandler):
            def _handle(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(self.command, self.path, dict(self.headers), json.loads(data) if data else None)
                status, content = told.answer(asked)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815 -- http.server calls them so

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        told = Server(f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return told

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    """The one that commands ask unless told otherwise."""
    started = serve()
    monkeypatch.setenv("CONNECT_URL", started.url)
    return started
