"""Records of topics as rows of tables."""

from connectors.jdbc.sink.connector import JdbcSinkConnector
from connectors.jdbc.sink.task import JdbcSinkTask

__all__ = ["JdbcSinkConnector", "JdbcSinkTask"]
