"""What source and sink share about one database: its address, the login, a connection that is reopened, its names."""

from connectors.jdbc.database.connection import Database
from connectors.jdbc.database.failures import passes
from connectors.jdbc.database.keys import DatabaseOptions
from connectors.jdbc.database.names import TableName

__all__ = ["Database", "DatabaseOptions", "TableName", "passes"]
