"""S3SinkConnector: writes topics to the objects of a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from connectors.objects.sink.connector import ObjectSinkConnector
from connectors.s3.bucket.keys import problems
from connectors.s3.sink.keys import S3SinkOptions
from connectors.s3.sink.task import S3SinkTask

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan


class S3SinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    settings = S3SinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"boto3": "connect-runtime[s3]"}
    task = S3SinkTask

    @classmethod
    def namespace(cls, options: SinkPlan) -> str:
        assert isinstance(options, S3SinkOptions)
        return f"s3://{options.bucket}"

    def problems(self, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        return problems(parsed)

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.s3.bucket.listing import buckets

        return buckets(self.settings, config)
