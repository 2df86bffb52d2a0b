"""Random records of a schema, at a rate: for demonstrations and load tests."""

from connectors.datagen.connector import DatagenConnector, DatagenTask

__all__ = ["DatagenConnector", "DatagenTask"]
