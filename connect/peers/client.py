"""Sends requests to other workers' REST interfaces, over TLS with the settings of this worker's own listeners."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping

from connect.errors import ConnectError
from connect.http import Answer, NoAnswerError, exchange


class PeerError(ConnectError):
    """Another worker did not answer, or refused.

    Attributes:
        status: of HTTP; None without an answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PeerClient:
    """Sends requests to other workers. Thread-safe.

    Args:
        tls: gives the context for https, see `connect.peers.tls`; by default the authorities that Python trusts.
    """

    def __init__(self, tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        self._tls = tls

    def exchange(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
    ) -> Answer:
        """Send a request; any response counts as an answer.

        Raises:
            PeerError: there was no answer.
        """
        try:
            # Workers reach each other as they are: this machine's proxies are for the world outside.
            tls = None if self._tls is None else self._tls()
            return exchange(method, url, body, headers, timeout=timeout, tls=tls)
        except NoAnswerError as error:
            raise PeerError(str(error)) from error

    def send(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
    ) -> bytes:
        """Send a request in JSON and return the response's body.

        Raises:
            PeerError: no answer, or an error; with the other worker's message.
        """
        headers = {"Content-Type": "application/json", **(headers or {})}
        status, _, content = self.exchange(method, url, body, headers, timeout)
        if not 200 <= status < 300:
            said = content.decode("utf-8", "replace")
            raise PeerError(f"{method} {url} was answered with {status}: {said}", status)
        return content
