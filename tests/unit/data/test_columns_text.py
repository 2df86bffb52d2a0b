"""Text by columns is the text of each value."""

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data import Schema, Values, java_text, logical
from connect.data.column import Plain
from connect.data.schema import BOOLEAN, FLOAT32, FLOAT64, INT8, INT64, STRING, Type
from connect.data.struct_columns import StructColumns
from connect.data.text import float32
from connect.data.times import EPOCH
from tests.support.arrow_columns import of_rows

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999
_MOMENTS = (
    st.integers(_FIRST_MS, _LAST_MS) | st.integers(-100_000, 200_000_000) | st.sampled_from([_FIRST_MS, _LAST_MS])
)
_PLACE = Schema.struct({"lat": FLOAT64, "name": STRING.as_optional()}, optional=True)
_FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1e-3, 9.99e-4, 1e7, 9999999.0, 123456.75, 1e21, 5e-324])
_KINDS: dict[Schema, st.SearchStrategy[Any]] = {
    INT8: st.integers(-128, 127),
    INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    FLOAT32: _FLOATS.map(float32),
    FLOAT64: _FLOATS,
    BOOLEAN: st.booleans(),
    STRING: st.text(),
    logical.DATE: st.dates(),
    logical.TIME: st.integers(0, 86_399_999).map(lambda ms: (EPOCH + dt.timedelta(milliseconds=ms)).time()),
    logical.TIMESTAMP: _MOMENTS.map(lambda ms: EPOCH + dt.timedelta(milliseconds=ms)),
    logical.decimal(2): st.integers(-(10**20), 10**20).map(lambda number: Decimal(f"{number}E-2")),
    logical.decimal(9): st.integers(-(10**20), 10**20).map(lambda number: Decimal(f"{number}E-9")),
    Schema(Type.INT64, name="io.debezium.time.Timestamp"): st.integers(0, 9),
    Schema.array(INT64): st.lists(st.integers(0, 9), max_size=2),
    Schema.array(STRING.as_optional()): st.lists(st.none() | st.text(max_size=3), max_size=2),
    Schema.array(_PLACE): st.lists(
        st.none() | st.fixed_dictionaries({"lat": _FLOATS, "name": st.none() | st.text(max_size=3)}), max_size=2
    ),
    Schema.map(STRING, INT64.as_optional()): st.dictionaries(st.text(max_size=3), st.none() | st.integers(0, 9)),
    Schema.struct({"inner": STRING}): st.fixed_dictionaries({"inner": st.text(max_size=3)}),
    Schema.struct({"inner": _PLACE, "at": logical.TIMESTAMP}): st.fixed_dictionaries(
        {
            "inner": st.none() | st.fixed_dictionaries({"lat": _FLOATS, "name": st.none() | st.text(max_size=3)}),
            "at": _MOMENTS.map(lambda ms: EPOCH + dt.timedelta(milliseconds=ms)),
        }
    ),
}
_NAMES = st.sampled_from(["a", "b%s", "c=", "d,", "é"])


@pytest.mark.parametrize("times", [1, 60])
@given(data=st.data())
def test_structs(times: int, data: st.DataObject) -> None:
    chosen = data.draw(st.dictionaries(_NAMES, st.sampled_from(list(_KINDS)), min_size=1))
    nullable = {name: data.draw(st.booleans()) for name in chosen}
    schema = Schema.struct({name: s.as_optional() if nullable[name] else s for name, s in chosen.items()})
    row = st.fixed_dictionaries(
        {name: st.none() | _KINDS[s] if nullable[name] else _KINDS[s] for name, s in chosen.items()}
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=4)) * times
    columns = StructColumns(schema, [[row[name] for row in rows] for name in chosen])
    expected = [java_text(schema, row) for row in rows]
    assert columns.texts() == expected
    assert columns.encoded_lines() == "".join(text + "\n" for text in expected).encode("utf-8", "replace")
    assert Values(rows, schema).texts() == expected
    arrow = of_rows(schema, rows)
    if arrow is not None:  # maps and halves of surrogate pairs have no Arrow form
        assert arrow.texts() == expected
        assert arrow.encoded_lines() == "".join(text + "\n" for text in expected).encode()


@given(_MOMENTS)
def test_dates_read_as_in_java(ms: int) -> None:
    moment = EPOCH + dt.timedelta(milliseconds=ms)
    days, months = "Mon Tue Wed Thu Fri Sat Sun", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
    day = f"{days.split()[moment.weekday()]} {months.split()[moment.month - 1]} {moment:%d}"
    assert java_text(None, moment) == f"{day} {moment:%H:%M:%S} UTC {moment.year}"
    assert java_text(None, moment.replace(tzinfo=None)) == java_text(None, moment)
    assert java_text(None, moment.date()) == f"{day} 00:00:00 UTC {moment.year}"
    assert java_text(None, moment.time()) == f"Thu Jan 01 {moment:%H:%M:%S} UTC 1970"


def test_zones_are_brought_to_utc() -> None:
    there = dt.timezone(dt.timedelta(hours=-5))
    assert java_text(None, dt.datetime(2026, 1, 1, 22, 30, tzinfo=there)) == "Fri Jan 02 03:30:00 UTC 2026"


def test_values_that_do_not_fit_their_schema_are_written_as_they_are() -> None:
    schema = Schema.struct({"a": STRING, "b": INT64, "c": logical.TIMESTAMP})
    rows = [{"a": 1, "b": "x", "c": None}, {"a": "y", "b": 2.0, "c": dt.date(1970, 1, 1)}] * 60
    expected = [java_text(schema, row) for row in rows]
    assert Values(rows, schema).texts() == expected
    columns = StructColumns(schema, [[row[name] for row in rows] for name in "abc"])
    assert columns.texts() == expected
    assert columns.encoded_texts() == [text.encode() for text in expected]


@given(st.lists(st.fixed_dictionaries({"f": _FLOATS}), min_size=100, max_size=100))
def test_many_doubles(rows: list[dict[str, float]]) -> None:
    schema = Schema.struct({"f": FLOAT64})
    assert StructColumns(schema, [[row["f"] for row in rows]]).texts() == [java_text(schema, row) for row in rows]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_schemaless_objects(data: st.DataObject) -> None:
    alike = st.fixed_dictionaries(dict.fromkeys(data.draw(st.lists(_NAMES, unique=True)), _JSON))
    items = data.draw(st.lists(alike, max_size=4)) + data.draw(st.lists(_JSON, max_size=1))
    assert Values(items).texts() == [java_text(None, item) for item in items]


@pytest.mark.parametrize("width", [0, 1, 2, 5])
@pytest.mark.parametrize("kinds", [1, 3, 40])
def test_many_maps_of_some_kinds(seed: int, width: int, kinds: int) -> None:
    draw = random.Random(seed)
    names = [[f"{kind}-{field}" for field in range(draw.randrange(width + 1) or width)] for kind in range(kinds)]
    items = [{name: draw.choice([None, 7, 0.5, "x", {"y": [n]}]) for name in draw.choice(names)} for n in range(400)]
    assert Values(items).texts() == [java_text(None, item) for item in items]


def test_each_row_by_its_schema() -> None:
    values = Values([{"a": 1}, {"a": 1}], Plain([None, Schema.struct({"a": INT8})]))
    assert values.encoded_texts() == [b"{a=1}", b"Struct{a=1}"]
