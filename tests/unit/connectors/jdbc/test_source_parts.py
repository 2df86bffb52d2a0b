"""What a task is told to read, in the form in which Confluent's connector tells it."""

import pytest

from connect.kit import shared_out
from connectors.jdbc.database import TableName
from connectors.jdbc.source.keys import JdbcSourceOptions
from connectors.jdbc.source.parts import Part, read, written

ORDERS = Part(TableName("orders", "public", "shop"))


@pytest.mark.parametrize(
    ("parts", "tables"),
    [
        ([ORDERS], "shop.public.orders"),
        ([ORDERS, Part(TableName("users"))], "shop.public.orders,users"),
        ([Part(TableName("a.b", "s p"))], 's p."a.b"'),
        ([Part(TableName("a,b")), ORDERS], '"a,b",shop.public.orders'),
        ([Part(ORDERS.table, 2, (10, 20)), Part(TableName("users"))], "users"),
        ([Part()], ""),
    ],
)
def test_parts_come_back_as_they_were_written(parts: list[Part], tables: str) -> None:
    config = written(parts)
    assert config["tables"] == tables
    assert config["tables.fetched"] == "true"
    assert read(JdbcSourceOptions.definition().parse(config)) == parts


def test_what_java_cut_is_read() -> None:
    """As its dialects quote names: PostgreSQL's, MySQL's and none."""
    config = {"tables": '"shop"."public"."orders",`shop`.`users`,plain', "tables.fetched": "true"}
    assert read(JdbcSourceOptions.definition().parse(config)) == [
        ORDERS,
        Part(TableName("users", "shop")),
        Part(TableName("plain")),
    ]


def test_ranges_meet_without_a_gap() -> None:
    parts = [Part(ORDERS.table, number, (10, 20)) for number in (1, 2, 3)]
    assert [part.bounds for part in parts] == [(None, 10), (10, 20), (20, None)]
    assert [part.split for part in parts] == ["1/3", "2/3", "3/3"]
    assert [len(share) for share in shared_out([*parts, ORDERS], 3)] == [2, 1, 1]
    assert shared_out([], 3) == []
