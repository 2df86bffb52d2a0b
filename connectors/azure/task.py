"""AzureBlobSinkTask: writes records to the blobs of a container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from connectors.azure.keys import AzureBlobSinkOptions
from connectors.objects.sink.task import ObjectSinkTask

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan
    from connectors.objects.store import Store


class AzureBlobSinkTask(ObjectSinkTask):
    """See `ObjectSinkTask`."""

    settings = AzureBlobSinkOptions.definition()
    kind = "azblob"

    @staticmethod
    def plan(config: Mapping[str, str]) -> SinkPlan:
        from connectors.azure.plan import AzureBlobSinkPlan

        return AzureBlobSinkPlan.parse(config)

    def store(self, options: SinkPlan, config: Mapping[str, str]) -> Store:
        from connectors.azure.plan import AzureBlobSinkPlan
        from connectors.azure.store import AzureStore

        assert isinstance(options, AzureBlobSinkPlan)
        return AzureStore(options)
