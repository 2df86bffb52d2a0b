"""Positions as java.sql.Timestamp has them: milliseconds, and the nanoseconds of the whole second."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jdbc.database import TableName
from connectors.jdbc.source.offsets import Position, partitions

TIMES = st.integers(-(10**17), 10**17)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.none() | TIMES, st.none() | NUMBERS)
def test_a_position_comes_back(time: int | None, number: int | None) -> None:
    offset = Position(time, number).offset()
    assert Position.of(offset) == Position(time, number)
    if time is not None:
        assert 0 <= offset["timestamp_nanos"] < 1_000_000_000
        # Both tell of the milliseconds.
        assert offset["timestamp"] % 1000 == offset["timestamp_nanos"] // 1_000_000


@pytest.mark.parametrize(
    ("offset", "time"),
    [
        ({"timestamp": 1714564800123, "timestamp_nanos": 123456000}, 1714564800123456),
        ({"timestamp": 1714564800123, "timestamp_nanos": 123456789}, 1714564800123456),
        ({"timestamp": 1714564800123}, 1714564800123000),
        ({"timestamp": -1, "timestamp_nanos": 999999000}, -1),
        ({"timestamp": 0, "timestamp_nanos": 0}, 0),
        ({}, None),
        (None, None),
    ],
)
def test_what_java_stored(offset: Any, time: int | None) -> None:
    assert Position.of(offset).time == time


def test_where_an_offset_may_be() -> None:
    assert partitions(TableName("orders", "public", "shop")) == [
        {"protocol": "1", "table": "shop.public.orders"},
        {"protocol": "1", "table": "public.orders"},
        {"protocol": "1", "table": "orders"},
        {"table": "orders"},
    ]
    assert partitions(TableName("orders"), "2/4") == [{"protocol": "1", "table": "orders", "split": "2/4"}]
