"""Columns as Spark hands them over become what Connect has for them."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.data.logical import decimal
from connect.data.schema import Schema, Type
from connect.data.table_types import connect_column, milliseconds
from connect.data.tables import schema_of_table

UTC = dt.UTC
MOMENT = dt.datetime(2024, 5, 6, 7, 8, 9, 123456, UTC)
CUT = dt.datetime(2024, 5, 6, 7, 8, 9, 123000, UTC)
TIMESTAMP = pa.timestamp("us", "Europe/Berlin")


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (pa.int8(), [1, None], [1, None]),
        (pa.int16(), [1], [1]),
        (pa.int32(), [1], [1]),
        (pa.int64(), [1 << 40], [1 << 40]),
        (pa.float32(), [1.5], [1.5]),
        (pa.float64(), [1.1, None], [1.1, None]),
        (pa.bool_(), [True, None], [True, None]),
        (pa.string(), ["ä", None], ["ä", None]),
        (pa.large_string(), ["ä", None], ["ä", None]),
        (pa.binary(), [b"\x00", None], [b"\x00", None]),
        (pa.date32(), [dt.date(1582, 10, 4), None], [dt.date(1582, 10, 4), None]),
        (pa.decimal128(10, 2), [Decimal("-12.30"), None], [Decimal("-12.30"), None]),
        (TIMESTAMP, [MOMENT, None], [CUT, None]),
        (pa.timestamp("us"), [MOMENT.replace(tzinfo=None)], [CUT]),
        (pa.list_(pa.int32()), [[1, None], None, []], [[1, None], None, []]),
        (pa.list_(TIMESTAMP), [None, [MOMENT], [], [None, MOMENT]], [None, [CUT], [], [None, CUT]]),
        (
            pa.struct([("a", TIMESTAMP), ("b", pa.struct([("c", pa.decimal128(4, 1))]))]),
            [{"a": MOMENT, "b": {"c": Decimal("1.5")}}, None, {"a": None, "b": None}],
            [{"a": CUT, "b": {"c": Decimal("1.5")}}, None, {"a": None, "b": None}],
        ),
        (
            pa.map_(pa.string(), pa.struct([("t", TIMESTAMP), ("l", pa.list_(TIMESTAMP))])),
            [[("x", {"t": MOMENT, "l": [MOMENT]}), ("y", None)], None, []],
            [{"x": {"t": CUT, "l": [CUT]}, "y": None}, None, {}],
        ),
    ],
    ids=str,
)
def test_a_column_of_any_type(kind: pa.DataType, given: list[Any], expected: list[Any]) -> None:
    schema = schema_of_table(pa.schema([("c", kind)])).fields[0].schema
    array = pa.array(given, kind)
    assert connect_column(schema, array).items == expected
    # A part of a longer array, as a cut batch has it.
    longer = pa.concat_arrays([array, array, array])
    assert connect_column(schema, longer.slice(len(array), len(array))).items == expected


def test_times_before_1970_are_cut_to_the_earlier_millisecond() -> None:
    before = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    found = milliseconds(pa.array([before], pa.timestamp("us", "UTC")))
    assert found.view(pa.int64()).to_pylist() == [-1]
    assert milliseconds(pa.array([before], pa.timestamp("us", "UTC"))).type == pa.timestamp("ms", "UTC")


def test_decimals_keep_their_digits() -> None:
    schema = schema_of_table(pa.schema([pa.field("c", pa.decimal128(38, 10), nullable=False)])).fields[0].schema
    assert schema.type is Type.BYTES
    assert schema.name == decimal(10).name
    assert schema.parameters == {"scale": "10", "connect.decimal.precision": "38"}
    value = Decimal("1234567890123456789012345678.0123456789")
    assert connect_column(schema, pa.array([value], pa.decimal128(38, 10))).items == [value]


def test_what_may_not_be_null_is_not_optional() -> None:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("n", pa.string())])
    schema = schema_of_table(columns)
    assert [each.schema.optional for each in schema.fields] == [False, True]
    assert isinstance(schema, Schema)
