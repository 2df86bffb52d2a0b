"""The keys that sink and source share, with Confluent's names; Aiven's and Debezium's are accepted as well."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

from connect import ConfigError, settings
from connect.settings import Config

_GROUP: Final = "Database"


def _zone(value: str) -> ZoneInfo:
    try:
        return ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(f'"{value}" is not a time zone. Write UTC or a name such as Europe/Berlin.') from None


def _always(value: str) -> bool:
    if value.lower() not in ("always", "never", "true", "false"):
        raise ValueError(f'"{value}" is neither always nor never.')
    return value.lower() in ("always", "true")


class DatabaseOptions(
    settings.Options,
    aliases={
        "connection.username": "connection.user",
        "sql.quote.identifiers": "quote.sql.identifiers",
        "quote.identifiers": "quote.sql.identifiers",
    },
):
    """How the database is reached. `connectors.jdbc.database.url` reads the URL."""

    url = settings.String(
        "connection.url",
        default="",
        importance="HIGH",
        group=_GROUP,
        width="LONG",
        doc="The address of the database, required: a JDBC URL (jdbc:postgresql://host:5432/database) or one of "
        "SQLAlchemy's (postgresql://host:5432/database). Other databases need a URL as the dialect's package "
        "describes it.",
    )
    connection_user = settings.String(
        "connection.user", default=None, importance="HIGH", group=_GROUP, doc="The user name."
    )
    connection_password = settings.Password(
        "connection.password",
        default=None,
        importance="HIGH",
        group=_GROUP,
        doc="The password. The task asks a config provider again whenever it starts, also after a failure.",
    )
    jdbc_credentials_provider_class = settings.Class(
        "jdbc.credentials.provider.class",
        default="",
        importance="LOW",
        group=_GROUP,
        doc="A Python class, as module:Class, with a method credentials() that gives user and password for each new "
        "connection; configure(config) receives the keys jdbc.credentials.provider.*. Unset: the two keys above.",
    )
    dialect = settings.String(
        "dialect.name",
        default="",
        importance="LOW",
        group=_GROUP,
        doc="The kind of database, if the URL does not say it: PostgreSqlDatabaseDialect, MySqlDatabaseDialect, "
        "SqliteDatabaseDialect or GenericDatabaseDialect. Generic leaves out the features of this database.",
    )
    attempts = settings.Int(
        "connection.attempts",
        default=3,
        importance="LOW",
        group=_GROUP,
        validator=settings.at_least(1),
        doc="How often to try to connect before the task fails.",
    )
    backoff = settings.Long(
        "connection.backoff.ms",
        default=10_000,
        importance="LOW",
        group=_GROUP,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long to wait between two attempts to connect.",
    )
    zone = settings.String(
        "db.timezone",
        default="UTC",
        group=_GROUP,
        convert=_zone,
        doc="The zone of dates and times in columns that have none of their own.",
    )
    quotes = settings.String(
        "quote.sql.identifiers",
        default="always",
        group=_GROUP,
        convert=_always,
        doc="always: names of tables and columns are used unchanged. never: the database folds their case.",
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if not self.url:
            raise ConfigError("connection.url", "is required: jdbc:postgresql://host:5432/database, for example.")
