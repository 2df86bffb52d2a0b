"""The keys that sink and source have in common, Confluent's names; Aiven's and Debezium's are understood as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from connect import ConfigError, settings
from connect.settings import Definition

_GROUP: Final = "Database"


def _zone(name: str, value: str) -> None:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(f'"{value}" is no time zone. Write UTC or a name such as Europe/Berlin.') from None


def _always_or_never(_: str, value: str) -> None:
    if value.lower() not in ("always", "never", "true", "false"):
        raise ValueError(f'"{value}" is neither always nor never.')


DATABASE: Final[Definition] = settings.define(
    settings.String(
        "connection.url",
        default="",
        importance="HIGH",
        group=_GROUP,
        width="LONG",
        doc="Where the database is, required: a JDBC URL (jdbc:postgresql://host:5432/database) or one of SQLAlchemy's "
        "(postgresql://host:5432/database). What is in neither of the two is given as the dialect's package says.",
    ),
    settings.String("connection.user", default=None, importance="HIGH", group=_GROUP, doc="Who we are there."),
    settings.Password(
        "connection.password",
        default=None,
        importance="HIGH",
        group=_GROUP,
        doc="The password. One that a config provider gives is asked for anew whenever the task starts, also by "
        "itself after a failure.",
    ),
    settings.Class(
        "jdbc.credentials.provider.class",
        default="",
        importance="LOW",
        group=_GROUP,
        doc="A Python class, as module:Class, with a method credentials() that gives user and password for each new "
        "connection; configure(config) is handed the keys jdbc.credentials.provider.*. Nothing: the two keys above.",
    ),
    settings.String(
        "dialect.name",
        default="",
        importance="LOW",
        group=_GROUP,
        doc="Which database it is, where the URL does not say it: PostgreSqlDatabaseDialect, MySqlDatabaseDialect, "
        "SqliteDatabaseDialect or GenericDatabaseDialect. Generic leaves out what only this database has.",
    ),
    settings.Int(
        "connection.attempts",
        default=3,
        importance="LOW",
        group=_GROUP,
        validator=settings.at_least(1),
        doc="How often to try to connect before it is an error.",
    ),
    settings.Long(
        "connection.backoff.ms",
        default=10_000,
        importance="LOW",
        group=_GROUP,
        validator=settings.at_least(0),
        doc="How long to wait between tries to connect.",
    ),
    settings.String(
        "db.timezone",
        default="UTC",
        group=_GROUP,
        validator=_zone,
        doc="The zone of dates and times in columns that have none of their own.",
    ),
    settings.String(
        "quote.sql.identifiers",
        default="always",
        group=_GROUP,
        validator=_always_or_never,
        doc="always: names of tables and columns are taken as they are. never: the database folds them its own way.",
    ),
    aliases={
        "connection.username": "connection.user",
        "sql.quote.identifiers": "quote.sql.identifiers",
        "quote.identifiers": "quote.sql.identifiers",
    },
)


@dataclass(frozen=True)
class DatabaseSettings:
    """What the keys say, typed.

    Attributes:
        url: as it was written; `connectors.jdbc.database.url` reads it.
        backoff: seconds between tries to connect.
    """

    url: str
    dialect: str
    attempts: int
    backoff: float
    zone: ZoneInfo
    quotes: bool

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> DatabaseSettings:
        """Of a configuration that DATABASE, and more, has parsed."""
        if not parsed["connection.url"]:
            raise ConfigError("connection.url", "is required: jdbc:postgresql://host:5432/database, for example.")
        return cls(
            url=parsed["connection.url"],
            dialect=parsed["dialect.name"],
            attempts=parsed["connection.attempts"],
            backoff=parsed["connection.backoff.ms"] / 1000,
            zone=ZoneInfo(parsed["db.timezone"]),
            quotes=parsed["quote.sql.identifiers"].lower() in ("always", "true"),
        )
