"""GcsSinkConnector: writes topics to the objects of a bucket in Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connectors.gcs.keys import GcsSinkOptions
from connectors.gcs.task import GcsSinkTask
from connectors.objects.sink.connector import ObjectSinkConnector


class GcsSinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    options = GcsSinkOptions
    settings = options.definition()
    needs: ClassVar[Mapping[str, str]] = {
        "google.auth": "connect-runtime[gcs]",
        "requests": "connect-runtime[gcs]",
    }
    task = GcsSinkTask
