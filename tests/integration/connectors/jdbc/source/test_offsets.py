"""Offsets of Confluent's connector are taken over, and ours have exactly their form."""

from typing import Any

import pytest

from connect import ConnectError
from connectors.jdbc.source import JdbcSourceConnector

KEYS = {"mode": "timestamp+incrementing", "timestamp_column_name": "at", "incrementing_column_name": "id"}


def _rows(shop: Any) -> None:
    shop.execute(f"CREATE TABLE t (id integer PRIMARY KEY, at {shop.stamp} NOT NULL)")
    for number in (1, 2, 3):
        shop.execute(f"INSERT INTO t VALUES ({number}, '2024-05-01 12:00:00.123456')")
    shop.execute("INSERT INTO t VALUES (4, '2024-05-01 12:00:00.123457')")


def test_an_offset_of_either_protocol_is_taken_over(shop: Any) -> None:
    """Java stores java.sql.Timestamp: milliseconds, and the nanoseconds of the whole second."""
    _rows(shop)
    offset = {"incrementing": 2, "timestamp": 1714564800123, "timestamp_nanos": 123456000}
    written_by_older_drivers = shop.name("t").split(".", 1)[-1]
    for partition in (
        {"table": "t"},
        {"protocol": "1", "table": shop.name("t")},
        {"protocol": "1", "table": written_by_older_drivers},
    ):
        with shop.run([(partition, offset)], **KEYS) as run:
            run.poll_until(2)
            assert [record.value["id"] for record in run.records] == [3, 4]
            stored = {str(sorted(p.items())): o for p, o in run.offsets}
            went_on = shop.partition("t") if "protocol" not in partition else partition
            assert stored[str(sorted(went_on.items()))] == {
                "incrementing": 4,
                "timestamp": 1714564800123,
                "timestamp_nanos": 123457000,
            }
    with shop.run([({"query": "query"}, offset)], query="SELECT * FROM t", topic_prefix="q", **KEYS) as run:
        run.poll_until(2)
        assert [record.value["id"] for record in run.records] == [3, 4]


def test_an_older_offset_without_nanoseconds_loses_nothing(shop: Any) -> None:
    _rows(shop)
    with shop.run([(shop.partition("t"), {"incrementing": 2, "timestamp": 1714564800123})], **KEYS) as run:
        run.poll_until(4)


def test_the_newest_form_wins(shop: Any) -> None:
    _rows(shop)
    offsets = [({"table": "t"}, {"incrementing": 1}), (shop.partition("t"), {"incrementing": 3})]
    with shop.run(offsets, mode="incrementing", incrementing_column_name="id") as run:
        run.poll_until(1)
        assert [record.value["id"] for record in run.records] == [4]


def test_users_change_offsets() -> None:
    connector = JdbcSourceConnector()
    table = frozenset({"protocol": "1", "table": "shop.public.orders"}.items())
    assert connector.alter_offsets({}, {table: {"incrementing": 12}})
    assert connector.alter_offsets({}, {table: {"timestamp": 1714564800123, "timestamp_nanos": 123456000}})
    assert connector.alter_offsets({}, {table: None, frozenset({"query": "query"}.items()): {"incrementing": 1}})
    for partition, offset, said in [
        (table, {"incremental": 12}, 'an offset has no "incremental"'),
        (table, {"incrementing": "12"}, '"incrementing" is a whole number'),
        (table, {"timestamp": 1, "timestamp_nanos": 1_000_000_000}, "nanoseconds of a whole second"),
        (frozenset({"file": "x"}.items()), {"incrementing": 1}, 'reads {"protocol": "1"'),
        (frozenset({"protocol": 1, "table": "orders"}.items()), {"incrementing": 1}, 'reads {"protocol": "1"'),
    ]:
        with pytest.raises(ConnectError, match=said):
            connector.alter_offsets({}, {partition: offset})
