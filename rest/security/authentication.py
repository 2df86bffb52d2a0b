"""Identifies the caller: by HTTP Basic (RFC 7617), a bearer token (RFC 6750), or the certificate of the connection."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final

from starlette.types import Scope

from rest.security.attempts import Attempts
from rest.security.certificates import CERTIFICATE, CertificateNames
from rest.security.files import WatchedFile
from rest.security.roles import Identity
from rest.security.tokens import Tokens
from rest.security.users import Users

log = logging.getLogger("connect.rest")

_REMEMBERED: Final = 1_000
#: Passwords that are checked at one time: each takes 32 MiB and some tenths of a second of a core.
_CHECKED_AT_ONCE: Final = 2
_WAITING: Final = 32
_SAY_EVERY_S: Final = 30.0


class LoginError(Exception):
    """The caller is not authenticated. The message is for the client; the same whatever was wrong.

    Attributes:
        status: 401; 429 after too many failures; 503 when too many passwords wait to be checked.
        reason: for the audit log; None without an attempt.
        claimed: the user that was named, if it exists.
        wait: seconds to wait before the next attempt.
    """

    def __init__(
        self, status: int, message: str, reason: str | None = None, claimed: str | None = None, wait: float = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.claimed = claimed
        self.wait = wait


class Authentication:
    """For one event loop.

    Args:
        users: with their passwords; None where Basic is off.
        tokens: None where Bearer is off.
        certificates: names their owners; None where certificates do not count.
    """

    def __init__(
        self,
        users: WatchedFile[Users] | None,
        tokens: WatchedFile[Tokens] | None,
        certificates: CertificateNames | None,
    ) -> None:
        self._users = users
        self._tokens = tokens
        self._certificates = certificates
        self._attempts = Attempts()
        # A password that was right is recognised while the file does not change. The key dies with the process.
        self._key = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, Identity] = OrderedDict()
        self._known_of: Users | None = None
        self._checking: dict[bytes, asyncio.Task[bool]] = {}
        self._say_again_at = 0.0
        self._threads = ThreadPoolExecutor(_CHECKED_AT_ONCE, thread_name_prefix="password")

    @property
    def challenges(self) -> list[str]:
        """The value of WWW-Authenticate."""
        found = []
        if self._users is not None:
            found.append('Basic realm="Kafka Connect", charset="UTF-8"')
        if self._tokens is not None:
            found.append('Bearer realm="Kafka Connect"')
        return found or ['ClientCertificate realm="Kafka Connect"']

    @property
    def takes_certificates(self) -> bool:
        """Whether a certificate counts."""
        return self._certificates is not None

    async def identify(self, scope: Scope, address: str) -> Identity:
        """The sender of a request from an address. The request's headers count before the connection's certificate.

        Raises:
            LoginError: it is not authenticated.
        """
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        if not sent:
            return self._by_certificate(scope)
        scheme, _, credentials = sent[0].decode("latin-1").strip().partition(" ")
        if len(sent) == 1 and scheme.lower() == "basic" and self._users is not None:
            return await self._by_password(self._users.current(), credentials.strip(), address)
        if len(sent) == 1 and scheme.lower() == "bearer" and self._tokens is not None:
            return self._by_token(self._tokens.current(), credentials.strip(), address)
        raise self._failed(address, f"credentials of the kind {_kind(scheme)} are not accepted")

    def _by_certificate(self, scope: Scope) -> Identity:
        certificate = scope.get(CERTIFICATE)
        if self._certificates is None or not certificate:
            raise LoginError(401, "This worker needs a login.")
        name = self._certificates.name(certificate)
        if name is None:
            raise LoginError(401, _WRONG, "no rule names the owner of the certificate")
        return Identity("certificate", name)

    def _by_token(self, tokens: Tokens, secret: str, address: str) -> Identity:
        token = tokens.find(secret)
        if token is None:
            raise self._failed(address, "unknown token")
        if token.expired(datetime.now(UTC)):
            raise self._failed(address, "expired token", f"token:{token.name}")
        return Identity("token", token.name)

    async def _by_password(self, users: Users, credentials: str, address: str) -> Identity:
        try:
            name, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            name = colon = password = ""
        if not colon:
            raise self._failed(address, "malformed credentials")
        if self._known_of is not users:
            self._known.clear()
            self._known_of = users
        place = hmac.digest(self._key, credentials.encode(), "sha256")
        if known := self._known.get(place):
            self._known.move_to_end(place)
            return known
        claimed = f"user:{name}" if name in users.by_name else None
        if await self._matches(place, users, name, password, address, claimed):
            identity = Identity("user", name)
            if self._known_of is users:  # else the file changed meanwhile
                self._known[place] = identity
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            return identity
        raise LoginError(401, _WRONG, "wrong password" if claimed else "unknown user", claimed)

    async def _matches(
        self, place: bytes, users: Users, name: str, password: str, address: str, claimed: str | None
    ) -> bool:
        """Whether it is the user's password. Concurrent requests with the same one share a check."""
        check = self._checking.get(place)
        if check is None:
            if not self._attempts.take(address):
                raise self._too_many(address, claimed)
            if len(self._checking) >= _WAITING:
                self._attempts.give_back(address)
                raise LoginError(503, "Too many passwords wait to be checked. Ask again in a moment.", wait=1)
            check = self._checking[place] = asyncio.ensure_future(self._check(users, name, password, address))
            check.add_done_callback(lambda _: self._checking.pop(place, None))
        return await asyncio.shield(check)

    async def _check(self, users: Users, name: str, password: str, address: str) -> bool:
        stored = users.find(name)
        right = await asyncio.get_running_loop().run_in_executor(self._threads, stored.matches, password)
        if right and name in users.by_name:
            self._attempts.give_back(address)
            return True
        return False

    def _failed(self, address: str, reason: str, claimed: str | None = None) -> LoginError:
        if not self._attempts.take(address):
            return self._too_many(address, claimed)
        return LoginError(401, _WRONG, reason, claimed)

    def _too_many(self, address: str, claimed: str | None) -> LoginError:
        if time.monotonic() >= self._say_again_at:
            self._say_again_at = time.monotonic() + _SAY_EVERY_S
            log.warning("Too many logins from %s failed; the worker does not check further ones.", address)
        wait = self._attempts.wait(address)
        return LoginError(429, "Too many logins failed. Wait, and ask again.", "too many failures", claimed, wait)


_WRONG: Final = "These credentials are wrong."


def _kind(scheme: str) -> str:
    return scheme.lower() if scheme.lower() in {"basic", "bearer", "digest", "negotiate"} else "unknown"
