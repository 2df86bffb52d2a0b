"""Databases that the JDBC sink is run against, all with the same few methods."""

import sqlite3
from pathlib import Path
from typing import Any, Protocol

from connect import Schema, SinkRecord, Type, logical
from tests.servers.mariadb import MariaDatabase
from tests.servers.postgresql import PostgresDatabase


class Target(Protocol):
    """One empty database."""

    kind: str

    @property
    def config(self) -> dict[str, str]:
        """The keys by which the connector reaches it."""

    def execute(self, sql: str) -> list[Any]:
        """Run one statement in a connection of its own; its rows."""


def reached(database: PostgresDatabase | MariaDatabase) -> dict[str, str]:
    """The keys by which a connector reaches a server's database."""
    return {
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
    }


class Postgres:
    kind = "postgresql"

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    @property
    def config(self) -> dict[str, str]:
        return reached(self.database)

    def execute(self, sql: str) -> list[Any]:
        return self.database.execute(sql)


class Maria:
    kind = "mysql"

    def __init__(self, database: MariaDatabase) -> None:
        self.database = database

    @property
    def config(self) -> dict[str, str]:
        return reached(self.database)

    def execute(self, sql: str) -> list[Any]:
        return list(self.database.execute(sql.replace('"', "`")))


class Sqlite:
    kind = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def config(self) -> dict[str, str]:
        return {"connection.url": f"jdbc:sqlite:{self.path}"}

    def execute(self, sql: str) -> list[Any]:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            with connection:
                return connection.execute(sql).fetchall()
        finally:
            connection.close()


class Generic(Sqlite):
    """SQLite as a database that nothing is known of."""

    kind = "generic"

    @property
    def config(self) -> dict[str, str]:
        return {**super().config, "dialect.name": "GenericDatabaseDialect"}


PERSON = Schema.struct(
    {
        "id": Schema(Type.INT32),
        "name": Schema(Type.STRING, optional=True),
        "balance": logical.decimal(2, optional=True),
    }
)
KEY = Schema.struct({"id": Schema(Type.INT32)})


def person(number: int, name: str | None = "Ada", balance: Any = None, topic: str = "people") -> SinkRecord:
    """A record with a key and a value."""
    return SinkRecord(topic, {"id": number, "name": name, "balance": balance}, PERSON, {"id": number}, KEY)


def gone(number: int, topic: str = "people") -> SinkRecord:
    """A tombstone."""
    return SinkRecord(topic, None, None, {"id": number}, KEY)
