"""Changes of a PostgreSQL database as they happen: logical replication with pgoutput, in Debezium's form."""

from connectors.jdbc.capture.connector import PostgresCdcSourceConnector
from connectors.jdbc.capture.task import PostgresCdcSourceTask

__all__ = ["PostgresCdcSourceConnector", "PostgresCdcSourceTask"]
