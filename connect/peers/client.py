"""Sends requests to other workers' REST interfaces, over TLS as this worker's own listeners have it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from connect.errors import ConnectError
from connect.http import Answer, NoAnswerError, exchange


class PeerError(ConnectError):
    """Another worker did not answer, or refused.

    Attributes:
        status: of HTTP; None when there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PeerClient:
    """Asks other workers. For any thread.

    Args:
        tls: for https, see `connect.peers.tls.peer_context`; without it whom Python trusts.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls

    def exchange(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
    ) -> Answer:
        """Send a request; whatever the other worker answers is an answer.

        Raises:
            PeerError: there was no answer.
        """
        try:
            # Workers reach each other as they are: this machine's proxies are for the world outside.
            return exchange(method, url, body, headers, timeout=timeout, tls=self._tls)
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
        """Send a request in JSON and return the answer's body.

        Raises:
            PeerError: no answer, or one that is not a success; the message has what the other worker says.
        """
        headers = {"Content-Type": "application/json", **(headers or {})}
        status, _, content = self.exchange(method, url, body, headers, timeout)
        if not 200 <= status < 300:
            said = content.decode("utf-8", "replace")
            raise PeerError(f"{method} {url} was answered with {status}: {said}", status)
        return content
