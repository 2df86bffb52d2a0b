"""What follows from the keys of the S3 sink."""

from __future__ import annotations

import re

from connect.settings import Config
from connectors.objects.sink.key_limits import KeyLimits
from connectors.objects.sink.plan import SinkPlan
from connectors.s3.sink.keys import S3SinkOptions


class S3SinkPlan(SinkPlan, S3SinkOptions):
    """The plan, with Amazon's keys and tags."""

    reach = ("aws", "s3.", "store.")
    of_aivens = ("aws_s3_bucket",)
    # Amazon has some keys with dots, most other stores have none. The characters are those that XML 1.0 cannot say:
    # nobody can read the answer to a request for an upload in parts.
    key_limits = KeyLimits(dots=False, forbidden=re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"))

    @property
    def namespace(self) -> str:
        return f"s3://{self.bucket}"

    def __init__(self, config: Config) -> None:
        """Derive the plan from parsed values. Raises as `SinkPlan`."""
        super().__init__(config)
        if self.s3_object_tagging:
            pairs = (pair.partition(":") for pair in self.s3_object_tagging_key_value_pairs)
            self.tags = tuple((key.strip(), value.strip()) for key, _, value in pairs)
