"""How each database is read: its tables, its types, its clock, its literals, its fastest results."""

from __future__ import annotations

from connectors.jdbc.database import Database
from connectors.jdbc.source.servers.server import Result, Select, Server

__all__ = ["Result", "Select", "Server", "server_of"]


def server_of(database: Database, *, quotes: bool = True, timeout_ms: int = 0) -> Server:
    """The implementation for a kind of database."""
    chosen: type[Server] = Server
    if database.kind == "postgresql":
        from connectors.jdbc.source.servers.postgresql import PostgresqlServer

        chosen = PostgresqlServer
    elif database.kind == "mysql":
        from connectors.jdbc.source.servers.mysql import MysqlServer

        chosen = MysqlServer
    elif database.kind == "sqlite":
        from connectors.jdbc.source.servers.sqlite import SqliteServer

        chosen = SqliteServer
    return chosen(database, quotes=quotes, timeout_ms=timeout_ms)
