"""PostgresCdcSource: changes of a PostgreSQL database, by logical replication, in Debezium's form.

https://www.postgresql.org/docs/current/logicaldecoding.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import ConfigError, ConnectError, ExactlyOnceSupport, SourceConnector, __version__
from connect.settings import ConfigValue
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.replication import parameters
from connectors.jdbc.capture.task import PostgresCdcSourceTask
from connectors.jdbc.changes.offsets import check

#: Seconds that a validation waits for the database.
_PATIENCE = 5


class PostgresCdcSourceConnector(SourceConnector):
    """One task captures one database: a slot has one reader."""

    settings = CaptureOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"psycopg": "connect-runtime[jdbc]"}
    version = __version__
    task = PostgresCdcSourceTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        found = super().validate(config)
        by_name = {each.name: each for each in found}
        if any(each.errors for each in found):
            return found
        try:
            chosen = CaptureOptions.parse(config)
            _ask(chosen, config)
        except ConfigError as error:
            by_name[error.key if error.key in by_name else "database.hostname"].errors.append(error.message)
        except ConnectError as error:
            by_name["connection.url" if config.get("connection.url") else "database.hostname"].errors.append(str(error))
        return found

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.jdbc.capture import listing

        with listing.opened(config, _PATIENCE) as database:
            if key == "publication.name":
                return listing.publications(database)
            return listing.schemas(database) if key.startswith("schema.") else listing.tables(database)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        check(
            config.get("topic.prefix"),
            offsets,
            lambda offset: isinstance(offset.get("lsn"), int),
            'An offset is null or has a position in the log as a number: {"lsn": 123456}.',
        )
        return True


def _ask(chosen: CaptureOptions, config: Mapping[str, str]) -> None:
    """Ask the database itself. Raises ConnectError."""
    from connectors.jdbc.capture.database import CapturedDatabase

    database = CapturedDatabase(parameters(config, timeout=_PATIENCE))
    try:
        if chosen.snapshot_mode != "initial_only" and (problem := database.problem()):
            raise ConnectError(problem)
        database.slot(chosen.slot)
    finally:
        database.close()
