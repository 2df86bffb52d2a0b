"""One database as both directions see it: where it is, who we are there, a connection that comes back, its names."""

from connectors.jdbc.database.connection import Database
from connectors.jdbc.database.failures import passes
from connectors.jdbc.database.keys import DatabaseOptions
from connectors.jdbc.database.names import TableName

__all__ = ["Database", "DatabaseOptions", "TableName", "passes"]
