"""Looks at the headers of every request before anybody else does, the login included.

For whom it is (`rest.hosts`), whose page sent it (`rest.origins`), and for whom a proxy did (`rest.proxies`).
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from rest.errors import error_answer
from rest.hosts import Hosts
from rest.origins import Origins
from rest.proxies import Proxies
from rest.rows import Row


class Edge:
    """An ASGI application around the REST interface."""

    def __init__(self, app: ASGIApp, hosts: Hosts, origins: Origins, proxies: Proxies) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._proxies = proxies
        self._refused = Row("A request is refused: {why}", "No such requests any more. Refused for Host or Origin:")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The name that the browser used, not what it may say that a proxy was asked for.
        if reason := self._hosts.refusal(scope):
            await self._refuse(421, reason, scope, receive, send)
            return
        scope = self._proxies.seen_through(scope)
        if reason := self._origins.refusal(scope):
            await self._refuse(403, reason, scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _refuse(self, status: int, reason: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._refused.one(why=reason)
        await error_answer(status, reason)(scope, receive, send)
