"""PostgresCdcSource: changes of a PostgreSQL database, by logical replication, in Debezium's form.

https://www.postgresql.org/docs/current/logicaldecoding.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import ConnectError
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.replication import parameters
from connectors.jdbc.capture.task import PostgresCdcSourceTask
from connectors.jdbc.changes.connector import PATIENCE, CaptureConnector
from connectors.jdbc.changes.offsets import check


class PostgresCdcSourceConnector(CaptureConnector):
    """One task captures one database: a slot has one reader."""

    settings = CaptureOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"psycopg": "connect-runtime[jdbc]"}
    task = PostgresCdcSourceTask

    def ask(self, config: Mapping[str, str]) -> None:
        from connectors.jdbc.capture.database import CapturedDatabase

        chosen = CaptureOptions.parse(config)
        database = CapturedDatabase(parameters(config, timeout=PATIENCE))
        try:
            if chosen.snapshot_mode != "initial_only" and (problem := database.problem()):
                raise ConnectError(problem)
            database.slot(chosen.slot)
        finally:
            database.close()

    def place(self, config: Mapping[str, str]) -> str:
        return "connection.url" if config.get("connection.url") else super().place(config)

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.jdbc.capture import listing

        with listing.opened(config, PATIENCE) as database:
            if key == "publication.name":
                return listing.publications(database)
            return listing.schemas(database) if key.startswith("schema.") else listing.tables(database)

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        check(
            config.get("topic.prefix"),
            offsets,
            lambda offset: isinstance(offset.get("lsn"), int),
            'An offset is null or has a position in the log as a number: {"lsn": 123456}.',
        )
        return True
