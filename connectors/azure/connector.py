"""AzureBlobSinkConnector: writes topics to the blobs of a container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connectors.azure.keys import AzureBlobSinkOptions, problems
from connectors.azure.task import AzureBlobSinkTask
from connectors.objects.sink.connector import ObjectSinkConnector


class AzureBlobSinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    settings = AzureBlobSinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"azure.storage.blob": "connect-runtime[azure]"}
    task = AzureBlobSinkTask

    def problems(self, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        return problems(parsed)
