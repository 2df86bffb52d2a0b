"""A server in front of a registry: with TLS and a login as registries in earnest have them, and with GUIDs."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Front:
    """What it does and what it saw.

    Attributes:
        registry: where it asks itself.
        authorization: the header that it wants, if any.
        guids: whether it knows schemas by GUIDs, as registries from Confluent Platform 8 on.
        guid: which one a schema has.
        failures: how many requests it still answers with 503.
        seen: method and path of each request that it let through.
    """

    registry: str
    authorization: str | None = None
    guids: bool = False
    failures: int = 0
    seen: list[str] = field(default_factory=list)
    url: str = ""
    guid: Callable[[int], str] = lambda number: str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


@contextmanager
def running(front: Front, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Front]:
    """Serve for as long as the block runs; `front.url` is where."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _handler(front))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    front.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(front: Front) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes | None) -> None:
            if front.authorization is not None and self.headers.get("Authorization") != front.authorization:
                self._send(401, b'{"error_code":401,"message":"Unauthorized"}')
                return
            if front.failures:
                front.failures -= 1
                self._send(503, b"busy")
                return
            front.seen.append(f"{self.command} {self.path}")
            self._send(*self._ask(self.path, body))

        def _ask(self, path: str, body: bytes | None) -> tuple[int, bytes]:
            if front.guids and path.startswith("/schemas/guids/"):
                wanted = path.rpartition("/")[2]
                number = next((each for each in range(1, 500) if front.guid(each) == wanted), 0)
                path = f"/schemas/ids/{number}"
            request = urllib.request.Request(front.registry + path, data=body, method=self.command)
            request.add_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    status, content = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()
            if front.guids:
                found = json.loads(content)
                if isinstance(found, dict) and "id" in found:
                    content = json.dumps({**found, "guid": front.guid(found["id"])}).encode()
            return status, content

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Tests read what they need from `seen`."""

    return Handler
