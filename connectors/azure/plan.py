"""What follows from the keys of the sink."""

from __future__ import annotations

from connectors.azure.keys import AzureBlobSinkOptions
from connectors.objects.sink.plan import SinkPlan


class AzureBlobSinkPlan(SinkPlan, AzureBlobSinkOptions):
    """The plan, with the store's keys."""

    reach = ("azblob.", "az.")

    @property
    def namespace(self) -> str:
        return f"wasbs://{self.container}@{self.account}.blob.core.windows.net"
