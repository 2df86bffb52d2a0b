"""Logins of a REST API: what a request carries to say who asks.

For example:

    RestClient("https://shop.example", login=bearer(options.token.reveal()))
    RestClient("https://shop.example", login=ClientCredentials("https://login.example/token", "connect", secret))

A class of a user's own, see `credentials_provider`, gives one too: HeaderLogin("Authorization", provider.credentials).
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from connect.errors import ConnectError
from connect.http import NoAnswerError, basic, exchange, machine_proxy, words
from connect.kit.failures import PASSING, RestError, origin

#: Of a token's life that is over when another is asked for, and the seconds before its end if that is sooner.
_RENEW: Final = 0.8
_BEFORE_S: Final = 60.0
_MOST_BYTES: Final = 1 << 20


class Login(Protocol):
    """A login. Thread-safe."""

    def headers(self) -> Mapping[str, str]:
        """The headers for the next request. May ask another server; raises RestError where that does not answer."""

    def refused(self, headers: Mapping[str, str]) -> bool:
        """A request with these headers got 401. Whether to send it once more, with new headers."""


class HeaderLogin:
    """A header with a secret in it.

    Args:
        name: of the header.
        value: the value, or a function that returns it for each request; without blanks around it.
    """

    def __init__(self, name: str, value: str | Callable[[], str]) -> None:
        self._name = name
        self._value = value

    def headers(self) -> Mapping[str, str]:
        """See `Login`."""
        # A file with a token mostly ends with a line feed.
        return {self._name: (self._value if isinstance(self._value, str) else self._value()).strip()}

    def refused(self, headers: Mapping[str, str]) -> bool:
        """See `Login`."""
        return not isinstance(self._value, str) and self.headers() != headers


def bearer(token: str) -> HeaderLogin:
    """A bearer token (RFC 6750)."""
    return HeaderLogin("Authorization", f"Bearer {token}")


def user_and_password(user: str, password: str) -> HeaderLogin:
    """Basic authentication (RFC 7617)."""
    return HeaderLogin("Authorization", basic(f"{user}:{password}"))


class ClientCredentials:
    """A token from an authorization server, by client id and secret (RFC 6749, 4.4).

    It is requested before the first request, again before it expires, and once when a request gets 401.

    Args:
        url: of the token endpoint.
        client_id, client_secret: of the client.
        scope: of the token; None for the server's default.
        in_body: whether id and secret are in the form, and not in the header Authorization.
        form: further fields of the form, or replacements.
        names: the server's names of `grant_type`, `client_id`, `client_secret` and, in its response, `access_token`.
        tls, timeout: as for `RestClient`.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        *,
        scope: str | None = None,
        in_body: bool = False,
        form: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        proxy: Callable[[str], str | None] = machine_proxy,
        timeout: float = 30.0,
    ) -> None:
        names = names or {}
        self._url = url
        self._tls = tls
        self._proxy = proxy
        self._timeout = timeout
        self._property = names.get("access_token", "access_token")
        self._form = {names.get("grant_type", "grant_type"): "client_credentials"}
        self._asking = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if in_body:
            self._form[names.get("client_id", "client_id")] = client_id
            self._form[names.get("client_secret", "client_secret")] = client_secret
        else:
            self._asking["Authorization"] = basic(f"{client_id}:{client_secret}")
        if scope:
            self._form["scope"] = scope
        self._form |= form or {}
        self._lock = threading.Lock()
        self._header = ""
        self._renew_at = 0.0

    def headers(self) -> Mapping[str, str]:
        """See `Login`."""
        with self._lock:
            if not self._header or time.monotonic() >= self._renew_at:
                self._header, life = self._ask()
                self._renew_at = time.monotonic() + max(life * _RENEW, life - _BEFORE_S)
            return {"Authorization": self._header}

    def refused(self, headers: Mapping[str, str]) -> bool:
        """See `Login`. Several threads may have used the same token: the first one requests another."""
        with self._lock:
            if headers.get("Authorization") == self._header:
                self._header = ""
        return True

    def _ask(self) -> tuple[str, float]:
        """The header for a new token, and its validity in seconds."""
        where = origin(self._url)
        try:
            status, _, content = exchange(
                "POST",
                self._url,
                urlencode(self._form).encode(),
                self._asking,
                timeout=self._timeout,
                tls=self._tls,
                proxy=self._proxy(self._url),
                most_bytes=_MOST_BYTES,
            )
        except NoAnswerError as error:
            why = f"{where} gives no token: it does not answer ({words(error.reason)})."
            raise RestError(why, passing=not isinstance(error.reason, ssl.SSLCertVerificationError)) from error
        if status >= 300:
            said = f"{where} gives no token: it answers {status}."
            raise RestError(
                said if status in PASSING else f"{said} Check the client id, its secret and the scope.",
                status=status,
                passing=status in PASSING,
            )
        try:
            answer: Mapping[str, Any] = json.loads(content)
            token, kind = str(answer[self._property]), str(answer.get("token_type") or "Bearer")
            life = float(answer.get("expires_in") or float("inf"))
        except (ValueError, KeyError, TypeError, AttributeError):
            # Nothing of the answer, which may hold half a secret.
            raise ConnectError(f'{where} gives no token: its answer is not JSON with "{self._property}".') from None
        # RFC 6750 writes Bearer, and some servers give "bearer" and refuse it.
        return f"{'Bearer' if kind.lower() == 'bearer' else kind} {token}", life
