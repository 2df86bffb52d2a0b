"""Records made up from a schema, at a rate: for demonstrations and for load."""

from connectors.datagen.connector import DatagenConnector, DatagenTask

__all__ = ["DatagenConnector", "DatagenTask"]
