"""Another worker, as far as its answers go."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest


class Peer:
    """A server that keeps what it is sent, and answers with what it is told to.

    Attributes:
        answer: status, headers and body.
        seen: method, path, headers and body of each request.
    """

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, b"{}")
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                peer.seen.append((self.command, self.path, headers, body))
                status, given, content = peer.answer
                self.send_response(status)
                for name, value in given.items():
                    self.send_header(name, value)
                if "Content-Length" not in given and status != 204:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - names of the standard library

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
def peer() -> Iterator[Peer]:
    made = Peer()
    try:
        yield made
    finally:
        made.close()
