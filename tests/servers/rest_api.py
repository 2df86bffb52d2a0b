"""A REST API on a socket of this machine: pages, logins, rate limits, and all that goes wrong with them.

Records come by pages, in the order in which they were put. How the next page is named is in the path: `/link`, `/next`,
`/cursor`, `/page`, `/offset`; by POST `/search`; all at once at `/all`, as lines at `/lines`. The parameter `since`
leaves out what is older. `/token` gives tokens. Other paths take whatever is sent to them.
"""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

#: An answer that never comes, and one whose connection is closed in its middle.
HANG = "hang"
CUT = "cut"


@dataclass
class Seen:
    """A request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def values(self) -> list[Any]:
        """The lines of the body, from JSON."""
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass
class Answer:
    """What is answered, whatever was asked."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class RestApi(ThreadingHTTPServer):
    """See above.

    Attributes:
        items: the records.
        field: of them, what `since` is about.
        size: of a page.
        strictly: whether `since` leaves out what is as old, too.
        authorization: the header without which the answer is 401; None lets everybody in.
        tokens: how many were given; only the newest is good.
        by_token: whether the newest token is what lets in.
        token_life: in seconds, as it is told.
        script: answers of the next requests to anything but `/token`: an Answer, HANG, CUT, or None for the usual one.
        decide: the status for a request with a body; None: 204.
        requests: all there were, with an answer or without.
        accepted: those with a body that were answered with 2xx.
        pause: seconds before each answer.
        connections: how many there were.
        most_under_way: how many requests there were at a time.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.items: list[Any] = []
        self.size = 10
        self.strictly = False
        self.field = "at"
        self.authorization: str | None = None
        self.by_token = False
        self.tokens = 0
        self.token_life: float | None = 3600
        self.script: list[Answer | str | None] = []
        self.decide: Callable[[Seen], int] = lambda _: 204
        self.requests: list[Seen] = []
        self.accepted: list[Seen] = []
        self.pause = 0.0
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.connections = 0
        self.under_way = self.most_under_way = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def values(self) -> list[Any]:
        """What was accepted, from lines of JSON."""
        with self.lock:
            return [value for seen in self.accepted for value in seen.values]

    def lets_in(self, authorization: str | None) -> bool:
        wanted = f"Bearer token-{self.tokens}" if self.by_token else self.authorization
        return wanted is None or authorization == wanted

    def page(self, seen: Seen) -> tuple[int, dict[str, str], bytes]:
        """The answer to a question for records."""
        asked: dict[str, Any] = {**seen.query, **(json.loads(seen.body) if seen.body else {})}
        found = self.items
        if "since" in asked:
            since = type(found[0][self.field])(asked["since"]) if found else 0
            found = [
                each for each in found if each[self.field] > since or (each[self.field] == since and not self.strictly)
            ]
        style = seen.path.strip("/").partition("/")[0]
        if style == "all":
            return 200, {}, json.dumps(found).encode()
        if style == "lines":
            return (
                200,
                {"Content-Type": "application/x-ndjson"},
                b"".join(json.dumps(e).encode() + b"\n" for e in found),
            )
        size = int(asked.get("limit", self.size))
        start = {
            "page": lambda: (int(asked.get("page", 1)) - 1) * size,
            "offset": lambda: int(asked.get("offset", 0)),
        }.get(style, lambda: int(str(asked.get("cursor", "c0"))[1:]))()
        part, more = found[start : start + size], start + size < len(found)
        kept = "".join(f"&{name}={value}" for name, value in seen.query.items() if name != "cursor")
        following = f"{seen.path}?cursor=c{start + size}{kept}"
        if style == "link":
            other = '<https://elsewhere.example/>; rel="first"; title="a, \\"b\\""'
            headers = {"Link": f'{other}, <{following}>; rel="next"' if more else other}
            return 200, headers, json.dumps(part).encode()
        meta: dict[str, Any] = {}
        if style == "next":
            meta = {"next": self.url + following if more else None}
        elif style in {"cursor", "search"}:
            meta = {"cursor": f"c{start + size}" if more else ""}
        return 200, {}, json.dumps({"data": {"items": part}, "meta": meta}).encode()

    def close(self) -> None:
        self.released.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: RestApi

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def _do(self) -> None:
        server = self.server
        parts = urlsplit(self.path)
        length = int(self.headers["Content-Length"] or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # whoever sent it was killed meanwhile
            self.close_connection = True
            return
        seen = Seen(
            self.command,
            parts.path,
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            {name.lower(): ", ".join(self.headers.get_all(name)) for name in self.headers},
            body,
        )
        with server.lock:
            server.requests.append(seen)
            server.under_way += 1
            server.most_under_way = max(server.most_under_way, server.under_way)
            said = server.script.pop(0) if server.script and parts.path != "/token" else None
        try:
            if server.pause:
                time.sleep(server.pause)
            if said == HANG:
                server.released.wait(60)
            if said in (HANG, CUT):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[")
                self.close_connection = True
                return
            self._say(*(self._usual(seen) if said is None else (said.status, said.headers, said.body)))
        finally:
            with server.lock:
                server.under_way -= 1

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _do  # noqa: N815

    def _usual(self, seen: Seen) -> tuple[int, Mapping[str, str], bytes]:
        server = self.server
        if seen.path == "/token":
            return self._token(seen)
        if not server.lets_in(self.headers["Authorization"] or self.headers["X-API-Key"]):
            return 401, {}, b'{"error":"who are you, ' + (self.headers["Authorization"] or "").encode() + b'?"}'
        if seen.method == "GET" or seen.path == "/search":
            return server.page(seen)
        status = server.decide(seen)
        if 200 <= status < 300:
            with server.lock:
                server.accepted.append(seen)
        return status, {}, b"" if status == 204 else b'{"error":"so it is"}'

    def _token(self, seen: Seen) -> tuple[int, Mapping[str, str], bytes]:
        form = dict(parse_qsl(seen.body.decode()))
        login = "Basic " + b64encode(b"me:s3cret").decode()
        if form.get("client_secret") != "s3cret" and self.headers["Authorization"] != login:
            return 401, {}, b"{}"
        with self.server.lock:
            self.server.tokens += 1
            told: dict[str, Any] = {"access_token": f"token-{self.server.tokens}", "token_type": "bearer"}
        if self.server.token_life is not None:
            told["expires_in"] = self.server.token_life
        return 200, {}, json.dumps(told).encode()

    def _say(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            pass


@contextmanager
def rest_api(port: int = 0) -> Iterator[RestApi]:
    """The server, as long as it is wanted."""
    server = RestApi(port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
