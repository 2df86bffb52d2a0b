"""The tables that forms offer: written as the keys read them, whatever else is missing or wrong."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from connect import ConfigError, ConnectError
from connect.settings.java_regex import java_regex
from connectors.jdbc.database import TableName
from connectors.jdbc.database.names import pattern
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.source import JdbcSourceConnector

NAMES = ["a.b", 'a"b', "orders", "x,y", "z(1)"]


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as connection:
        for name in NAMES:
            quoted = name.replace('"', '""')
            connection.execute(f'CREATE TABLE "{quoted}" (id integer)')
        connection.execute("CREATE VIEW seen AS SELECT 1")
    return {"connection.url": f"jdbc:sqlite:{file}"}


def test_names_are_read_as_the_tables_that_they_are_of(config: dict[str, str]) -> None:
    written = JdbcSinkConnector().choices("table.name.format", config)
    assert written == ['"a""b"', '"a.b"', "orders", "x,y", "z(1)"]
    assert [TableName.parse(name).name for name in written] == sorted(NAMES)


def test_a_list_has_no_name_with_a_comma(config: dict[str, str]) -> None:
    connector = JdbcSourceConnector()
    assert connector.choices("table.whitelist", config) == ['"a""b"', '"a.b"', "orders", "z(1)"]
    assert connector.choices("table.include.list", config) == ['a"b', "a.b", "orders", r"z\(1\)"]
    wrong = {**config, "mode": "no", "batch.max.rows": "many", "query": "SELECT 1", "table.types": "VIEW"}
    assert connector.choices("table.whitelist", wrong) == ["seen"]


@pytest.mark.parametrize("name", ["orders", "a.b", "$x^", "[a]{2}|(b)?*+", "back\\slash"])
def test_a_pattern_matches_the_name(name: str) -> None:
    assert java_regex(pattern(name)).fullmatch(name)


def test_a_key_that_leads_to_the_database_and_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'"connection.url": is required'):
        JdbcSourceConnector().choices("table.whitelist", {})
    missing = tmp_path / "missing.db"
    with pytest.raises(ConnectError, match="There is no file"):
        JdbcSourceConnector().choices("table.whitelist", {"connection.url": f"jdbc:sqlite:{missing}"})
    assert not missing.exists()
