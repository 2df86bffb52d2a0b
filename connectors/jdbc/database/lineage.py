"""What a database and its tables are called in lineage: https://openlineage.io/docs/spec/naming"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connectors.jdbc.database.url import translate

_SCHEMES: Final = {"postgresql": "postgres", "mariadb": "mysql"}


def datasets(url: str, tables: Iterable[str]) -> list[tuple[str, str]]:
    """Namespace and name of tables: the database's address without its user, the database and the table.

    Raises:
        ConfigError: `url` cannot be read.
    """
    found = translate(url)
    backend = found.get_backend_name()
    host = found.host or "localhost"
    namespace = f"{_SCHEMES.get(backend, backend)}://{host}{f':{found.port}' if found.port else ''}"
    if backend == "sqlite":
        namespace = "file"
    return [(namespace, f"{found.database}.{table}" if found.database else table) for table in tables]
