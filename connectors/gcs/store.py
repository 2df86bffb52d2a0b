"""The bucket as the sink's store."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final

from connect import ConfigError
from connect.errors import one_line
from connect.kit.failures import origin
from connectors.gcs.client import PASSING, GcsClient, GcsError
from connectors.gcs.keys import GOOGLE, GcsSinkOptions
from connectors.objects.store import (
    CONFLICT,
    CREDENTIALS,
    MALFORMED,
    MISSING,
    OTHER,
    REFUSED,
    THROTTLED,
    TIMEOUT,
    UNREACHABLE,
    Failure,
    Lost,
    Store,
    Upload,
    check_existing,
    last_of,
    told,
)

#: All chunks of a resumable upload but the last are multiples of this many bytes.
_CHUNK: Final = 256 * 1024
_EXISTS: Final = 412
#: The store has what it was sent, and waits for more.
_GO_ON: Final = 308
_KINDS: Final = {
    400: MALFORMED,
    401: CREDENTIALS,
    403: REFUSED,
    404: MISSING,
    408: TIMEOUT,
    412: CONFLICT,
    429: THROTTLED,
}
_ADVICE: Final = {
    401: "Check gcs.credentials.path or gcs.credentials.json.",
    403: "These credentials need the permissions storage.objects.create and storage.objects.get.",
    404: "Create the bucket, or check gcs.bucket.name.",
}


class GcsStore(Store):
    """A bucket of Google Cloud Storage.

    Args:
        options: the keys.

    Raises:
        ConnectError: the client is not installed.
    """

    def __init__(self, options: GcsSinkOptions) -> None:
        self.name = options.bucket
        place = "" if options.endpoint == GOOGLE else f" at {origin(options.endpoint)}"
        self.where = f"bucket {options.bucket}{place}"
        self._storage_class = options.storage_class
        self._client = GcsClient(options)

    def upload(
        self, key: str, content_type: str, first: int, rules: str, *, topic: str, conditional: bool
    ) -> GcsUpload:
        resource: dict[str, Any] = {"name": key, "contentType": content_type}
        if self._storage_class:
            resource["storageClass"] = self._storage_class
        return GcsUpload(self._client, self.where, resource, first, rules, topic, conditional=conditional)

    def last_offset(self, key: str, topic: str) -> int | None:
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        try:
            said = self._client.metadata(key) or {}
        except (GcsError, RequestException, GoogleAuthError):
            return None
        return last_of(said, topic)

    def failure(self, error: BaseException, doing: str) -> Failure:
        tried = f"Google Cloud Storage failed {doing} in {self.where}"
        return _answered(error, tried) if isinstance(error, GcsError) else _not_answered(error, tried)

    def discard(self) -> bool:
        self._client.discard()
        return False

    def close(self) -> None:
        self._client.discard()

    def measured(self) -> list[tuple[str, float]]:
        return self._client.times.measured()


class GcsUpload(Upload):
    """The upload of one object: in one request, or as a resumable upload.

    Args:
        client: where to.
        where: the bucket, for messages.
        resource: what the object is to be: its name, content type and storage class, as the JSON API has it.
        first: the offset of its first record.
        rules: what decided where it ends, or "".
        topic: that its records were consumed from.
        conditional: whether an existing object is left alone.
    """

    def __init__(
        self,
        client: GcsClient,
        where: str,
        resource: Mapping[str, Any],
        first: int,
        rules: str,
        topic: str,
        *,
        conditional: bool,
    ) -> None:
        self.key: str = resource["name"]
        self._client = client
        self._where = where
        self._resource = resource
        self._first = first
        self._rules = rules
        self._topic = topic
        self._params = {"ifGenerationMatch": "0"} if conditional else {}
        # The resumable upload: its address; how many bytes of the object are sent; those that wait for more, since a
        # chunk has a size of its own; and whether the last request failed, so that some of its bytes may be there.
        self._session = ""
        self._sent = 0
        self._held = b""
        self._unsure = False
        self._exists = False  # whether the object was there before this upload began

    def put(self, body: bytes, last: int, records: int) -> None:
        resource = {**self._resource, "metadata": told(self._first, last, records, self._rules, self._topic)}
        boundary = uuid.uuid4().hex
        content = self._resource["contentType"]
        head = (
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{json.dumps(resource)}\r\n"
            f"--{boundary}\r\nContent-Type: {content}\r\n\r\n"
        )
        answer = self._client.upload(
            "put_object",
            {"uploadType": "multipart", **self._params},
            allowed=(_EXISTS,),
            data=b"".join((head.encode(), body, f"\r\n--{boundary}--\r\n".encode())),
            headers={"Content-Type": f"multipart/related; boundary={boundary}"},
        )
        if answer.status_code == _EXISTS:
            self._look(last)

    def part(self, body: bytes) -> None:
        if not self._session and not self._exists:
            self._session = self._begin()
            self._exists = not self._session
        if self._exists:
            return
        data = self._held + body
        whole = len(data) - len(data) % _CHUNK
        try:
            self._send(data[:whole], None)
        except GcsError as error:
            if error.lost:
                raise Lost(error) from error
            raise
        self._sent, self._held = self._sent + whole, data[whole:]

    def complete(self, last: int, records: int) -> None:
        if self._exists:
            self._look(last)
            return
        try:
            self._send(self._held, self._sent + len(self._held))
        except GcsError as error:
            # A missing upload may be complete, with its response lost.
            if error.status != _EXISTS and not error.lost:
                raise
            if error.lost and not self._params:  # an object that exists is to be replaced
                raise Lost(error) from error
            self._look(last, error if error.lost else None)

    def abort(self) -> None:
        session, self._session = self._session, ""
        self._sent, self._held, self._unsure, self._exists = 0, b"", False, False
        if session:
            # 499 is the answer to a client that gives up.
            self._client.request("abort_upload", "DELETE", session, allowed=(404, 410, 499))

    def _begin(self) -> str:
        """Begin a resumable upload; its address. "" if the object exists, and must be left alone."""
        resource = {**self._resource, "metadata": told(self._first, None, None, self._rules, self._topic)}
        params = {"uploadType": "resumable", **self._params}
        headers = {"X-Upload-Content-Type": self._resource["contentType"]}
        answer = self._client.upload("begin_upload", params, allowed=(_EXISTS,), json=resource, headers=headers)
        if answer.status_code == _EXISTS:
            return ""
        address: str = answer.headers["Location"]
        return address

    def _send(self, chunk: bytes, total: int | None) -> None:
        """Send the bytes that follow those sent; with their `total` the object is complete."""
        at, of = self._sent, "*" if total is None else str(total)
        if self._unsure:
            there = self._there(of)
            if there is None:
                return
            if there < at:
                self._unsure = True
                raise GcsError(503, f"the store has {there} of {at} bytes of an upload that it had acknowledged")
            chunk, at = chunk[there - at :], there
        while chunk or total is not None:
            content = f"bytes {at}-{at + len(chunk) - 1}/{of}" if chunk else f"bytes */{of}"
            self._unsure = True
            answer = self._client.request(
                "upload_part",
                "PUT",
                self._session,
                data=chunk,
                headers={"Content-Range": content},
                allowed=(_GO_ON,),
                lost=True,
            )
            self._unsure = False
            if answer.status_code != _GO_ON:
                return
            there = _count(answer)
            if there <= at:
                self._unsure = True
                raise GcsError(503, f"the store has {there} of {at + len(chunk)} bytes of an upload, and takes no more")
            chunk, at = chunk[there - at :], there

    def _there(self, of: str) -> int | None:
        """How many bytes of the object the store has; None: all, and the object exists."""
        answer = self._client.request(
            "upload_status",
            "PUT",
            self._session,
            headers={"Content-Range": f"bytes */{of}", "Content-Length": "0"},
            allowed=(_GO_ON,),
            lost=True,
        )
        self._unsure = False
        return _count(answer) if answer.status_code == _GO_ON else None

    def _look(self, last: int, missing: GcsError | None = None) -> None:
        """Check the existing object: see `check_existing`. `missing`: why it might not exist."""
        said = self._client.metadata(self.key)
        if said is None and missing is not None:
            raise Lost(missing) from missing
        check_existing(said or {}, last, self._rules, self._topic, key=self.key, where=self._where)


def _count(answer: Any) -> int:
    """How many bytes the store has: it says ``bytes=0-`` and the last of them, and nothing if it has none."""
    last = answer.headers.get("Range", "").rpartition("-")[2]
    return int(last) + 1 if last else 0


def _answered(error: GcsError, tried: str) -> Failure:
    status = error.status
    kind = _KINDS.get(status) or (UNREACHABLE if status >= 500 else OTHER)
    advice = "" if error.lost else _ADVICE.get(status, "")
    passing = status in PASSING or error.lost
    return Failure(kind, passing, f"{tried}: {status}: {error.message}.{' ' if advice else ''}{advice}")


def _not_answered(error: BaseException, tried: str) -> Failure:
    import requests
    from google.auth import exceptions as auth

    name = type(error).__name__
    if isinstance(error, ConfigError):
        return Failure(CREDENTIALS, False, f"{tried}: {error}")
    if isinstance(error, auth.TransportError):
        return Failure(UNREACHABLE, True, f"{tried}: the server of the credentials cannot be reached ({name}).")
    if isinstance(error, auth.DefaultCredentialsError):
        advice = "Set gcs.credentials.path or gcs.credentials.json, or provide what Google's libraries find."
        return Failure(CREDENTIALS, False, f"{tried}: no credentials were found. {advice}")
    if isinstance(error, auth.GoogleAuthError):
        advice = "Check gcs.credentials.path or gcs.credentials.json."
        return Failure(CREDENTIALS, False, f"{tried}: the credentials are refused ({name}). {advice}")
    if isinstance(error, requests.Timeout):
        return Failure(TIMEOUT, True, f"{tried}: no response in time ({name}). Check the network.")
    if isinstance(error, requests.exceptions.ProxyError):
        return Failure(UNREACHABLE, True, f"{tried}: the proxy of gcs.proxy.url cannot be reached.")
    if isinstance(error, requests.exceptions.SSLError):
        return Failure(
            UNREACHABLE,
            False,
            f"{tried}: its certificate is not trusted. Set REQUESTS_CA_BUNDLE, or check gcs.endpoint.",
        )
    if isinstance(error, requests.RequestException | OSError):
        return Failure(UNREACHABLE, True, f"{tried}: it cannot be reached ({name}). Check the network.")
    return Failure(OTHER, False, f"{tried}: {name}: {one_line(error)[:300]}")
