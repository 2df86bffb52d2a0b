"""A token for SASL/OAUTHBEARER from an authorization server, by client id and secret (RFC 6749, 4.4)."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Mapping
from urllib.parse import urlencode

from kafka.errors import KafkaConnectionError, KafkaError, SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from connect.http import NoAnswerError, basic, exchange, machine_proxy
from connect.kafka.clients.java_rules import ClientSettingError
from connect.kafka.clients.tls import client_tls_context

_PREFIX = "sasl.oauthbearer"
_TIMEOUT = 5.0  # seconds for an answer; the network thread waits for it
_MOST_BYTES = 1 << 20  # of an answer
_RENEW = 0.8  # of a token's life, as Java's sasl.login.refresh.window.factor


class TokenFromUrl(AbstractTokenProvider):
    """Requests a token when there is none or the last one expires soon.

    A server that refuses is a failed login. One that is away passes for a broker that is: the client tries again.

    Raises:
        ClientSettingError: a setting is missing.
    """

    def __init__(self, java: Mapping[str, str]) -> None:
        super().__init__()
        keys = {name: f"{_PREFIX}.{name}" for name in ("token.endpoint.url",)}
        keys |= {name: f"{_PREFIX}.client.credentials.{name}" for name in ("client.id", "client.secret")}
        for key in keys.values():
            if not java.get(key):
                raise ClientSettingError(key, "it is missing; OAUTHBEARER needs it")
        self._url = java[keys["token.endpoint.url"]]
        if not self._url.startswith(("https://", "http://")):
            raise ClientSettingError(keys["token.endpoint.url"], "write a URL that begins with https://")
        self._headers = {
            "Authorization": basic(f"{java[keys['client.id']]}:{java[keys['client.secret']]}"),
            "Content-Type": "application/x-www-form-urlencoded",
        }
        self._scope = java.get(f"{_PREFIX}.scope")
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def token(self) -> str:
        with self._lock:
            if time.monotonic() >= self._renew_at:
                self._token, life = self._ask()
                self._renew_at = time.monotonic() + life * _RENEW
            return self._token

    def _ask(self) -> tuple[str, float]:
        form = {"grant_type": "client_credentials"} | ({"scope": self._scope} if self._scope else {})
        # Not Python's own context: it refuses since 3.13 what librdkafka and Java take of private authorities.
        tls = client_tls_context({}) if self._url.startswith("https:") else None
        try:
            status, _, content = exchange(
                "POST",
                self._url,
                urlencode(form).encode(),
                self._headers,
                timeout=_TIMEOUT,
                tls=tls,
                proxy=machine_proxy(self._url),
                most_bytes=_MOST_BYTES,
            )
        except NoAnswerError as error:
            away = not isinstance(error.reason, ssl.SSLCertVerificationError)
            raise self._no_token(type(error.reason).__name__, away=away) from error
        if status >= 300:
            raise self._no_token(f"HTTP {status}", away=status >= 500 or status == 429)
        try:
            answer = json.loads(content)
            return str(answer["access_token"]), float(answer.get("expires_in", 60))
        except (ValueError, KeyError) as error:
            raise self._no_token(type(error).__name__, away=False) from error

    def _no_token(self, why: str, *, away: bool) -> KafkaError:
        return (KafkaConnectionError if away else SaslAuthenticationFailedError)(f"no token from {self._url}: {why}")
