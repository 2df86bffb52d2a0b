"""Values as they cross into the JVM: MessagePack, with extensions for decimals, dates and times."""

import datetime as dt
import math
import types
import uuid
from decimal import Decimal
from enum import Enum
from typing import Any

import ormsgpack
import pytest

from connect.errors import DataError
from connect.java.crossing.packed import pack, paired, unpack

VALUES = [
    None, True, False, 0, -1, 127, 128, -33, 2**31, -(2**63), 2**63 - 1, 0.1, -0.0, math.inf, "", "x" * 40, "日本 🎈",
    b"", b"\x00\xff", [], [1, "two", [3.0]], {}, {"a": {"b": [None]}}, {1: "one", None: 2, 1.5: b"x"},
    Decimal(0), Decimal("-12.50"), Decimal("1E+5"), Decimal(2**100),
    dt.date(1969, 12, 31), dt.time(23, 59, 59, 999000), dt.datetime(1969, 12, 31, 23, 59, 59, 1000, dt.UTC),
]  # fmt: skip


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_is_packed_comes_back_as_it_was(value: Any) -> None:
    found = unpack(pack(value))
    assert (type(found), found) == (type(value), value)
    assert unpack(pack([value, value])) == [value, value]


def test_what_is_not_a_number_stays_so() -> None:
    assert math.isnan(unpack(pack(math.nan)))


def test_other_mappings_sequences_and_buffers_are_what_they_hold() -> None:
    value = types.MappingProxyType({"a": (1, bytearray(b"b")), "c": memoryview(b"d")})
    assert unpack(pack(value)) == {"a": [1, b"b"], "c": b"d"}


def test_a_moment_has_milliseconds_and_is_of_utc_without_a_zone() -> None:
    noon = dt.datetime(2026, 1, 1, 12, 0, 0, 1999, dt.UTC)
    assert unpack(pack(noon.replace(tzinfo=None))) == noon.replace(microsecond=1000)


def test_half_a_surrogate_pair_is_a_question_mark_in_keys_as_in_values() -> None:
    assert unpack(pack("a\ud800b")) == "a?b"
    assert unpack(pack([{"k\udc00": ["v\ud800"]}])) == [{"k?": ["v?"]}]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (2**64, "18446744073709551616 has more than 64 bits."),
        (-(2**63) - 1, "-9223372036854775809 has more than 64 bits."),
        (Decimal("NaN"), "NaN is no decimal of Kafka Connect's."),
        (uuid.UUID(int=1), "A UUID is no value of Kafka Connect's."),
        (Colour.RED, "A Colour is no value of Kafka Connect's."),
        ({1, 2}, "A set is no value of Kafka Connect's."),
    ],
    ids=str,
)
def test_what_kafka_connect_has_not_is_refused_wherever_it_stands(value: Any, why: str) -> None:
    for whole in (value, [0, value], {"a": [{"b": value}]}):
        with pytest.raises(DataError, match=f"^{why}$"):
            pack(whole)


@pytest.mark.parametrize(
    ("kind", "milliseconds"),
    [(2, 1 << 60), (2, -(1 << 60)), (3, 1 << 60), (4, 86_400_000), (4, -1)],
)
def test_a_moment_that_python_has_not_is_a_data_error_that_names_it(kind: int, milliseconds: int) -> None:
    data = ormsgpack.packb([ormsgpack.Ext(kind, milliseconds.to_bytes(8, "big", signed=True))])
    with pytest.raises(DataError, match=r"\d"):
        unpack(data)


def test_the_bytes_are_messagepack() -> None:
    assert ormsgpack.unpackb(pack({"a": [1, "b"]})) == {"a": [1, "b"]}
    assert pack(Decimal("-1.5")) == b"\xc7\x05\x01" + b"\x00\x00\x00\x01" + b"\xf1"
    assert pack(dt.date(1970, 1, 2)) == b"\xd7\x03" + (86_400_000).to_bytes(8, "big")


@pytest.mark.parametrize(
    "key", [Decimal("1.50"), dt.date(2024, 2, 29), dt.time(1, 2), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)]
)
def test_dates_and_decimals_may_be_keys(key: Any) -> None:
    """The library makes texts of such dates, and refuses such decimals."""
    value = [{key: [{key: None}], "other": 1}, {"a": {}}]
    assert unpack(pack(paired(value))) == value


def test_decimals_are_keys_without_anybody_asking() -> None:
    assert unpack(pack({"a": {Decimal("1.50"): 1}})) == {"a": {Decimal("1.50"): 1}}
    with pytest.raises(DataError, match="has more than 64 bits"):
        pack({Decimal("1.50"): 1 << 70})
    with pytest.raises(DataError, match="has more than 64 bits"):
        pack([paired({dt.date(2024, 1, 1): 1}), 1 << 70])
