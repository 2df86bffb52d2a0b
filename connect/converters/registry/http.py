"""Requests to a schema registry: over several addresses, retried where that may help, with a login and TLS.

Python's own HTTP and not confluent_kafka.schema_registry: that client costs each task's process 20 MB and 0.12 s
(httpx, authlib), this one 1.5 MB and 0.01 s; it supports no JKS and no PKCS#12 stores, and on a dead address it waits
through all its pauses before it tries the next one. A schema is read once, so a connection for each request is enough.
"""

from __future__ import annotations

import json
import random
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from connect.errors import ConfigError, DataError, RetriableError
from connect.http import NoAnswerError, basic, exchange, machine_proxy, words

URL: Final = "schema.registry.url"
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
_CONTENT: Final = "application/vnd.schemaregistry.v1+json"
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

#: How long a registry that did not answer is not asked again: a batch that failed is run again in halves at once.
_HOLD_OFF_S: Final = 0.2


class RegistryHttp:
    """Sends requests to the first address that answers. For one thread.

    Args:
        urls: the registry's addresses; one that answered is tried first the next time. A user and password in an
            address are its login, unless `headers` has one.
        headers: sent with each request, such as Authorization.
        tls: for https.
        proxy: `http://host:port`; by default that of this machine's variables (https_proxy, no_proxy).
        timeout: seconds to wait for a response.
        retries: how often all addresses are tried again when none answers.
        first_wait, longest_wait: seconds before the first retry, doubled each time, and at most.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
        timeout: float = 60,
        retries: int = 3,
        first_wait: float = 1,
        longest_wait: float = 20,
    ) -> None:
        if not urls:
            raise ConfigError(URL, "is required. Write the registry's address, such as http://localhost:8081.")
        self._addresses = [_Address(url, headers or {}) for url in urls]
        self._timeout = timeout
        self._retries = retries
        self._waits = (first_wait, longest_wait)
        self._tls = tls
        self._proxy = proxy
        self._down: tuple[float, str] = (0.0, "")

    def get(self, path: str) -> Any:
        """The response to a GET, from JSON. Raises as `_send`."""
        return self._send("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        """The response to a POST of JSON, from JSON. Raises as `_send`."""
        return self._send("POST", path, json.dumps(body).encode())

    def _send(self, method: str, path: str, body: bytes | None) -> Any:
        """Try the addresses until one answers.

        Raises:
            RegistryUnavailable: none did, or all said that they are unavailable.
            RegistryNotFound: there is no such thing.
            RegistryRefused: the registry refuses it.
            ConfigError: it refuses the login, its certificate is not trusted, or it is not a registry.
        """
        until, said = self._down
        if time.monotonic() < until:
            raise RegistryUnavailable(said)
        wait, longest = self._waits
        for tries_left in range(self._retries, -1, -1):
            failures = []
            untrusted: ConfigError | None = None
            for address in list(self._addresses):
                try:
                    answer = self._ask(address, method, path, body)
                except RegistryUnavailable as error:
                    failures.append(str(error))
                    continue
                except _Untrusted as error:
                    untrusted = error
                    continue
                if address is not self._addresses[0]:
                    self._addresses.remove(address)
                    self._addresses.insert(0, address)
                return answer
            if untrusted is not None:
                raise untrusted
            if tries_left:
                time.sleep(random.uniform(0.5, 1) * min(wait, longest))  # noqa: S311 - jitter, not a secret
                wait *= 2
        said = f"{'; '.join(failures)}. Check {URL} and whether the schema registry is up."
        self._down = (time.monotonic() + _HOLD_OFF_S, said)
        raise RegistryUnavailable(said)

    def _ask(self, address: _Address, method: str, path: str, body: bytes | None) -> Any:
        headers = {"Accept": _ACCEPT, "Content-Type": _CONTENT, **address.headers}
        url = address.url + path
        try:
            status, _, content = exchange(
                method,
                url,
                body,
                headers,
                timeout=self._timeout,
                tls=self._tls,
                proxy=self._proxy or machine_proxy(url),
            )
        except NoAnswerError as error:
            reason = error.reason
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise _Untrusted(
                    "schema.registry.ssl.truststore.location",
                    f"the certificate of {address.url} is not trusted: {reason.verify_message}. Name a store with the "
                    "certificate of who issued it.",
                ) from error
            if isinstance(reason, ssl.SSLError) and "ALERT" in str(reason.reason):
                raise _Untrusted(
                    "schema.registry.ssl.keystore.location",
                    f"{address.url} refuses the TLS connection ({reason.reason}). Does it ask for a client's "
                    "certificate?",
                ) from error
            raise RegistryUnavailable(f"{address.url} does not answer: {words(reason)}") from error
        return _answer(address.url, f"{method} {path.partition('?')[0]}", status, content)


class _Untrusted(ConfigError):
    """TLS with one address failed; another one may work."""


class _Address:
    """The address of the registry, without a login in it."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = split(url)
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
        self.headers = dict(headers)
        if parts.username and "Authorization" not in self.headers:
            self.headers["Authorization"] = basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")


def split(url: str) -> SplitResult:
    """The parts of an address. Raises `ConfigError`, which does not show it: a login may be in it."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise ConfigError(URL, "is not a list of addresses. Write them as http://localhost:8081, comma-separated.")


def _answer(url: str, what: str, status: int, content: bytes) -> Any:
    try:
        found = json.loads(content) if content else None
    except ValueError:
        found = None
    if 200 <= status < 300:
        if found is None:
            raise ConfigError(URL, f"what answers at {url} is not a schema registry: {what} gave no JSON.")
        return found
    said, code = "", 0
    if isinstance(found, dict):
        said, code = str(found.get("message", "")).rstrip("."), int(found.get("error_code") or 0)
    if status in _PASSING:
        raise RegistryUnavailable(f"{url} answers {status} to {what}{f' ({said})' if said else ''}")
    if status == 401:
        raise ConfigError(
            "basic.auth.user.info",
            f"the schema registry at {url} refuses the login (401). Set basic.auth.credentials.source=USER_INFO and "
            "basic.auth.user.info=<user>:<password>, or bearer.auth.token.",
        )
    if status == 403:
        raise ConfigError(
            "basic.auth.user.info", f"this user may not {what} in the schema registry at {url} (403). Grant it."
        )
    if 300 <= status < 400:
        raise ConfigError(URL, f"{url} answers with a redirection ({status}). Write the address that it leads to.")
    if status == 404 and not code and "/schemas/guids/" in what:
        raise RegistryNotFound(f"the schema registry at {url} knows no schema by a GUID ({what}).", status)
    if status in (404, 405) and not code:
        raise ConfigError(
            URL,
            f"what answers at {url} is not a schema registry: {what} gave {status}. Is a path missing in the address?",
        )
    message = f"the schema registry at {url} says to {what}: {said or 'no reason'} ({code or status})."
    raise (RegistryNotFound if status == 404 else RegistryRefused)(message, status, code)


class RegistryUnavailable(RetriableError):
    """No address of the registry answers, or it says that it is unavailable. `errors.retry.*` applies."""


class RegistryRefused(DataError):
    """The registry refuses the request: the schema is not valid, or not compatible with earlier ones.

    Attributes:
        status: of HTTP.
        code: Confluent's error code, such as 40403; 0 where the response has none.
    """

    def __init__(self, message: str, status: int, code: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RegistryNotFound(RegistryRefused):
    """The registry has no such subject, version or schema."""
