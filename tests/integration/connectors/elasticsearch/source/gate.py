"""An HTTP proxy between a test's source and its cluster: it asks for a password, refuses, waits, changes answers."""

import base64
import http.client
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.servers.search_server import HOST, SearchServer

#: What a request (its method and path) is answered instead of by the cluster: status and body. None: by the cluster.
Instead = Callable[[str, str], tuple[int, Any] | None]


class Gate:
    """In front of a server, on a port of its own.

    Attributes:
        instead: see `Instead`.
        change: what becomes of an answer of the cluster that is JSON.
        seconds: how long each request waits.
        user: user and password that are asked for.
        asked: paths of all requests.
    """

    def __init__(self, server: SearchServer) -> None:
        self.instead: Instead = lambda method, path: None
        self.change: Callable[[str, Any], Any] | None = None
        self.seconds = 0.0
        self.user: tuple[str, str] | None = None
        self.asked: list[str] = []
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout: ClassVar[int] = 60

            def log_message(self, *_: Any) -> None: ...

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                gate.asked.append(self.path)
                time.sleep(gate.seconds)
                if gate.user and self.headers.get("Authorization") != _basic(*gate.user):
                    said = {"type": "security_exception", "reason": "unable to authenticate user"}
                    self._answer(401, json.dumps({"error": said, "status": 401}).encode())
                elif (told := gate.instead(self.command, self.path)) is not None:
                    self._answer(told[0], json.dumps(told[1]).encode())
                else:
                    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
                    kept = {name: self.headers[name] for name in ("Content-Type", "Accept") if self.headers[name]}
                    try:
                        connection.request(self.command, self.path, body or None, kept)
                        answer = connection.getresponse()
                        data, status = answer.read(), answer.status
                    except OSError:
                        data, status = b"{}", 502
                    connection.close()
                    if gate.change is not None and status == 200:
                        data = json.dumps(gate.change(self.path, json.loads(data))).encode()
                    self._answer(status, data)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any  # noqa: N815 - as http.server asks

            def _answer(self, status: int, data: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("X-Elastic-Product", "Elasticsearch")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None: ...  # who asked has gone

        self._server = Server((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
