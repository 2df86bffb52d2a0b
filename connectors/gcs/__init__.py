"""Google Cloud Storage: topics to objects."""

from connectors.gcs.connector import GcsSinkConnector

__all__ = ["GcsSinkConnector"]
