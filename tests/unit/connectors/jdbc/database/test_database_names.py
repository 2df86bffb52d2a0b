"""Names of tables, as users write them and as databases have them."""

import pytest
from sqlalchemy.dialects import mysql, postgresql

from connect import ConfigError
from connectors.jdbc.database.names import TableName, split

POSTGRESQL = postgresql.dialect().identifier_preparer  # type: ignore[no-untyped-call]
MYSQL = mysql.dialect().identifier_preparer


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("orders", ("orders",)),
        ("shop.orders", ("shop", "orders")),
        ("db.shop.orders", ("db", "shop", "orders")),
        ('shop."or.ders"', ("shop", "or.ders")),
        ("`a``b`.[c.d]", ("a`b", "c.d")),
        ("orders 2024", ("orders 2024",)),
    ],
)
def test_a_name_has_parts(written: str, parts: tuple[str, ...]) -> None:
    name = TableName.parse(written)
    assert name.parts == parts
    assert str(name) == ".".join(parts)


@pytest.mark.parametrize("written", ["", ".", "a.", ".b", "a..b", "a.b.c.d"])
def test_what_is_no_name_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match="not the name of a table"):
        TableName.parse(written)


def test_names_are_quoted_as_the_database_does() -> None:
    name = TableName('a"b', "My Schema")
    assert name.quoted(POSTGRESQL) == '"My Schema"."a""b"'
    assert TableName("a`b").quoted(MYSQL) == "`a``b`"
    assert TableName("Orders", "Shop").quoted(POSTGRESQL, always=False) == "Shop.Orders"


def test_a_catalog_stands_before_the_schema() -> None:
    assert TableName("t", "s", "c").sqlalchemy_schema == "c.s"
    assert TableName("t", "s").sqlalchemy_schema == "s"
    assert TableName("t").sqlalchemy_schema is None


def test_a_quote_within_a_name_is_no_quote() -> None:
    assert split('it"s') == ['it"s']
