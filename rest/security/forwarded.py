"""Tells the leader on whose behalf a request is forwarded to it, signed with the group's session key (KIP-507).

Passwords and tokens travel in their own header, and the leader checks them again. A certificate ends at the worker that
the client is connected to: that worker vouches for it. The client's address and the request's id are sent along for the
audit log.

    X-Connect-Forwarded:            base64({"certificate", "address", "request", "worker", "time"})
    X-Connect-Forwarded-Signature:  base64(HMAC-SHA-256(key, method, target, SHA-256 of the body, that header))

A request cannot be forwarded before the group has a session key. A wrong signature is refused with 409 while the leader
may have written another key just now, as the same request succeeds in a moment; with 403 otherwise. What cannot be
right is refused before the body is read.

The key is derived from the session key, so no signature of one kind is valid for the other. A signature is valid for a
minute, and once. Anybody who can read the config topic knows the session key: as in Kafka Connect that is the group's
own secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from connect.herder.errors import RebalanceError
from rest.security.roles import Identity

HEADER: Final = "x-connect-forwarded"
SIGNATURE: Final = "x-connect-forwarded-signature"
#: In the answer: the worker that acted has written the audit log's line.
AUDITED: Final = "x-connect-audited"

_LASTS_S: Final = 60.0
_SEEN: Final = 10_000
_MAC_BYTES: Final = 32


class Forwarded(msgspec.Struct):
    """The client of a forwarded request. `certificate` is a name, None for clients with a password or a token."""

    certificate: str | None
    address: str
    request: str
    worker: str
    time: float


class DisbelievedError(Exception):
    """A request is not believed to come from another worker; the message says why.

    Attributes:
        status: 409 where the same request may succeed in a moment, else 403.
    """

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class NoSessionKeyError(RebalanceError):
    """The group has no session key yet, so no request can be forwarded on a user's behalf."""

    def __init__(self) -> None:
        super().__init__("Cannot complete request: the group has no session key yet.")


class Vouch(Protocol):
    """Makes the headers of a forwarded request. Raises NoSessionKeyError."""

    def __call__(self, method: str, target: str, body: bytes) -> dict[str, str]:
        """The target is path and query."""


class Vouching:
    """Signs, and checks others' signatures.

    Args:
        session_key: the group's, None while there is none.
        worker: this one, for the audit log.
        clock: seconds since the epoch.
        settled: whether all workers have that session key; see `InternalRequests.key_settled`.
    """

    def __init__(
        self,
        session_key: Callable[[], bytes | None],
        worker: str,
        clock: Callable[[], float] = time.time,
        settled: Callable[[], bool] = lambda: True,
    ) -> None:
        self._session_key = session_key
        self._worker = worker
        self._clock = clock
        self._settled = settled
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def vouch(self, identity: Identity | None, address: str, request: str, *, must: bool = True) -> Vouch:
        """A function that signs on a user's behalf. Without a session key it signs nothing, unless it must."""

        def sign(method: str, target: str, body: bytes) -> dict[str, str]:
            key = self._session_key()
            if key is None and not must:
                return {}
            if key is None:
                raise NoSessionKeyError
            certificate = identity.name if identity is not None and identity.kind == "certificate" else None
            forwarded = Forwarded(certificate, address, request, self._worker, self._clock())
            header = base64.b64encode(msgspec.json.encode(forwarded)).decode()
            return {HEADER: header, SIGNATURE: base64.b64encode(_mac(key, method, target, body, header)).decode()}

        return sign

    def look_at(self, header: str, signature: str) -> Forwarded:
        """Check headers that claim to be of a worker of this group, before the signed body is read.

        Raises:
            DisbelievedError: they cannot be.
        """
        if self._session_key() is None:
            raise DisbelievedError("the group has no session key yet.", 409)
        try:
            if len(base64.b64decode(signature, validate=True)) != _MAC_BYTES:
                raise ValueError("of another length")
            forwarded = msgspec.json.decode(base64.b64decode(header), type=Forwarded)
        except (binascii.Error, ValueError) as error:
            raise DisbelievedError("its signature is malformed.") from error
        apart = abs(self._clock() - forwarded.time)
        if apart > _LASTS_S:
            raise DisbelievedError(f"it is {apart:.0f} s old, or the clocks of the workers are that far apart.", 409)
        return forwarded

    def check(self, header: str, signature: str, method: str, target: str, body: bytes) -> Forwarded:
        """The client that a worker of this group names.

        Raises:
            DisbelievedError: the request is not from a worker, too old, or was repeated.
        """
        forwarded = self.look_at(header, signature)
        key = self._session_key()
        if key is None:
            raise DisbelievedError("the group has no session key yet.", 409)
        right = _mac(key, method, target, body, header)
        if not hmac.compare_digest(base64.b64decode(signature), right):
            raise DisbelievedError("its signature is not one of this group.", 403 if self._settled() else 409)
        if right in self._seen:
            raise DisbelievedError("it was used before.")
        self._seen[right] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return forwarded


def _mac(session_key: bytes, method: str, target: str, body: bytes, header: str) -> bytes:
    key = hmac.digest(session_key, b"connect forwarded request 1", "sha256")
    parts = [method.encode(), target.encode("utf-8", "surrogateescape"), hashlib.sha256(body).digest(), header.encode()]
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.digest(key, framed, hashlib.sha256)
