"""Guards the REST interface: no unauthenticated or unauthorised request passes, and changes are logged.

A change is logged in exactly one line: by the worker that carries it out. One that forwards a request logs only what
the other one does not: that it did not answer, or that it has no such log.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rest.body_room import BodyError, Room, again, body_error, whole_body
from rest.errors import error_answer
from rest.rows import Row
from rest.rules import SLASH, routed_path
from rest.security.access import CALLER, Caller, refusal
from rest.security.audit import AuditLine, AuditLog, StrangersLines, now
from rest.security.authentication import Authentication, LoginError
from rest.security.certificates import CERTIFICATE
from rest.security.files import WatchedFile
from rest.security.forwarded import AUDITED, HEADER, SIGNATURE, DisbelievedError, Forwarded, Vouch, Vouching
from rest.security.permissions import Need, need_of
from rest.security.roles import EVERYTHING, NOTHING, Identity, Rights, Roles

#: No path, and no method, is that long: what is longer is of somebody who wants to fill a disk.
_LONGEST: Final = 1_000


@dataclass
class _Asked:
    """One request."""

    id: str
    address: str
    need: Need
    caller: Caller
    forwarded: Forwarded | None = None
    login_failed: bool = False
    answered: bool = False
    status: int = 500
    audited_elsewhere: bool = False


class Security:
    """An ASGI application around another one.

    Args:
        app: the REST interface.
        authentication: None where there is only the audit log.
        roles: what is granted.
        audit: logs changes.
        vouching: None in standalone mode.
        open_paths: that anybody may GET.
        room: for bodies that have to prove that another worker sent them.
    """

    def __init__(
        self,
        app: ASGIApp,
        authentication: Authentication | None,
        roles: WatchedFile[Roles] | None,
        audit: AuditLog,
        vouching: Vouching | None,
        open_paths: frozenset[str],
        room: Room,
    ) -> None:
        self._app = app
        self._authentication = authentication
        self._roles = roles
        self._audit = audit
        self._strangers = StrangersLines(audit)
        self._vouching = vouching
        self._open = open_paths
        self._room = room
        self._disbelieved = Row(
            "A request that claims to be forwarded by another worker is refused: {why}",
            "Requests that other workers forward are accepted again. Refused:",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        need = need_of(scope["method"], routed_path(scope))
        address = scope["client"][0] if scope.get("client") else ""
        asked = _Asked(uuid.uuid4().hex, address, need, Caller(None, NOTHING, need.connector))
        send = self._watched(asked, scope, send)
        token = CALLER.set(asked.caller)
        try:
            receive = await self._see_who_sent_it_on(asked, scope, receive)
            refused = await self._refusal(asked, scope)
            if refused is None:
                asked.caller.vouch = self._vouch(asked)
                await self._app(scope, receive, send)
            else:
                await refused(scope, receive, send)
        except BodyError as error:
            await (await body_error(Request(scope), error))(scope, receive, send)
        except DisbelievedError as error:
            self._disbelieved.one(why=error)
            asked.caller.reason = f"not believed: {error}"
            await error_answer(error.status, f"Cannot complete request: {error}")(scope, receive, send)
        finally:
            CALLER.reset(token)
            if not asked.answered:
                self._write_down(asked, scope)

    async def _refusal(self, asked: _Asked, scope: Scope) -> ASGIApp | None:
        """The response instead of the application's, None when the caller may pass."""
        need, caller = asked.need, asked.caller
        if self._authentication is None:
            caller.rights = EVERYTHING
            return None
        if need.where == "workers" and self._vouching is not None:
            return None  # the herder checks the signature
        if scope["method"] in ("GET", "HEAD") and routed_path(scope) in self._open:
            return None
        try:
            caller.identity = await self._identify(self._authentication, asked, scope)
        except LoginError as error:
            caller.reason, asked.login_failed = error.reason, error.reason is not None
            answer = error_answer(error.status, str(error))
            if error.status == 401:
                for challenge in self._authentication.challenges:
                    answer.headers.append("WWW-Authenticate", challenge)
            if error.wait:
                answer.headers["Retry-After"] = str(math.ceil(error.wait))
            if error.claimed is not None:
                kind, _, name = error.claimed.partition(":")
                caller.identity = Identity("token" if kind == "token" else "user", name)
            return answer
        caller.rights = self._rights(caller.identity)
        if need.met_by(caller.rights):
            return None
        caller.reason = f"lacks {need}"
        return error_answer(403, refusal(caller.identity, need))

    async def _identify(self, authentication: Authentication, asked: _Asked, scope: Scope) -> Identity:
        forwarded = asked.forwarded
        own = any(name == b"authorization" for name, _ in scope["headers"])
        certificate = None if forwarded is None else forwarded.certificate
        if certificate is not None and not own and authentication.takes_certificates:
            return Identity("certificate", certificate)
        if forwarded is not None:  # the certificate of this connection is the other worker's
            scope = {**scope, CERTIFICATE: None}
        return await authentication.identify(scope, asked.address)

    def _rights(self, identity: Identity) -> Rights:
        return EVERYTHING if self._roles is None else self._roles.current().of(identity)

    async def _see_who_sent_it_on(self, asked: _Asked, scope: Scope, receive: Receive) -> Receive:
        """Take over from another worker whose request this is. Raises DisbelievedError, BodyError."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if self._vouching is None or HEADER not in headers or SIGNATURE not in headers:
            return receive
        self._vouching.look_at(headers[HEADER], headers[SIGNATURE])
        with self._room.body(scope, receive) as bounded:
            body = await whole_body(bounded)
        target = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        if scope["query_string"]:
            target += "?" + scope["query_string"].decode("latin-1")
        forwarded = self._vouching.check(headers[HEADER], headers[SIGNATURE], scope["method"], target, body)
        asked.forwarded, asked.id, asked.address = forwarded, forwarded.request, forwarded.address
        return again(body, receive)

    def _vouch(self, asked: _Asked) -> Vouch | None:
        if self._vouching is None:
            return None
        must = self._authentication is not None  # the audit log alone keeps no request from being sent on
        return self._vouching.vouch(asked.caller.identity, asked.address, asked.id, must=must)

    def _watched(self, asked: _Asked, scope: Scope, send: Send) -> Send:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                asked.status = message["status"]
                asked.audited_elsewhere = headers.get(AUDITED) == asked.id
                del headers[AUDITED]
                headers["X-Request-Id"] = asked.id
                if asked.forwarded is not None and asked.need.changes:
                    headers[AUDITED] = asked.id
                asked.answered = True
                self._write_down(asked, scope)  # whoever has the answer finds the line
            await send(message)

        return watched

    def _write_down(self, asked: _Asked, scope: Scope) -> None:
        if asked.audited_elsewhere or asked.status in (405, 429):
            return
        if not asked.need.changes and not asked.login_failed:
            return
        if asked.need.where == "workers" and asked.status not in (400, 401, 403):
            return  # what workers ask of each other follows from changes of users
        caller = asked.caller
        known = None if asked.login_failed else caller.identity
        line = AuditLine(
            time=now(),
            request=asked.id,
            user=None if caller.identity is None else str(caller.identity),
            method=None if known is None else known.method,
            address=asked.address,
            http=_short(scope["method"]),
            path=_short(routed_path(scope).replace(SLASH, "%2F")),
            status=asked.status,
            connector=None if caller.connector is None else _short(caller.connector),
            changed=caller.changed if asked.status < 400 else {},
            reason=None if caller.reason is None else _short(caller.reason),
            forwarded_by=None if asked.forwarded is None else asked.forwarded.worker,
        )
        if known is None and self._authentication is not None:
            self._strangers.write(line, login=asked.login_failed)
        else:
            self._audit.write(line)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
