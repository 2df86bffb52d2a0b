"""AzureBlobSinkConnector: writes topics to the blobs of a container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from connectors.azure.keys import AzureBlobSinkOptions, problems
from connectors.azure.task import AzureBlobSinkTask
from connectors.objects.sink.connector import ObjectSinkConnector

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan


class AzureBlobSinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    settings = AzureBlobSinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"azure.storage.blob": "connect-runtime[azure]"}
    task = AzureBlobSinkTask

    @classmethod
    def namespace(cls, options: SinkPlan) -> str:
        assert isinstance(options, AzureBlobSinkOptions)
        return f"wasbs://{options.container}@{options.account}.blob.core.windows.net"

    def problems(self, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        return problems(parsed)
