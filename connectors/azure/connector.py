"""AzureBlobSinkConnector: writes topics to the blobs of a container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connectors.azure.keys import AzureBlobSinkOptions
from connectors.azure.task import AzureBlobSinkTask
from connectors.objects.sink.connector import ObjectSinkConnector


class AzureBlobSinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    options = AzureBlobSinkOptions
    settings = options.definition()
    needs: ClassVar[Mapping[str, str]] = {"azure.storage.blob": "connect-runtime[azure]"}
    task = AzureBlobSinkTask
