"""One object on its way: put at once, or in parts that nobody sees before the last is there.

An object tells in its metadata which records it holds, so that whoever finds it in the way knows where to go on. One of
several parts got its metadata before its end was known; it names the rules by which its records were chosen, and by
the same rules they are the same.
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
    """Another object is there.

    Attributes:
        last: the offset of its last record.
    """

    def __init__(self, last: int) -> None:
        super().__init__(f"there is one up to offset {last}")
        self.last = last


def last_offset(bucket: Bucket, key: str) -> int | None:
    """The offset of the last record of an object; None where there is no object that tells."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = bucket.request("head_object", Key=key, **bucket.settings.to_read())
    except (BotoCoreError, ClientError, OSError):
        return None  # if it was more than that it is missing, writing there will tell
    told = answer.get("Metadata", {}).get(_LAST)
    return None if told is None else int(told)


class Upload:
    """Requests for one object, one after another, from any thread. Each may be sent again when it failed.

    Args:
        bucket: where to.
        key: of the object.
        content_type: its MIME type.
        first: the offset of its first record.
        rules: what decided where it ends, see `Options.fingerprint`; "" where the clock did.
        conditional: whether an object that is there is left alone.
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
        """The whole object.

        Raises:
            Conflict: another one is there, with other records.
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
        """The next part; at least 5 MiB unless it is the last."""
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
        """Make an object of the parts. Raises as `put`."""
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
            # An upload that is gone may be one whose completion we were not told of.
            if not _is(error, *_EXISTS, "NoSuchUpload"):
                raise
            self._look(last, self._tag())
            self.abort()

    def abort(self) -> None:
        """Forget the parts that are there. Raises botocore's errors; what cannot be aborted costs its storage."""
        identity, self._id, self._parts = self._id, None, []
        if identity is not None:
            from botocore.exceptions import ClientError

            try:
                self._bucket.request("abort_multipart_upload", Key=self.key, UploadId=identity)
            except ClientError as error:
                if not _is(error, "NoSuchUpload"):
                    raise

    def tag(self, tags: Mapping[str, str]) -> None:
        """Give the object these tags in place of what it has."""
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._bucket.request("put_object_tagging", Key=self.key, Tagging={"TagSet": pairs})

    def _look(self, last: int, tag: str | None) -> None:
        """What is there instead: returns if it is the same, raises `Conflict` or why nobody knows."""
        answer = self._bucket.request("head_object", Key=self.key, **self._bucket.settings.to_read())
        told = answer.get("Metadata", {})
        if _LAST in told:
            if int(told[_LAST]) != last:
                raise Conflict(int(told[_LAST]))
            return
        if (self._rules and told.get(_RULES) == self._rules) or (tag and answer.get("ETag", "").strip('"') == tag):
            return
        raise ConnectError(
            f"The object {self.key} is already there in {self._bucket.settings.where}, and does not tell which records "
            "it holds: another program wrote it, or this connector did before its configuration was changed. Move it "
            "away if its records may come again, or set enable.conditional.writes=false to replace it."
        )

    def _tag(self) -> str:
        """The entity tag of the object of our parts."""
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
