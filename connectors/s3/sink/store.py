"""The bucket as the sink's store."""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from connectors.objects.store import Failure, Lost, Store, Upload, check_existing, last_of, told
from connectors.s3.bucket import Bucket
from connectors.s3.bucket.failures import failure

log = logging.getLogger(__name__)

_EXISTS: Final = ("PreconditionFailed", "412")
_MISSING: Final = ("NoSuchKey", "404")
#: Where the next page of unfinished uploads begins.
_MARKERS: Final = ("KeyMarker", "UploadIdMarker")


class S3Store(Store):
    """A bucket of Amazon's, or of a store that speaks its protocol.

    Args:
        bucket: where to.
        digest: whether uploads carry their MD5.
    """

    def __init__(self, bucket: Bucket, *, digest: bool) -> None:
        self.name = bucket.name
        self.where = bucket.settings.where
        self._bucket = bucket
        self._digest = digest

    def upload(self, key: str, content_type: str, first: int, rules: str, *, topic: str, conditional: bool) -> S3Upload:
        return S3Upload(
            self._bucket, key, content_type, first, rules, topic, conditional=conditional, digest=self._digest
        )

    def last_offset(self, key: str, topic: str) -> int | None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._bucket.request("head_object", Key=key, **self._bucket.settings.to_read())
        except (BotoCoreError, ClientError, OSError):
            return None
        return last_of(answer.get("Metadata", {}), topic)

    def abort_left(self, folder: str, mine: Callable[[str], bool]) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            for upload in self._unfinished(folder):
                if mine(upload["Key"]):
                    log.info("aborting an unfinished upload of %s", upload["Key"])
                    self._bucket.request("abort_multipart_upload", Key=upload["Key"], UploadId=upload["UploadId"])
        except (BotoCoreError, ClientError, OSError) as error:
            found = self.failure(error, "looking for unfinished uploads")
            log.info("%s They take storage until a lifecycle rule of the bucket removes them.", found.sentence)

    def _unfinished(self, folder: str) -> Iterator[Mapping[str, Any]]:
        """The begun uploads of objects whose keys begin so, page by page."""
        markers: dict[str, str] = {}
        while True:
            answer = self._bucket.request("list_multipart_uploads", Prefix=folder, **markers)
            yield from answer.get("Uploads") or ()
            markers = {name: answer[f"Next{name}"] for name in _MARKERS if answer.get(f"Next{name}")}
            if not answer.get("IsTruncated") or not markers:
                return

    def failure(self, error: BaseException, doing: str) -> Failure:
        return failure(error, self._bucket.settings, doing)

    def discard(self) -> bool:
        return self._bucket.discard()

    def close(self) -> None:
        self._bucket.close()

    def measured(self) -> list[tuple[str, float]]:
        return self._bucket.times.measured()


class S3Upload(Upload):
    """The upload of one object: by put_object, or in a multipart upload.

    Args:
        bucket: where to.
        key: of the object.
        content_type: its MIME type.
        first: the offset of its first record.
        rules: what decided where it ends, see `SinkPlan.fingerprint`; "" if the clock did.
        topic: that its records were consumed from.
        conditional: whether an existing object is left alone.
        digest: whether uploads carry their MD5.
    """

    def __init__(
        self,
        bucket: Bucket,
        key: str,
        content_type: str,
        first: int,
        rules: str,
        topic: str,
        *,
        conditional: bool,
        digest: bool,
    ) -> None:
        self.key = key
        self._bucket = bucket
        self._content_type = content_type
        self._first = first
        self._rules = rules
        self._topic = topic
        self._conditional = conditional
        self._digest = digest
        self._id: str | None = None
        self._parts: list[dict[str, Any]] = []

    def put(self, body: bytes, last: int, records: int) -> None:
        from botocore.exceptions import ClientError

        said = told(self._first, last, records, self._rules, self._topic)
        try:
            self._bucket.request(
                "put_object", Key=self.key, Body=body, **self._new(said), **self._md5(body), **self._if()
            )
        except ClientError as error:
            if not _is(error, *_EXISTS):
                raise
            self._look(last, None)

    def part(self, body: bytes) -> None:
        from botocore.exceptions import ClientError

        if self._id is None:
            said = told(self._first, None, None, self._rules, self._topic)
            answer = self._bucket.request("create_multipart_upload", Key=self.key, **self._new(said))
            self._id = answer["UploadId"]
        number = len(self._parts) + 1
        try:
            answer = self._bucket.request(
                "upload_part",
                Key=self.key,
                UploadId=self._id,
                PartNumber=number,
                Body=body,
                **self._md5(body),
                **self._bucket.settings.to_read(),
            )
        except ClientError as error:
            if _is(error, "NoSuchUpload"):
                raise Lost(error) from error
            raise
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})

    def complete(self, last: int, records: int) -> None:
        from botocore.exceptions import ClientError

        if self._id is None:  # an earlier call has found the object complete; what followed it failed
            self._look(last, None)
            return
        try:
            self._bucket.request(
                "complete_multipart_upload",
                Key=self.key,
                UploadId=self._id,
                MultipartUpload={"Parts": self._parts},
                **self._if(),
            )
        except ClientError as error:
            lost = _is(error, "NoSuchUpload")
            if not lost and not _is(error, *_EXISTS):
                raise
            if lost and not self._conditional:  # an object that exists is to be replaced
                raise Lost(error) from error
            try:  # a missing upload may be complete, with its response lost
                self._look(last, self._tag())
            except ClientError as answer:
                if lost and _is(answer, *_MISSING):
                    raise Lost(error) from answer
                raise
            self.abort()

    def abort(self) -> None:
        identity, self._id, self._parts = self._id, None, []
        if identity is not None:
            from botocore.exceptions import ClientError

            try:
                self._bucket.request("abort_multipart_upload", Key=self.key, UploadId=identity)
            except ClientError as error:
                if not _is(error, "NoSuchUpload"):
                    raise

    def tag(self, tags: Mapping[str, str]) -> None:
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._bucket.request("put_object_tagging", Key=self.key, Tagging={"TagSet": pairs})

    def _look(self, last: int, tag: str | None) -> None:
        """Check the existing object: see `check_existing`."""
        answer = self._bucket.request("head_object", Key=self.key, **self._bucket.settings.to_read())
        identical = bool(tag) and answer.get("ETag", "").strip('"') == tag
        said, where = answer.get("Metadata", {}), self._bucket.settings.where
        check_existing(said, last, self._rules, self._topic, key=self.key, where=where, identical=identical)

    def _tag(self) -> str:
        """The entity tag that the object of these parts has."""
        sums = b"".join(bytes.fromhex(part["ETag"].strip('"')[:32]) for part in self._parts if _is_md5(part["ETag"]))
        return f"{hashlib.md5(sums, usedforsecurity=False).hexdigest()}-{len(self._parts)}"

    def _new(self, said: dict[str, str]) -> dict[str, Any]:
        return {"ContentType": self._content_type, "Metadata": said, **self._bucket.settings.to_write()}

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
