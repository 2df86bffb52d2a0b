"""Uploads to S3 whose answers are lost."""

from typing import Any

from botocore.exceptions import ClientError

from connectors.s3.bucket import BucketOptions
from connectors.s3.sink.store import S3Upload


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
