"""A client of Kafka Connect's REST interface, for clusters of Java or Python workers.

https://kafka.apache.org/documentation/#connect_rest
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from connect.cli._credentials import Credentials, add_credentials, credentials_of
from connect.cli._exit import FAILED, INVALID, UNREACHABLE
from connect.cli._moments import seconds
from connect.errors import ConfigError, ConnectError
from connect.http import NoAnswerError, exchange
from connect.telemetry.redaction import redactor

DEFAULT_URL = "http://127.0.0.1:8083"
# A worker gives up on a request after 90 s, and then says what it was waiting for.
TIMEOUT_S = 100.0
_CONNECT_TIMEOUT_S = 5.0
_REBALANCE_PATIENCE_S = 30.0
# How Kafka Connect begins the message of a 409 that passes when the workers have agreed again.
_REBALANCING = "Cannot complete request"


class UnreachableError(ConnectError):
    """No worker answers."""

    exit_code = UNREACHABLE


class AnswerError(ConnectError):
    """A worker refused a request.

    Attributes:
        status: of HTTP.
        said: the worker's own message, on one line, without secrets.
    """

    def __init__(self, status: int, said: str, address: str) -> None:
        advice = " Log in with --user NAME, --token-file FILE or CONNECT_TOKEN." if status == 401 else ""
        super().__init__(f"{said} ({status} from {address}){advice}")
        self.status = status
        self.said = said
        self.exit_code = INVALID if status in {400, 422} else FAILED


def add_options(
    parser: argparse.ArgumentParser, key: str = "--key", default: str = f"CONNECT_URL, or {DEFAULT_URL}"
) -> None:
    """Declare the options of every command with a cluster. `key`: see `add_credentials`. `default`: the cluster."""
    cluster = parser.add_argument_group("cluster")
    cluster.add_argument("--url", help=f"any worker of it, http(s)://host:port (default: {default})")
    cluster.add_argument("--ca", "--cacert", metavar="FILE", help="PEM file with the authorities to trust for https")
    add_credentials(cluster, key)
    cluster.add_argument(
        "--timeout", type=seconds, default=TIMEOUT_S, metavar="SECONDS", help="for each answer (default: %(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def client_of(args: argparse.Namespace) -> RestClient:
    """The client of the command line and the environment."""
    url = args.url or os.environ.get("CONNECT_URL") or DEFAULT_URL
    return RestClient(url, ca=args.ca, timeout=args.timeout, credentials=credentials_of(args))


@contextmanager
def not_of_java(client: RestClient, lacks: str, instead: str) -> Iterator[None]:
    """Around a request that Kafka Connect's own workers do not know.

    Args:
        lacks: what such a worker does not do, as `keeps no history`.
        instead: what the user can do.

    Raises:
        ConnectError: it is such a worker.
    """
    try:
        yield
    except AnswerError as error:
        if error.status != 404 or not error.said.startswith("HTTP 404"):
            raise
        words = f"The worker at {client.address} {lacks}; it may be older, or one of Kafka Connect's own. {instead}"
        raise ConnectError(words) from error


class RestClient:
    """One cluster, reached through one of its workers.

    Args:
        url: http(s)://host:port. May hold user:password@ or token@, and a path before Kafka Connect's own.
        ca: a PEM file; by default the machine's authorities are trusted.
        timeout: seconds to wait for a response.
        credentials: the login; without them, and without any in the URL, those of CONNECT_TOKEN or CONNECT_AUTH
            (user:password).
    """

    def __init__(
        self, url: str, *, ca: str | None = None, timeout: float = TIMEOUT_S, credentials: Credentials | None = None
    ) -> None:
        credentials = credentials or Credentials()
        parts = _split(url)
        self._tls = _trust(ca) if parts.scheme == "https" else None
        if self._tls is not None:
            credentials.show_certificate(self._tls)
        self._shows_certificate = credentials.cert is not None
        self._timeout = timeout
        self._authorization = credentials.authorization(parts)
        self._is_of_java: bool | None = None
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def is_of_java(self) -> bool:
        """Whether the worker is one of Kafka Connect's own, as far as it tells. It is asked once.

        Such a worker logs a line for each connector and each `expand` that it does not know.
        """
        if self._is_of_java is None:
            try:
                about = self.get()
            except AnswerError:
                return False
            commit = about.get("commit") if isinstance(about, dict) else None
            self._is_of_java = isinstance(commit, str) and not commit.startswith("connect-runtime-")
        return self._is_of_java

    def get(self, *path: str, **query: str | list[str]) -> Any:
        """Read. Each part of the path is quoted."""
        return self.request("GET", path, query=query)

    def post(self, *path: str, body: object = None, **query: str) -> Any:
        """Create, or start an operation."""
        return self.request("POST", path, body, query)

    def put(self, *path: str, body: object = None, **query: str) -> Any:
        """Set."""
        return self.request("PUT", path, body, query)

    def patch(self, *path: str, body: object) -> Any:
        """Change in part."""
        return self.request("PATCH", path, body)

    def delete(self, *path: str) -> Any:
        """Remove."""
        return self.request("DELETE", path)

    def request(
        self,
        method: str,
        path: tuple[str, ...],
        body: object = None,
        query: Mapping[str, str | list[str]] | None = None,
    ) -> Any:
        """Send a request, and retry it as long as the workers of the cluster are rebalancing.

        Returns:
            The JSON of the response; None where it has no content.

        Raises:
            UnreachableError: no worker answers in time.
            AnswerError: the worker refuses or fails.
        """
        url = self.address + "/" + "/".join(quote(part, safe="") for part in path)
        if query:
            url += "?" + urlencode(query, doseq=True)
        deadline = time.monotonic() + min(self._timeout, _REBALANCE_PATIENCE_S)
        while True:
            try:
                return self._once(method, url, body)
            except AnswerError as error:
                passing = error.status == 409 and error.said.startswith(_REBALANCING)
                if not passing or time.monotonic() > deadline:
                    raise
            time.sleep(0.5)

    def _once(self, method: str, url: str, body: object) -> Any:
        headers = {"Accept": "application/json", **self._authorization}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            status, _, content = exchange(
                method,
                url,
                data,
                headers,
                timeout=self._timeout,
                connect_timeout=_CONNECT_TIMEOUT_S,
                tls=self._tls,
            )
        except NoAnswerError as error:
            raise UnreachableError(self._unreachable(error.reason)) from error
        return self._answer(status, content)

    def _answer(self, status: int, content: bytes) -> Any:
        try:
            answer = json.loads(content) if content.strip() else None
        except ValueError:
            if status < 300:
                unlike = "The server is not Kafka Connect: it sends no JSON. Check --url or CONNECT_URL."
                raise AnswerError(status, unlike, self.address) from None
            answer = None
        if status < 300:
            return answer
        said = answer.get("message") if isinstance(answer, dict) else None
        text = said if isinstance(said, str) else content.decode(errors="replace")[:200]
        line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        raise AnswerError(status, redactor.redact(line) or "The worker gave no reason.", self.address)

    def _unreachable(self, error: Exception) -> str:
        why: str
        match error:
            case ssl.SSLCertVerificationError():
                distrust = f"its certificate is not trusted: {error.verify_message}"
                return f"{self.address}: {distrust}. Name the authority that signed it with --ca."
            case ssl.SSLError() | ConnectionResetError() if self._tls is not None and not self._shows_certificate:
                # TLS 1.3 tells late, and not every server says why.
                why = "it closed the connection; if it asks for a client certificate, name one with --cert"
            case TimeoutError():
                why = "no answer in time"
            case socket.gaierror():
                why = "there is no such host"
            case OSError():
                why = (error.strerror or str(error)).lower()
            case _:
                why = "the server does not speak HTTP" if str(error) else "the connection was closed"
        return f"No Connect worker answers at {self.address} ({why}). Start one, or name it with --url or CONNECT_URL."


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port  # raises where it is not a number
    except ValueError:
        usable = False
    if not usable:
        # Not the address itself: it may hold a password.
        raise ConfigError("--url", "this is not the address of a worker. Write http://host:8083 or https://host:8083.")
    return parts


def _trust(ca: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else "it holds no certificate in PEM form"
        raise ConfigError("--ca", f"{ca}: {why}.") from error
    # Since Python 3.13 it is set and refuses certificates that workers and Java take.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
