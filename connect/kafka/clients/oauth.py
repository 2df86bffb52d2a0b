"""A token for SASL/OAUTHBEARER from an authorization server, by client id and secret (RFC 6749, 4.4)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from urllib.parse import urlencode

from kafka.errors import SaslAuthenticationFailedError
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
            if status >= 300:
                raise SaslAuthenticationFailedError(f"no token from {self._url}: HTTP {status}")
            answer = json.loads(content)
            return str(answer["access_token"]), float(answer.get("expires_in", 60))
        except NoAnswerError as error:
            raise SaslAuthenticationFailedError(f"no token from {self._url}: {type(error.reason).__name__}") from error
        except (ValueError, KeyError) as error:
            raise SaslAuthenticationFailedError(f"no token from {self._url}: {type(error).__name__}") from error
