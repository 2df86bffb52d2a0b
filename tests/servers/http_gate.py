"""Stands before an HTTP server and does what networks and busy servers do: waits, refuses, loses answers."""

import json
import select
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """What a client gets. Status 0: its connection is cut."""

    status: int
    body: bytes
    headers: dict[str, str]


#: Gets a request's method, path and body, and how to have the server answer it.
Rule = Callable[[str, str, bytes, Callable[[], Answer]], Answer]


class HttpGate:
    """Listens on a port of its own, also as a proxy. Without a rule it lets everything through.

    Args:
        server: whose answers it hands on.
        all_headers: hand on every header, the host's name among them: signed requests need it.
        but: of all headers not those that begin so.

    Attributes:
        rule: what becomes of requests; may be changed at any time.
        seen: the headers of each request, names in lower case.
        most: how many requests there were at a time at most.
        connections: how many were made.
    """

    def __init__(self, server: str, *, all_headers: bool = False, but: str = " ") -> None:
        self.rule: Rule | None = None
        self.seen: list[dict[str, str]] = []
        self.most = 0
        self.connections = 0
        self._now = 0
        self._asked = threading.local()
        self._server = server
        self._all_headers = all_headers
        self._but = but
        self._lock = threading.Lock()
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):
                    return lambda: gate._answer(self)
                raise AttributeError(name)

            def setup(self) -> None:
                super().setup()
                gate.connections += 1

            def do_CONNECT(self) -> None:
                gate._tunnel(self)

            def log_message(self, *_: Any) -> None: ...

        self._listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._listening.daemon_threads = True
        self._thread = threading.Thread(target=self._listening.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._listening.server_address[1])

    @property
    def headers(self) -> dict[str, str]:
        """Those of the request that a rule is asked about, names in lower case."""
        asked: dict[str, str] = self._asked.headers
        return asked

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown()
        self._listening.server_close()
        self._thread.join()

    def _tunnel(self, handler: BaseHTTPRequestHandler) -> None:
        """What a proxy does for https."""
        self.seen.append({name.lower(): value for name, value in handler.headers.items()})
        host, _, port = handler.path.rpartition(":")
        with socket.create_connection((host, int(port)), _TUNNEL_S) as server:
            handler.send_response(200)
            handler.end_headers()
            ends = {handler.connection: server, server: handler.connection}
            while ready := select.select(list(ends), [], [], _TUNNEL_S)[0]:
                for end in ready:
                    data = end.recv(1 << 16)
                    if not data:
                        handler.close_connection = True
                        return
                    ends[end].sendall(data)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        parts = urlsplit(handler.path)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._asked.headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.seen.append(self.headers)
            self._now += 1
            self.most = max(self.most, self._now)

        def forward() -> Answer:
            kept = {name: value for name, value in handler.headers.items() if self._hands_on(name, _KEPT)}
            if self._all_headers and "content-type" not in self.headers:
                kept["Content-Type"] = "application/octet-stream"  # else urllib says it is a form
            asked = urllib.request.Request(self._server + path, body or None, kept, method=handler.command)
            try:
                with urllib.request.urlopen(asked, timeout=60) as found:
                    return Answer(found.status, found.read(), dict(found.headers))
            except urllib.error.HTTPError as error:
                return Answer(error.code, error.read(), dict(error.headers))

        try:
            rule = self.rule
            answer = forward() if rule is None else rule(handler.command, path, body, forward)
        finally:
            with self._lock:
                self._now -= 1
        if not answer.status:
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            if self._hands_on(name, _ANSWERED):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(answer.body)

    def _hands_on(self, header: str, kept: Collection[str]) -> bool:
        name = header.lower()
        if self._all_headers:
            return name not in _OF_A_CONNECTION and not name.startswith(self._but)
        return name in kept


_TUNNEL_S = 30
_KEPT = {"content-type", "accept", "authorization", "content-encoding", "accept-encoding"}
_ANSWERED = {"content-type", "x-elastic-product", "content-encoding"}
_OF_A_CONNECTION = {
    *("connection", "content-length", "expect", "keep-alive", "transfer-encoding"),
    *("proxy-authorization", "proxy-connection"),
    *("date", "server"),  # the gate gives its own
}


def said(status: int, kind: str, reason: str) -> Answer:
    """An answer as the servers give it."""
    body = {"error": {"type": kind, "reason": reason}, "status": status}
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
