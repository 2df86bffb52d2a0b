"""The upload of one object: in one request, or in parts that nobody sees before the last one is complete.

An object says in its metadata which records it holds, so that a task that finds it knows where to continue. An object
of several parts got its metadata before its end was known; it names the rules that chose its records, and the same
rules choose the same records.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from connect import ConnectError
from connectors.s3.bucket import Bucket

_FIRST: Final = "connect-first-offset"
_LAST: Final = "connect-last-offset"
_RECORDS: Final = "connect-records"
_RULES: Final = "connect-rules"
_EXISTS: Final = ("PreconditionFailed", "412")


class Conflict(Exception):
    """Another object with this name exists.

    Attributes:
        last: the offset of its last record.
    """

    def __init__(self, last: int) -> None:
        super().__init__(f"an object exists up to offset {last}")
        self.last = last


def last_offset(bucket: Bucket, key: str) -> int | None:
    """The offset of the last record of an object; None if there is no object that says so."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = bucket.request("head_object", Key=key, **bucket.settings.to_read())
    except (BotoCoreError, ClientError, OSError):
        return None  # if it is more than a missing object, the write will report it
    told = answer.get("Metadata", {}).get(_LAST)
    return None if told is None else int(told)


class Upload:
    """Requests for one object, one after another, from any thread. Each may be repeated after a failure.

    Args:
        bucket: where to.
        key: of the object.
        content_type: its MIME type.
        first: the offset of its first record.
        rules: what decided where it ends, see `SinkPlan.fingerprint`; "" if the clock did.
        conditional: whether an existing object is left alone.
        digest: whether uploads carry their MD5.
    """

    def __init__(
        self, bucket: Bucket, key: str, content_type: str, first: int, rules: str, *, conditional: bool, digest: bool
    ) -> None:
        self.key = key
        self._bucket = bucket
        self._content_type = content_type
        self._first = first
        self._rules = rules
        self._conditional = conditional
        self._digest = digest
        self._id: str | None = None
        self._parts: list[dict[str, Any]] = []

    def put(self, body: bytes, last: int, records: int) -> None:
        """Upload the whole object.

        Raises:
            Conflict: another one exists, with other records.
        """
        from botocore.exceptions import ClientError

        told = {_FIRST: str(self._first), _LAST: str(last), _RECORDS: str(records)}
        try:
            self._bucket.request(
                "put_object", Key=self.key, Body=body, **self._new(told), **self._md5(body), **self._if()
            )
        except ClientError as error:
            if not _is(error, *_EXISTS):
                raise
            self._look(last, None)

    def part(self, body: bytes) -> None:
        """Upload the next part; at least 5 MiB unless it is the last."""
        if self._id is None:
            answer = self._bucket.request(
                "create_multipart_upload", Key=self.key, **self._new({_FIRST: str(self._first)})
            )
            self._id = answer["UploadId"]
        number = len(self._parts) + 1
        answer = self._bucket.request(
            "upload_part",
            Key=self.key,
            UploadId=self._id,
            PartNumber=number,
            Body=body,
            **self._md5(body),
            **self._bucket.settings.to_read(),
        )
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})

    def complete(self, last: int) -> None:
        """Complete the object from its parts. Raises as `put`."""
        from botocore.exceptions import ClientError

        try:
            self._bucket.request(
                "complete_multipart_upload",
                Key=self.key,
                UploadId=self._id,
                MultipartUpload={"Parts": self._parts},
                **self._if(),
            )
        except ClientError as error:
            # A missing upload may be complete, with its response lost.
            if not _is(error, *_EXISTS, "NoSuchUpload"):
                raise
            self._look(last, self._tag())
            self.abort()

    def abort(self) -> None:
        """Discard the uploaded parts. Raises botocore's errors; parts that cannot be aborted take storage."""
        identity, self._id, self._parts = self._id, None, []
        if identity is not None:
            from botocore.exceptions import ClientError

            try:
                self._bucket.request("abort_multipart_upload", Key=self.key, UploadId=identity)
            except ClientError as error:
                if not _is(error, "NoSuchUpload"):
                    raise

    def tag(self, tags: Mapping[str, str]) -> None:
        """Replace the object's tags."""
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._bucket.request("put_object_tagging", Key=self.key, Tagging={"TagSet": pairs})

    def _look(self, last: int, tag: str | None) -> None:
        """Check the existing object: returns if it is the same, raises `Conflict` or why it is unknown."""
        answer = self._bucket.request("head_object", Key=self.key, **self._bucket.settings.to_read())
        told = answer.get("Metadata", {})
        if _LAST in told:
            if int(told[_LAST]) != last:
                raise Conflict(int(told[_LAST]))
            return
        if (self._rules and told.get(_RULES) == self._rules) or (tag and answer.get("ETag", "").strip('"') == tag):
            return
        raise ConnectError(
            f"The object {self.key} already exists in {self._bucket.settings.where}, and does not say which records "
            "it holds: another program wrote it, or this connector did before its configuration was changed. Move it "
            "away if its records may come again, or set enable.conditional.writes=false to replace it."
        )

    def _tag(self) -> str:
        """The entity tag that the object of these parts has."""
        sums = b"".join(bytes.fromhex(part["ETag"].strip('"')[:32]) for part in self._parts if _is_md5(part["ETag"]))
        return f"{hashlib.md5(sums, usedforsecurity=False).hexdigest()}-{len(self._parts)}"

    def _new(self, told: dict[str, str]) -> dict[str, Any]:
        if self._rules:
            told[_RULES] = self._rules
        return {"ContentType": self._content_type, "Metadata": told, **self._bucket.settings.to_write()}

    def _if(self) -> dict[str, str]:
        return {"IfNoneMatch": "*"} if self._conditional else {}

    def _md5(self, body: bytes) -> dict[str, str]:
        if not self._digest:
            return {}
        return {"ContentMD5": base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()}


def _is(error: Any, *codes: str) -> bool:
    return str(error.response.get("Error", {}).get("Code", "")) in codes


def _is_md5(tag: str) -> bool:
    digits = tag.strip('"')
    return len(digits) == 32 and all(digit in "0123456789abcdef" for digit in digits)
