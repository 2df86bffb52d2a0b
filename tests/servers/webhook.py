"""A server that takes lines of JSON by POST, as the target of a webhook sink."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Webhook(ThreadingHTTPServer):
    """Notes the values that are posted, and answers as the test wants.

    Attributes:
        values: what was posted and accepted.
        requests: how many values each accepted request had.
        unavailable: so many requests are answered with 503.
        bad: requests with this value are answered with 422.
        refused: how many requests were answered otherwise.
        redirect: where requests are redirected to.
        token: others are answered with 401.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.values: list[Any] = []
        self.requests: list[int] = []
        self.unavailable = 0
        self.refused = 0
        self.bad: Any = None
        self.redirect: str | None = None
        self.token: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook?team=7"

    def status_for(self, values: list[Any], authorization: str | None) -> int:
        """How a request is answered."""
        if self.redirect is not None:
            return 302
        if self.token is not None and authorization != f"Bearer {self.token}":
            return 401
        if self.unavailable:
            self.unavailable -= 1
            return 503
        return 422 if self.bad is not None and self.bad in values else 204


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        values = [json.loads(line) for line in body.splitlines()]
        status = self.server.status_for(values, self.headers["Authorization"]) if self.path == "/hook?team=7" else 404
        if status == 204:
            self.server.values += values
            self.server.requests.append(len(values))
        else:
            self.server.refused += 1
        self.send_response(status)
        if self.server.redirect is not None:
            self.send_header("Location", self.server.redirect)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def webhook() -> Iterator[Webhook]:
    """The server, as long as it is wanted."""
    with Webhook() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
