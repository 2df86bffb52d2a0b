"""Azure Blob Storage: topics to blobs."""

from connectors.azure.connector import AzureBlobSinkConnector

__all__ = ["AzureBlobSinkConnector"]
