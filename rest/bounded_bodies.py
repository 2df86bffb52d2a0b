"""Limits the memory of request bodies, and who may send one.

Requests between workers have no user: a signature over the body proves their origin. So before such a body is read its
headers are checked, and it takes room that no user's request needs.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from connect.herder.errors import HerderError
from rest.body_room import MOST_BYTES, BodyError, Room, body_error
from rest.errors import error_answer
from rest.internal_requests import InternalRequests
from rest.rules import routed_path
from rest.security.permissions import need_of

#: For the bodies of /admin, where that has listeners of its own.
_ADMIN_BYTES: Final = 2**20


class Rooms:
    """Where request bodies are kept.

    Attributes:
        users: those of authenticated users; of everybody, without authentication.
        workers: those that claim to come from a worker of the group. Anybody may claim so.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.users = Room(most)
        self.workers = Room(most)

    @classmethod
    def of(cls, parts: frozenset[str]) -> Rooms:
        """For an application with these parts of the interface."""
        return cls(MOST_BYTES if "connectors" in parts else _ADMIN_BYTES)


class BoundedBodies:
    """An ASGI application around the REST interface, behind the login.

    Args:
        app: the interface.
        rooms: see there.
        workers: checks requests between workers; None in standalone mode.
    """

    def __init__(self, app: ASGIApp, rooms: Rooms, workers: InternalRequests | None) -> None:
        self._app = app
        self._rooms = rooms
        self._workers = workers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        room = self._rooms.users
        if self._workers is not None and need_of(scope["method"], routed_path(scope)).where == "workers":
            room = self._rooms.workers
            try:
                self._workers.check_headers(Headers(scope=scope))
            except HerderError as error:
                await error_answer(error.status, str(error))(scope, receive, send)
                return
        with room.body(scope, receive) as bounded:
            try:
                await self._app(scope, bounded, send)
            except BodyError as error:  # the body is read before anything is answered
                await (await body_error(Request(scope), error))(scope, receive, send)
