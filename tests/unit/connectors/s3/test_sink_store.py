"""Uploads to S3 whose answers are lost, and those that an earlier task has left."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from connectors.objects.store import Lost
from connectors.s3.bucket import BucketOptions
from connectors.s3.sink.store import S3Store, S3Upload


class Bucket:
    """Has one object at most, in parts. An upload that is complete is unknown from then on."""

    def __init__(self) -> None:
        self.settings = BucketOptions.parse({"s3.bucket.name": "b"})
        self.said: dict[str, str] = {}
        self.complete = False

    def request(self, operation: str, **asked: Any) -> Any:
        if operation == "create_multipart_upload":
            self.said = asked["Metadata"]
            return {"UploadId": "u"}
        if operation == "upload_part":
            return {"ETag": '"e"'}
        if operation == "head_object":
            return {"Metadata": self.said, "ETag": '"other"'}
        assert asked["UploadId"] == "u"
        if self.complete:
            raise ClientError({"Error": {"Code": "NoSuchUpload"}}, operation)
        self.complete = operation == "complete_multipart_upload"
        return {}


def test_an_object_that_is_complete_is_found_however_often_that_is_asked() -> None:
    """As where its tags are refused again and again."""
    bucket: Any = Bucket()
    upload = S3Upload(bucket, "k", "text/plain", 0, "rules", "t", conditional=True, digest=False)
    upload.part(b"a")
    for _ in range(4):
        upload.complete(9, 10)
    assert bucket.complete


class Forgetful:
    """Has no upload that it is asked about; and an object, if it is said what that says."""

    def __init__(self, said: dict[str, str] | None) -> None:
        self.settings = BucketOptions.parse({"s3.bucket.name": "b"})
        self.forgets = False
        self._said = said

    def request(self, operation: str, **_: Any) -> Any:
        if operation == "head_object" and self._said is not None:
            return {"Metadata": self._said, "ETag": '"older"'}
        if self.forgets:
            code = "404" if operation == "head_object" else "NoSuchUpload"
            raise ClientError({"Error": {"Code": code}}, operation)
        return {"UploadId": "u", "ETag": '"e"'}


@pytest.mark.promise("P1")
@pytest.mark.parametrize(("conditional", "said"), [(True, None), (False, None), (False, {"connect-rules": "rules"})])
def test_an_upload_that_the_store_has_removed_is_lost(conditional: bool, said: dict[str, str] | None) -> None:
    """Unless it was complete; an object that is to be replaced does not say so."""
    bucket: Any = Forgetful(said)
    upload = S3Upload(bucket, "k", "text/plain", 0, "rules", "t", conditional=conditional, digest=False)
    upload.part(b"a")
    bucket.forgets = True
    with pytest.raises(Lost, match="NoSuchUpload"):
        upload.part(b"b")
    with pytest.raises(Lost, match="NoSuchUpload"):
        upload.complete(9, 10)
    upload.abort()


class Left:
    """Has many unfinished uploads, and lists two at a time."""

    name = "b"

    def __init__(self, keys: list[str]) -> None:
        self.settings = BucketOptions.parse({"s3.bucket.name": "b"})
        self.keys = keys

    def request(self, operation: str, **asked: Any) -> Any:
        if operation == "abort_multipart_upload":
            self.keys.remove(asked["Key"])
            return {}
        assert operation == "list_multipart_uploads"
        after = [key for key in self.keys if key > asked.get("KeyMarker", "")]
        more = {"IsTruncated": True, "NextKeyMarker": after[1], "NextUploadIdMarker": "u"} if len(after) > 2 else {}
        return {"Uploads": [{"Key": key, "UploadId": "u"} for key in after[:2]], **more}


def test_all_unfinished_uploads_of_ones_own_are_aborted_however_many_there_are() -> None:
    bucket: Any = Left(["a", "b", "c", "mine-1", "mine-2", "mine-3", "z"])
    S3Store(bucket, digest=False).abort_left("", lambda key: key.startswith("mine"))
    assert bucket.keys == ["a", "b", "c", "z"]
