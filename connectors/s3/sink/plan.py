"""What follows from the keys of the S3 sink."""

from __future__ import annotations

from connect.settings import Config
from connectors.objects.sink.plan import SinkPlan
from connectors.s3.sink.keys import S3SinkOptions


class S3SinkPlan(SinkPlan, S3SinkOptions):
    """The plan, with Amazon's keys and tags."""

    reach = ("aws", "s3.", "store.")
    of_aivens = ("aws_s3_bucket",)

    @property
    def namespace(self) -> str:
        return f"s3://{self.bucket}"

    def __init__(self, config: Config) -> None:
        """Derive the plan from parsed values. Raises as `SinkPlan`."""
        super().__init__(config)
        if self.s3_object_tagging:
            pairs = (pair.partition(":") for pair in self.s3_object_tagging_key_value_pairs)
            self.tags = tuple((key.strip(), value.strip()) for key, _, value in pairs)
