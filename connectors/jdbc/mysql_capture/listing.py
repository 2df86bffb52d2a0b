"""Lists what is in a server now, for those who fill in a form: databases and tables as patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from connectors.jdbc.database.names import pattern
from connectors.jdbc.mysql_capture.database import CapturedServer
from connectors.jdbc.mysql_capture.login import connection_options


@contextmanager
def opened(config: Mapping[str, str], timeout: int) -> Iterator[CapturedServer]:
    """A connection for a while. Raises ConnectError."""
    server = CapturedServer(connection_options(config, timeout))
    try:
        yield server
    finally:
        server.close()


def databases(server: CapturedServer) -> list[str]:
    """The databases, as `database.include.list` has them."""
    return [pattern(name) for name in server.databases() if "," not in name]


def tables(server: CapturedServer) -> list[str]:
    """The tables, as `table.include.list` has them."""
    return [pattern(f"{database}.{name}") for database, name in server.tables() if "," not in database + name]
