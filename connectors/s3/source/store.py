"""The source's requests to a bucket: names, bytes, and the actions on objects that were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from connect import ConnectError, DataError, RetriableError
from connect.api.metrics import PluginMetrics
from connectors.objects.store import CONFLICT, CREDENTIALS, MISSING, Failure, raised
from connectors.s3.bucket import Bucket
from connectors.s3.bucket.failures import failure
from connectors.s3.source.lanes import Found
from connectors.s3.source.walk import Page

#: What is being done where a missing answer means a missing object.
_NEEDING_IT: Final = ("reading", "looking", "copying")


class Gone(ConnectError):
    """The object no longer exists."""


class Changed(ConnectError):
    """The object was replaced."""


class Store:
    """Requests to one bucket, and what their errors mean. Any thread may call its methods, except `tell`.

    Args:
        bucket: the client.
        page_size: how many names to request at a time.
    """

    def __init__(self, bucket: Bucket, page_size: int = 1000) -> None:
        self.bucket = bucket
        self._page_size = page_size
        self._failed: list[str] = []

    def tell(self, metrics: PluginMetrics) -> None:
        """Report the requests and failures since the last call as metrics."""
        for operation, seconds in self.bucket.times.measured():
            metrics.observe("s3_request_seconds", seconds, operation=operation)
        failed, self._failed = self._failed, []
        for kind in failed:
            labels: dict[str, Any] = {"class": kind}
            metrics.count("s3_errors_total", **labels)

    def count(self, kind: str) -> None:
        """Count an error of a class."""
        self._failed.append(kind)

    def page(self, prefix: str, after: str, more: str | None) -> Page:
        """See `connectors.s3.source.walk.Listing`."""
        asked: dict[str, Any] = {"Prefix": prefix, "MaxKeys": self._page_size}
        if more is not None:
            asked["ContinuationToken"] = more
        elif after:
            asked["StartAfter"] = after
        answer = self.send("listing names", "list_objects_v2", **asked)
        # Some stores end with a page that has no Contents.
        founds = [
            Found(each["Key"], each["ETag"].strip('"'), each["Size"], int(each["LastModified"].timestamp() * 1000))
            for each in answer.get("Contents") or ()
        ]
        return Page(founds, answer.get("NextContinuationToken") if answer.get("IsTruncated") else None)

    def open(self, found: Found, start: int = 0, end: int | None = None) -> Any:
        """boto3's response with the bytes of an object, from `start` on, up to but excluding `end`.

        Raises:
            Gone, Changed: it is not the listed object.
        """
        asked: dict[str, Any] = {"Key": found.key, **self.bucket.settings.to_read()}
        if found.etag:
            asked["IfMatch"] = f'"{found.etag}"'
        if start or end is not None:
            asked["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
        return self.send(f"reading {found.key}", "get_object", **asked)

    def look(self, key: str) -> Found:
        """An object as it is now. Raises `Gone`."""
        answer = self.send(f"looking at {key}", "head_object", Key=key, **self.bucket.settings.to_read())
        modified = int(answer["LastModified"].timestamp() * 1000)
        return Found(key, answer["ETag"].strip('"'), answer["ContentLength"], modified)

    def send(self, doing: str, operation: str, **parameters: Any) -> Any:
        """Send a request.

        Raises:
            RetriableError: it failed temporarily, or with credentials that have changed since.
            Gone, Changed: the object no longer exists, or is not the one that was meant.
            DataError: the object is in an archive.
            ConnectError: the store refuses it.
        """
        return self.guarded(doing, lambda: self.bucket.request(operation, **parameters))

    def guarded(self, doing: str, work: Callable[[], Any]) -> Any:
        """Do something with the client, with its errors translated; see `send`."""
        try:
            return work()
        except ConnectError:
            raise
        except Exception as error:
            raise self.error(error, doing) from error

    def error(self, error: Exception, doing: str) -> ConnectError:
        """The error to raise for one of boto3 or of the network."""
        found: Failure = failure(error, self.bucket.settings, doing)
        self._failed.append(found.kind)
        missing = found.kind == MISSING and not found.passing and "NoSuchBucket" not in found.sentence
        if missing and doing.startswith(_NEEDING_IT):
            return Gone(found.sentence)
        if found.kind == CONFLICT and not found.passing:
            return Changed(found.sentence)
        if "InvalidObjectState" in found.sentence:
            return DataError(f"{found.sentence} The object is in an archive: restore it first.")
        if found.kind == CREDENTIALS and self.bucket.discard():
            return RetriableError(found.sentence)
        return raised(found)
