"""The client of Google Cloud Storage's JSON API: a session of requests whose credentials are google-auth's.

Google's own library, google-cloud-storage, is not used: it makes an object from one stream that it reads to its end,
and a sink's parts come one at a time, with pauses between them, and are repeated after a failure.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from connect import ConfigError, ConnectError
from connect.errors import one_line
from connect.kit import backoff
from connectors.gcs.keys import GcsSinkOptions
from connectors.objects.connection import with_user
from connectors.objects.store import RequestTimes

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"
#: The same request may succeed later: Google's retry strategy for Cloud Storage.
PASSING: Final = (408, 429, 500, 502, 503, 504)


class GcsError(Exception):
    """The store refused a request.

    Attributes:
        status: of HTTP.
        message: what the store said.
        lost: whether the upload that the request belongs to is unknown to the store.
    """

    def __init__(self, status: int, message: str, *, lost: bool = False) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.lost = lost


class GcsClient:
    """Sends requests. All methods are for any thread.

    Args:
        options: the keys.

    Raises:
        ConnectError: google-auth or requests is not installed.
    """

    def __init__(self, options: GcsSinkOptions) -> None:
        for module in ("google.auth", "requests"):
            if _spec(module) is None:
                raise ConnectError(
                    f"The sink of Google Cloud Storage needs the package {module.replace('.', '-')}. "
                    "Install connect-runtime[gcs]."
                )
        # At WARNING urllib3 logs the address of a request that it repeats: who has that of an upload may write to it.
        logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
        self.times = RequestTimes()
        self._options = options
        self._bucket = f"/b/{quote(options.bucket, safe='')}/o"
        self._lock = threading.Lock()
        self._session: Any = None

    def metadata(self, key: str) -> Mapping[str, str] | None:
        """The metadata of an object; None if there is no such object."""
        url = f"{self._options.endpoint}/storage/v1{self._bucket}/{quote(key, safe='')}"
        answer = self.request("get", "GET", url, params={"fields": "metadata"}, allowed=(404,))
        if answer.status_code == 404:
            return None
        found: Mapping[str, str] = answer.json().get("metadata") or {}
        return found

    def upload(self, operation: str, params: Mapping[str, str], allowed: Iterable[int] = (), **more: Any) -> Any:
        """Send the first request of an upload; the response. Arguments as for `request`."""
        url = f"{self._options.endpoint}/upload/storage/v1{self._bucket}"
        return self.request(operation, "POST", url, params=params, allowed=allowed, **more)

    def request(
        self, operation: str, method: str, url: str, *, allowed: Iterable[int] = (), lost: bool = False, **more: Any
    ) -> Any:
        """Send a request; the response, of requests.

        Args:
            operation: its name for the metric.
            method: of HTTP.
            url: where to.
            allowed: statuses above 299 that are responses like others.
            lost: whether a missing page means that an upload is gone.
            **more: as `requests.Session.request` takes it.

        Raises:
            GcsError: the store refuses it.
            requests.RequestException: it was not answered.
            google.auth.exceptions.GoogleAuthError: there are no credentials, or they are refused.
        """
        waits = (self._options.connect_timeout, self._options.request_timeout)
        with self.times.measure(operation):
            answer = self._sessions().request(method, url, timeout=waits, allow_redirects=False, **more)
        if answer.status_code < 300 or answer.status_code in allowed:
            return answer
        raise GcsError(answer.status_code, _message(answer), lost=lost and answer.status_code in (404, 410))

    def discard(self) -> None:
        """Forget the session; the next request reads the credentials again."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def _sessions(self) -> Any:
        with self._lock:
            if self._session is None:
                self._session = _session(self._options)
            return self._session


def _spec(module: str) -> Any:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:  # the package around it is not there
        return None


def _session(options: GcsSinkOptions) -> Any:
    import requests
    from google.auth.transport import requests as google
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    class Repeated(Retry):
        """With pauses as the keys say: urllib3's own begin after the second failure."""

        def get_backoff_time(self) -> float:
            return backoff(options.backoff, options.longest_backoff, len(self.history))

        def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
            # The task waits longer by itself, and says so.
            asked = super().get_retry_after(response)
            return None if asked is None else min(asked, options.longest_backoff)

    proxy = with_user(options.proxy, options.proxy_user, options.proxy_password)
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    of_tokens = requests.Session()
    of_tokens.proxies.update(proxies)
    found = _credentials(options, google.Request(of_tokens))
    authorized: Any = google.AuthorizedSession  # its arguments have no types
    session = requests.Session() if found is None else authorized(found, auth_request=google.Request(of_tokens))
    session.proxies.update(proxies)
    # Not the parts of an upload: before one is repeated, the store has to be asked how much of it is there.
    retry = Repeated(
        total=options.retries,
        status_forcelist=PASSING,
        allowed_methods=("GET", "POST", "DELETE"),
        redirect=0,
        raise_on_status=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry, pool_maxsize=16))
    return session


def _credentials(options: GcsSinkOptions, request: Any) -> Any:
    """google-auth's credentials; None for requests without any."""
    content = options.credentials_json.reveal() if options.credentials_json else ""
    if content:
        return _of_file("gcs.credentials.json", content)
    if options.credentials_path:
        try:
            content = Path(options.credentials_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError("gcs.credentials.path", f"cannot be read: {why}.") from None
        return _of_file("gcs.credentials.path", content)
    if not options.credentials_default:
        return None
    import google.auth

    library: Any = google.auth  # its functions have no types
    return library.default(scopes=[_SCOPE], request=request)[0]


def _of_file(key: str, content: str) -> Any:
    """The credentials of a file as Google writes it. A type that runs programs or asks any address is not taken."""
    from google.auth import identity_pool
    from google.oauth2 import credentials, service_account

    makers: dict[str, Any] = {
        "service_account": service_account.Credentials.from_service_account_info,
        "authorized_user": credentials.Credentials.from_authorized_user_info,
        "external_account": identity_pool.Credentials.from_info,
    }
    try:
        said = json.loads(content)
        kind = said["type"]
    except (ValueError, KeyError, TypeError):
        raise ConfigError(key, "is not a file of credentials. Google's console or gcloud writes one.") from None
    if kind not in makers:
        raise ConfigError(key, f'has credentials of the type "{kind}". Supported are {", ".join(makers)}.')
    try:
        return makers[kind](said, scopes=[_SCOPE])
    except ValueError as error:  # google-auth's MalformedError is one
        raise ConfigError(key, f"is not complete: {one_line(error)[:200]}.") from None


def _message(answer: Any) -> str:
    """What the store says about an error: the message of its JSON, or the beginning of its text."""
    try:
        said = answer.json()["error"]
        text = str(said["message"] if isinstance(said, dict) else said)
    except (ValueError, KeyError, TypeError):
        text = answer.text
    return " ".join(text.split())[:200].rstrip(".") or answer.reason or "no reason given"
