import datetime as dt
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data import Schema, Type, java_text, logical
from connect.data import schema as schemas
from connect.data.text import java_double, java_float32
from connect.data.validation import validate
from connect.errors import SchemaError

ORDER = Schema.struct({"id": schemas.INT32, "note": schemas.OPTIONAL_STRING}, name="Order", version=2, doc="d")


def test_equal_schemas_are_equal_and_hash_alike() -> None:
    again = Schema.struct(
        {"id": Schema(Type.INT32), "note": schemas.STRING.as_optional()}, name="Order", version=2, doc="d"
    )
    assert again == ORDER
    assert hash(again) == hash(ORDER)
    assert again.replace() == ORDER


@pytest.mark.parametrize(
    "change",
    [
        {"optional": True},
        {"name": "X"},
        {"version": 3},
        {"doc": None},
        {"parameters": {"a": "b"}},
        {"default": {"id": 1}},
        {"fields": {"note": schemas.OPTIONAL_STRING, "id": schemas.INT32}},
        {"fields": {"id": schemas.INT64}},
    ],
)
def test_schemas_that_differ_in_anything_are_not_equal(change: dict[str, Any]) -> None:
    assert ORDER.replace(**change) != ORDER


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (schemas.INT8, -128),
        (schemas.OPTIONAL_INT8, None),
        (Schema(Type.INT8, default=1), None),
        (schemas.FLOAT32, 1),
        (schemas.BYTES, bytearray(b"x")),
        (ORDER, {"id": 1}),
        (Schema.map(schemas.INT32, ORDER), {1: {"id": 2, "note": "x"}}),
        (logical.DATE, dt.date(2020, 1, 1)),
        (logical.decimal(2), Decimal("1.50")),
    ],
)
def test_values_that_fit_their_schema_pass(schema: Schema, value: Any) -> None:
    validate(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (schemas.INT8, 128, "128 does not fit into INT8"),
        (schemas.INT32, True, "bool where INT32 takes int"),
        (schemas.INT32, None, "null"),
        (schemas.FLOAT64, True, "bool where FLOAT64"),
        (schemas.STRING, b"x", "bytes where STRING takes str"),
        (ORDER, {"id": 1, "colour": 2}, 'no field "colour"'),
        (ORDER, {"note": "x"}, "value.id: null"),
        (Schema.array(ORDER), [{"id": 1}, {"id": "x"}], r"value\[1\].id: str"),
        (Schema.map(schemas.STRING, schemas.INT32), {1: 1}, "key 1: int"),
        (logical.DATE, 5, "int where org.apache.kafka.connect.data.Date takes date"),
    ],
)
def test_values_that_do_not_fit_are_named_with_their_path(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        validate(schema, value)


@given(st.dates())
def test_dates_survive_their_encoding(value: dt.date) -> None:
    assert logical.decode(logical.DATE, logical.encode(logical.DATE, value)) == value


@given(st.integers(0, 86_399_999))
def test_times_survive_their_decoding(ms: int) -> None:
    assert logical.encode(logical.TIME, logical.decode(logical.TIME, ms)) == ms


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_timestamps_survive_their_decoding(ms: int) -> None:
    assert logical.encode(logical.TIMESTAMP, logical.decode(logical.TIMESTAMP, ms)) == ms


@given(st.integers(), st.integers(-50, 50))
def test_decimals_survive_their_encoding(unscaled: int, scale: int) -> None:
    schema = logical.decimal(scale)
    value = Decimal(f"{unscaled}E{-scale}")
    found = logical.decode(schema, logical.encode(schema, value))
    assert found.as_tuple() == (value.copy_abs() if value.is_zero() else value).as_tuple()


def test_more_digits_than_python_converts_are_the_values_fault() -> None:
    most = sys.get_int_max_str_digits()
    schema, longest = logical.decimal(0), Decimal("9" * most)
    assert logical.decode(schema, logical.encode(schema, longest)) == longest
    with pytest.raises(SchemaError, match=f"more than {most} digits"):
        logical.encode(schema, Decimal("9" * (most + 1)))
    with pytest.raises(SchemaError, match=f"more than {most} digits"):
        logical.decode(schema, (1 << 4 * most).to_bytes(4 * most))


def test_a_decimal_of_another_scale_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"1\.5 has scale 1, not 2"):
        logical.encode(logical.decimal(2), Decimal("1.5"))
    with pytest.raises(SchemaError, match="scale"):
        logical.scale_of(Schema(Type.BYTES, name=logical.DECIMAL_NAME))


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, None, "null"),
        (None, True, "true"),
        (None, 5, "5"),
        (None, 1e7, "1.0E7"),
        (None, 9999999.0, "9999999.0"),
        (None, 0.001, "0.001"),
        (None, 9.9e-4, "9.9E-4"),
        (None, 5e-324, "4.9E-324"),
        (None, -0.0, "-0.0"),
        (None, float("nan"), "NaN"),
        (None, float("-inf"), "-Infinity"),
        (schemas.FLOAT32, 0.1, "0.1"),
        (schemas.FLOAT32, 3.4e38, "3.4E38"),
        (schemas.FLOAT32, 2.0**-149, "1.4E-45"),
        (None, [1, None, "x"], "[1, null, x]"),
        (None, {"a": 1, "b": {}}, "{a=1, b={}}"),
        (ORDER, {"id": 1}, "Struct{id=1}"),
        (ORDER, {"note": "x", "id": 1}, "Struct{id=1,note=x}"),
        (Schema.struct({"a": Schema(Type.STRING, default="d")}), {}, "Struct{}"),
        (Schema.array(schemas.FLOAT32), [0.1], "[0.1]"),
        (None, Decimal("1E+3"), "1E+3"),
        (None, Decimal("-0.00"), "0.00"),
        (None, dt.date(2020, 1, 1), "Wed Jan 01 00:00:00 UTC 2020"),
        (None, dt.time(1, 2, 3), "Thu Jan 01 01:02:03 UTC 1970"),
        (None, b"abc", "bytes[3]"),
    ],
)
def test_values_read_as_java_writes_them(schema: Schema | None, value: Any, text: str) -> None:
    assert java_text(schema, value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_gives_the_same_double(value: float) -> None:
    assert float(java_double(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_gives_the_same_float(value: float) -> None:
    assert java_float32(float(java_float32(value))) == java_float32(value)
