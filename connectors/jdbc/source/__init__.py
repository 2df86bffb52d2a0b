"""Tables and queries of a database into topics: Confluent's JDBC source by its keys and offsets, read by columns."""

from connectors.jdbc.source.connector import JdbcSourceConnector
from connectors.jdbc.source.task import JdbcSourceTask

__all__ = ["JdbcSourceConnector", "JdbcSourceTask"]
