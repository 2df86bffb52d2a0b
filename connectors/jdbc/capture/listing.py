"""Lists what is in a database now, for those who fill in a form: schemas and tables as patterns, and publications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.database import CapturedDatabase
from connectors.jdbc.capture.replication import parameters
from connectors.jdbc.database.names import pattern


@contextmanager
def opened(config: Mapping[str, str], timeout: int) -> Iterator[CapturedDatabase]:
    """A connection for a while. Raises ConnectError."""
    database = CapturedDatabase(parameters(config, timeout=timeout))
    try:
        yield database
    finally:
        database.close()


def tables(database: CapturedDatabase) -> list[str]:
    """The tables that can be captured, partitions of others too, as `table.include.list` has them."""
    return [pattern(table.full_name) for table in catalog.tables(database.query) if "," not in table.full_name]


def schemas(database: CapturedDatabase) -> list[str]:
    """The schemas of these tables, as `schema.include.list` has them."""
    found = {table.schema for table in catalog.tables(database.query)}
    return sorted(pattern(name) for name in found if "," not in name)


def publications(database: CapturedDatabase) -> list[str]:
    """The publications of the database."""
    return [name for (name,) in database.query("SELECT pubname FROM pg_catalog.pg_publication ORDER BY pubname")]
