"""Lists the tables that are in a database now, for those who fill in a form.

Only the keys that lead to the database and select among its tables are read: others may be missing or wrong still.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from connect import ConnectError
from connect.settings import Definition
from connectors.jdbc.database import Database, DatabaseOptions, TableName
from connectors.jdbc.database.connection import reason
from connectors.jdbc.database.names import pattern
from connectors.jdbc.source.keys import BULK, JdbcSourceOptions
from connectors.jdbc.source.servers import Server, server_of
from connectors.jdbc.source.tables import Selection

#: How long the database may take for the list.
_TIMEOUT_MS: Final = 10_000
_SELECTING: Final = ("schema.pattern", "catalog.pattern", "table.types")
_WRITABLE: Final = {"TABLE", "PARTITIONED_TABLE"}
_NEEDS_QUOTES: Final = re.compile(r'[."`\[\]]')


def tables_to_read(config: Mapping[str, str]) -> list[str]:
    """The names of the tables that a source can read, as `table.whitelist` has them.

    Raises:
        ConnectError: the database cannot be reached, or refuses; or a key that leads to it is wrong.
    """
    return [_quoted(parts) for parts in _readable(config)]


def patterns_to_read(config: Mapping[str, str]) -> list[str]:
    """Patterns of the same tables, as `table.include.list` has them. Dots stay as they are; they match themselves."""
    return [pattern(".".join(parts)) for parts in _readable(config)]


def tables_to_write(definition: Definition, config: Mapping[str, str]) -> list[str]:
    """The names of the tables that a sink with these settings can write to. Raises as the others do."""
    options = DatabaseOptions.parse(_only(config, definition))
    return [_quoted(parts) for parts in _names(options, config, lambda _: lambda _, kind: kind in _WRITABLE)]


_Takes = Callable[[TableName, str], bool]


def _readable(config: Mapping[str, str]) -> list[tuple[str, ...]]:
    options = JdbcSourceOptions.parse({**_only(config, JdbcSourceOptions.definition(), *_SELECTING), "mode": BULK})
    return _names(options, config, lambda catalog: Selection(options, catalog).takes)


def _only(config: Mapping[str, str], definition: Definition, *more: str) -> dict[str, str]:
    named = definition.named(config)
    keys = [*(setting.name for setting in DatabaseOptions.definition()), *more]
    return {**{key: named[key] for key in keys if key in named}, "connection.attempts": "1"}


def _names(
    options: DatabaseOptions, config: Mapping[str, str], chooser: Callable[[str | None], _Takes]
) -> list[tuple[str, ...]]:
    """The parts of the name of each table, without the catalog where it goes without saying, in order."""
    with _connected(options, config) as (server, connection):
        own = server.catalog(connection)
        takes = chooser(own)
        found = [table for table, kind in server.tables(connection) if takes(table, kind)]
    catalogs = {table.catalog for table in found}
    own = own or (catalogs.pop() if len(catalogs) == 1 else None)
    return sorted(table.parts[1:] if table.catalog and table.catalog == own else table.parts for table in found)


@contextmanager
def _connected(options: DatabaseOptions, config: Mapping[str, str]) -> Iterator[tuple[Server, Connection]]:
    database = Database(options, config)
    file = database.url.database if database.kind == "sqlite" else None
    if file and not file.startswith((":", "file:")) and not Path(file).exists():  # SQLite would make an empty one
        raise ConnectError(f"There is no file {file}.")
    try:
        server = server_of(database, quotes=options.quotes, timeout_ms=_TIMEOUT_MS)
        yield server, server.connect()
    except (SQLAlchemyError, OSError) as error:
        raise ConnectError(f"{database} cannot list its tables: {reason(error)}") from error
    finally:
        database.close()


def _quoted(parts: Iterable[str]) -> str:
    """A name as users write it: parts that would be read otherwise are in quotes."""
    return ".".join('"{}"'.format(part.replace('"', '""')) if _NEEDS_QUOTES.search(part) else part for part in parts)
