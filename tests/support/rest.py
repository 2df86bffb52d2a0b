"""Requests to a worker's REST API, in tests, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Any, Final, NamedTuple

#: What `send`, `exchange` and `ask` raise when there is no answer.
NO_ANSWER: Final = (OSError, HTTPException)


class Reply(NamedTuple):
    """An answer as it came."""

    status: int
    headers: HTTPMessage
    content: bytes


class Answer(NamedTuple):
    """What a worker answered. The body is parsed where it is JSON, and None where there is none."""

    status: int
    body: Any


def send(
    connection: HTTPConnection, method: str, path: str, body: str | bytes | None, headers: Mapping[str, str]
) -> Reply:
    """Send one request over a connection, and close it."""
    with closing(connection):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())


def exchange(
    connection: HTTPConnection, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send one request over a connection, and close it. `body` is JSON, or bytes as they are."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = {**({} if data is None else {"Content-Type": "application/json"}), **(headers or {})}
    reply = send(connection, method, path, data, sent)
    return Answer(reply.status, parsed(reply.content.decode()) if reply.content else None)


def ask(
    port: int,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 100,
) -> Answer:
    """Send one request to a port of this machine. `body` is JSON, or bytes as they are."""
    return exchange(HTTPConnection("127.0.0.1", port, timeout=timeout), method, path, body, headers)


def answers(port: int, path: str = "/health") -> bool:
    """Whether a worker has a good answer at this path."""
    try:
        return ask(port, "GET", path, timeout=10).status == 200
    except NO_ANSWER:
        return False


def parsed(text: str) -> Any:
    """What a text says where it is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
