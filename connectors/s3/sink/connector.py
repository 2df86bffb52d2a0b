"""S3SinkConnector: writes topics to the objects of a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connectors.objects.sink.connector import ObjectSinkConnector
from connectors.s3.sink.keys import S3SinkOptions
from connectors.s3.sink.task import S3SinkTask


class S3SinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    options = S3SinkOptions
    settings = options.definition()
    needs: ClassVar[Mapping[str, str]] = {"boto3": "connect-runtime[s3]"}
    task = S3SinkTask

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.s3.bucket.listing import buckets

        return buckets(self.settings, config)
