"""The JDBC sink keeps the conformance suite for sinks, on SQLite and on PostgreSQL."""

import sqlite3
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import psycopg
import pytest

from connect.testing.conformance import SinkConformance
from connectors.jdbc.sink import JdbcSinkConnector

if TYPE_CHECKING:
    from tests.servers.postgresql import PostgresDatabase


class TestSqlite(SinkConformance):
    connector = JdbcSinkConnector
    repeats: ClassVar[Literal["harmless", "duplicates"]] = "duplicates"

    def config(self) -> dict[str, str]:
        url = f"jdbc:sqlite:{self.tmp_path}/numbers.db"
        return {"name": "numbers", "connection.url": url, "auto.create": "true", "schemaless.inference": "true"}

    def value(self, number: int) -> Any:
        return {"number": number}

    def written(self) -> list[Any]:
        connection = sqlite3.connect(self.tmp_path / "numbers.db")
        try:
            return [{"number": number} for (number,) in connection.execute("SELECT number FROM test ORDER BY rowid")]
        except sqlite3.OperationalError:
            return []
        finally:
            connection.close()


class TestPostgres(TestSqlite):
    @pytest.fixture(autouse=True)
    def _database(self, postgres_database: "PostgresDatabase") -> None:
        self.database = postgres_database

    def config(self) -> dict[str, str]:
        database = self.database
        return {
            **super().config(),
            "connection.url": database.jdbc_url,
            "connection.user": database.user,
            "connection.password": database.password,
        }

    def written(self) -> list[Any]:
        try:
            return [{"number": number} for (number,) in self.database.execute("SELECT number FROM test ORDER BY ctid")]
        except psycopg.errors.UndefinedTable:
            return []


class TestExactlyOnce(TestPostgres):
    repeats = "harmless"

    def config(self) -> dict[str, str]:
        return {**super().config(), "exactly.once": "true"}


class TestUpserts(TestSqlite):
    repeats = "harmless"

    def config(self) -> dict[str, str]:
        return {**super().config(), "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "number"}
