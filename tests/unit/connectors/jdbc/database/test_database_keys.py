"""The keys that sink and source share, who we are for a database, and a connection that comes back."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import sqlalchemy

from connect import ConfigError, RetriableError
from connectors.jdbc.database import Database, DatabaseOptions
from connectors.jdbc.database.connection import credentials_for


def settings(**config: str) -> DatabaseOptions:
    given = {key.replace("_", "."): value for key, value in config.items()}
    return DatabaseOptions.parse(given)


def test_defaults_are_those_of_java_s_connector() -> None:
    found = settings(connection_url="jdbc:sqlite:x")
    assert (found.attempts, found.backoff, str(found.zone), found.quotes) == (3, 10.0, "UTC", True)
    with pytest.raises(ConfigError, match="is required"):
        settings()


def test_others_names_are_understood_and_ours_win() -> None:
    assert not settings(connection_url="x", quote_identifiers="false").quotes
    assert settings(connection_url="x", quote_identifiers="false", quote_sql_identifiers="always").quotes


class Vault:
    """A provider of a user's own."""

    given: Mapping[str, str] = {}
    turn = 0

    def configure(self, config: Mapping[str, str]) -> None:
        type(self).given = config

    def credentials(self) -> tuple[str, str]:
        type(self).turn += 1
        return "me", f"password {self.turn}"


def test_credentials_are_asked_for_each_time() -> None:
    config = {
        "jdbc.credentials.provider.class": f"{Vault.__module__}:Vault",
        "jdbc.credentials.provider.path": "secret/db",
    }
    import sys

    sys.modules.setdefault(Vault.__module__, sys.modules[__name__])
    asked = credentials_for(config)
    first, second = asked(), asked()
    assert (first.user, first.password, second.password) == ("me", "password 1", "password 2")
    assert Vault.given["path"] == "secret/db"
    assert "password 1" not in repr(first)


def test_a_provider_that_cannot_be_loaded_is_named() -> None:
    for name in ("nowhere:Vault", "json:Vault", "Vault"):
        with pytest.raises(ConfigError, match="cannot be loaded"):
            credentials_for({"jdbc.credentials.provider.class": name})


def test_a_user_may_be_named_as_debezium_names_it() -> None:
    config = {"connection.username": "debezium", "connection.password": "one"}
    assert credentials_for(config)() == ("debezium", "one")


def database(tmp_path: Path) -> Database:
    return Database(settings(connection_url=f"jdbc:sqlite:{tmp_path}/a.db"), {})


def test_a_transaction_is_committed_or_rolled_back(tmp_path: Path) -> None:
    found = database(tmp_path)
    with found.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE t (n integer)")
    with found.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlalchemy.exc.OperationalError), found.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (2)").connection.exec_driver_sql("SELECT * FROM nothing")
    with found.transaction() as connection:
        assert connection.exec_driver_sql("SELECT n FROM t").scalars().all() == [1]
    found.close()


def test_a_connection_is_kept_until_it_is_thrown_away(tmp_path: Path) -> None:
    found = database(tmp_path)
    first = found.connect()
    assert found.connect() is first
    found.discard()
    assert found.connect() is not first
    found.close()
    found.close()
    with found.transaction() as connection:
        assert connection.scalar(sqlalchemy.text("SELECT 1")) == 1
    found.close()


def test_a_database_that_is_away_is_tried_and_passes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "jdbc:postgresql://127.0.0.1:1/db"
    away = Database(
        settings(connection_url=url, connection_attempts="3", connection_backoff_ms="1", connection_user="me"),
        {"connection.password": "hush"},
    )
    tries = []
    monkeypatch.setattr(away._given_up, "wait", tries.append)
    with pytest.raises(RetriableError, match="cannot be reached") as caught:
        away.connect()
    assert tries == [0.001] * 2
    assert caught.value.waits_for == str(away)
    assert sum("cannot be reached" in message for message in caplog.messages) == 1, "one outage, however many tries"
    assert "hush" not in caplog.text + str(caught.value)


@pytest.mark.parametrize(
    ("url", "dialect", "kind"),
    [
        ("jdbc:postgresql://h/d", "", "postgresql"),
        ("jdbc:mariadb://h/d", "", "mysql"),
        ("jdbc:sqlite:x", "", "sqlite"),
        ("jdbc:sqlite:x", "GenericDatabaseDialect", "generic"),
        ("jdbc:postgresql://h/d", "PostgreSqlDatabaseDialect", "postgresql"),
    ],
)
def test_the_kind_of_a_database(url: str, dialect: str, kind: str) -> None:
    assert Database(settings(connection_url=url, dialect_name=dialect), {}).kind == kind
