"""Forwards a request to the worker that can carry it out: the group's leader, or the owner of a connector or task.

The herder says where a request belongs before anything is done for it. As in Kafka Connect it is forwarded at most
twice: to the leader as this worker knows it, and by that one to the leader as it knows it. `?forward=` says whether it
may be.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from fastapi import Request, Response

from connect.herder.errors import ElsewhereError
from connect.herder.herder import Herder
from connect.peers import PeerClient, PeerError
from connect.telemetry.spans import outgoing
from rest.errors import ApiError
from rest.security.access import Access
from rest.security.forwarded import AUDITED, HEADER, SIGNATURE

log = logging.getLogger("connect.rest")

_TIMEOUT_S = 90.0
#: Requests that wait for other workers at one time. One that hangs must not use this worker up.
_AT_ONCE = 64
#: The same of questions, of which a page has one for each worker.
_QUESTIONS_AT_ONCE = 256
_PASSED_ON = ("content-type", "accept", "authorization", "traceparent", "tracestate")
#: What is kept of the other worker's answer; this worker adds its own to it.
_KEPT = {"content-type", "www-authenticate", "retry-after", AUDITED}

T = TypeVar("T")


class AnsweredElsewhereError(Exception):
    """Another worker has carried the request out, or refused it: this is its response."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer)
        self.answer = answer


async def answered_elsewhere(_: Request, error: Exception) -> Response:
    """The response to return then."""
    assert isinstance(error, AnsweredElsewhereError)
    return error.answer


async def as_it_is(body: bytes) -> bytes:
    """A response without secrets, unchanged."""
    return body


class Forwarding:
    """Called before a request is carried out: returns where this worker should do it. For one event loop.

    Its methods raise:
        AnsweredElsewhereError: the request was forwarded.
        ElsewhereError: it was forwarded too often.
        ApiError: the other worker does not answer, or too many requests wait for one.
        HerderError: it is unknown where it belongs; there is no such connector or task; or it cannot be signed.

    Args:
        herder: knows where requests belong.
        access: signs on behalf of the caller.
        client: sends requests to other workers.
        scheme: of the address by which others reach this worker, and so of theirs: a pool speaks one.
    """

    def __init__(self, herder: Herder, access: Access, client: PeerClient, scheme: str = "http") -> None:
        self._herder = herder
        self._access = access
        self._client = client
        self._scheme = scheme
        self._waiting = 0
        self._questions = threading.Semaphore(_QUESTIONS_AT_ONCE)

    async def to_leader(
        self,
        request: Request,
        body: bytes | None = None,
        readable: Callable[[bytes], Awaitable[bytes]] = as_it_is,
        put_to: str | None = None,
    ) -> None:
        """For changes of configurations.

        Args:
            body: to forward, with secrets in place of masks: a Java leader does not know masks. None: unchanged.
            readable: masks the other worker's response for the caller.
            put_to: the path to which the body is put instead: for a request that a Java leader does not know.
        """
        await self._send_on(request, self._herder.leader_url(), body, readable, put_to)

    async def to_owner(self, request: Request, connector: str, task: int | None = None) -> None:
        """For operations on a connector or task where it runs."""
        await self._send_on(request, self._herder.owner_url(connector, task), None, as_it_is)

    async def ask(self, request: Request, worker: str, path: str, seconds: float) -> bytes:
        """The body of another worker's response to the caller of this one.

        Args:
            worker: its id.
            path: with the query.

        Raises:
            PeerError: it does not answer in this time, or refuses; or too many questions wait for answers.
            NoSessionKeyError: it cannot be asked on a user's behalf.
        """
        url = f"{self._scheme}://{worker}{path}"
        headers = self._headers(request, request.method, url, b"")
        if not self._questions.acquire(blocking=False):
            raise PeerError(f"Worker {worker} was not asked: too many questions wait for other workers.")

        def send() -> bytes:
            try:
                return self._client.send("GET", url, None, headers, seconds)
            finally:  # also where whoever asked has gone
                self._questions.release()

        return await in_thread(send)

    def _headers(self, request: Request, method: str, url: str, body: bytes) -> dict[str, str]:
        """Headers that name the caller, with proof for the other worker. Raises NoSessionKeyError."""
        sent = {
            name: value
            for name, value in request.headers.items()
            if name in _PASSED_ON or (name.startswith("x-connect-") and name not in (HEADER, SIGNATURE))  # for this one
        }
        _, _, target = url.partition("://")
        return sent | outgoing() | self._access.vouch(method, "/" + target.partition("/")[2], body)

    async def _send_on(
        self,
        request: Request,
        base: str | None,
        body: bytes | None,
        readable: Callable[[bytes], Awaitable[bytes]],
        put_to: str | None = None,
    ) -> None:
        if base is None:
            return
        method = request.method if put_to is None else "PUT"
        url = _next_hop(request, base, put_to)
        if body is None:
            body = await request.body()
        if self._waiting >= _AT_ONCE:
            raise ApiError(503, "Too many requests wait for another worker. Ask again in a moment.")
        self._waiting += 1
        try:
            headers = self._headers(request, method, url, body)
            if put_to is not None:
                headers["content-type"] = "application/json"
            status, answered, content = await in_thread(
                lambda: self._client.exchange(method, url, body or None, headers, _TIMEOUT_S)
            )
        except PeerError as error:
            log.warning("%s", error)
            raise ApiError(500, "IO Error trying to forward REST request: the other worker has no answer") from None
        finally:
            self._waiting -= 1
        answer = Response(await readable(content), status)
        for name, value in answered:
            if name.lower() == "location":
                answer.headers[name] = _of_this_worker(request, value)
            elif name.lower() in _KEPT:
                answer.raw_headers.append((name.encode("latin-1"), value.encode("latin-1")))
        raise AnsweredElsewhereError(answer)


def _of_this_worker(request: Request, location: str) -> str:
    """The same at the address that the client uses: the other worker's may be one that it does not reach."""
    return f"{request.base_url}{urlsplit(location).path.lstrip('/')}"


def _next_hop(request: Request, base: str, put_to: str | None = None) -> str:
    """Where to forward the request. Raises ElsewhereError when it was forwarded too often."""
    query = dict(request.query_params)
    forward = query.get("forward")
    if forward == "false":
        raise ElsewhereError
    # The first to send it on lets the next one do so once more: the leader may just have changed.
    query["forward"] = "true" if forward is None else "false"
    path = put_to or (request.scope.get("raw_path") or request.scope["path"].encode()).decode("latin-1")
    return f"{base.rstrip('/')}{path}?{urlencode(query)}"


async def in_thread(ask: Callable[[], T]) -> T:
    """Its result or error. The thread is its own: one that hangs blocks neither other requests nor the end."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[T] = loop.create_future()

    def give(result: T | None, error: Exception | None) -> None:
        if answered.cancelled():
            return
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(result)  # type: ignore[arg-type]  # None only where T is

    def run() -> None:
        result, error = None, None
        try:
            result = ask()
        except Exception as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop has ended
            loop.call_soon_threadsafe(give, result, error)

    threading.Thread(target=run, name="forward", daemon=True).start()
    return await answered
