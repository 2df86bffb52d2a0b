"""Actions on objects that were read, where something else has an action of its own."""

import datetime as dt
from typing import Any

import pytest
from botocore.exceptions import ClientError

from connect import ConnectError
from connectors.objects.store import RequestTimes
from connectors.s3.source.actions import Actions
from connectors.s3.source.keys import S3SourceOptions
from connectors.s3.source.lanes import Found, Lane
from connectors.s3.source.store import Store
from connectors.s3.source.walk import Next


class Bucket:
    """Has an object when it is looked at, and answers so when it is copied."""

    name = "b"

    def __init__(self, code: str) -> None:
        self.settings = S3SourceOptions.parse({"s3.bucket.name": "b", "topic": "t"})
        self.times = RequestTimes()
        self.client = self
        self._code = code

    def request(self, operation: str, **_: Any) -> Any:
        assert operation == "head_object"
        return {"ETag": '"e"', "ContentLength": 1, "LastModified": dt.datetime(2024, 5, 1, tzinfo=dt.UTC)}

    def copy(self, *_: Any, **__: Any) -> None:
        answer: Any = {"Error": {"Code": self._code}, "ResponseMetadata": {"HTTPStatusCode": 404}}
        raise ClientError(answer, "CopyObject")


def moving(code: str) -> Actions:
    """One object that is to be moved from such a bucket."""
    bucket: Any = Bucket(code)
    config = {"s3.bucket.name": "b", "topic": "t", "done.action": "move", "done.prefix": "done/"}
    actions = Actions(Store(bucket), S3SourceOptions.parse(config))
    found = Found("a", "e")
    lane = Lane({"bucket": "b"}, None, window=10, timed=False)
    actions.add(Next(lane, found, (0, "a"), 0), durable=True)  # type: ignore[arg-type]
    return actions


@pytest.mark.parametrize("code", ["404", "NoSuchKey"])
def test_an_object_that_vanishes_while_it_is_moved_is_done(code: str) -> None:
    assert moving(code).run(5.0) == 1


@pytest.mark.parametrize("code", ["NoSuchBucket", "NoSuchUpload"])
def test_an_object_that_cannot_be_moved_is_kept(code: str) -> None:
    actions = moving(code)
    for _ in range(2):
        with pytest.raises(ConnectError, match=code):
            actions.run(5.0)
