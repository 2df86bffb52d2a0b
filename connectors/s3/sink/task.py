"""S3SinkTask: writes records to the objects of a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from connectors.objects.sink.task import ObjectSinkTask
from connectors.s3.sink.keys import S3SinkOptions

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan
    from connectors.objects.store import Store


class S3SinkTask(ObjectSinkTask):
    """See `ObjectSinkTask`."""

    settings = S3SinkOptions.definition()
    kind = "s3"

    @staticmethod
    def plan(config: Mapping[str, str]) -> SinkPlan:
        from connectors.s3.sink.plan import S3SinkPlan

        return S3SinkPlan.parse(config)

    def store(self, options: SinkPlan, config: Mapping[str, str]) -> Store:
        from connectors.s3.bucket import Bucket
        from connectors.s3.sink.plan import S3SinkPlan
        from connectors.s3.sink.store import S3Store

        assert isinstance(options, S3SinkPlan)
        return S3Store(Bucket(options, config), digest=options.digest)
