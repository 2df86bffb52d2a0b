"""Structs in Arrow columns are the very values that they were made of."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data import Schema, Type, logical
from connect.data.arrow import arrow_type, filled
from connect.data.grouping import concat_values
from connect.data.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, OPTIONAL_INT32, STRING
from connect.data.struct_columns import concat_columns
from connect.data.values import GroupedValues, Values
from tests.support.arrow_columns import of_rows

_WHOLE = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
_PLAIN: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    *((schema, st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)) for schema, bits in _WHOLE.items()),
    (FLOAT32, st.floats(width=32, allow_nan=False)),
    (FLOAT64, st.floats(allow_nan=False)),
    (BOOLEAN, st.booleans()),
    (STRING, st.text(st.characters(exclude_categories=["Cs"]))),
    (BYTES, st.binary()),
    (logical.decimal(2), st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-2))),
    (logical.DATE, st.dates()),
    (logical.TIME, st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (
        logical.TIMESTAMP,
        st.datetimes(timezones=st.just(dt.UTC)).map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    ),
]


def _optional(pair: tuple[Schema, st.SearchStrategy[Any]]) -> tuple[Schema, st.SearchStrategy[Any]]:
    return pair[0].as_optional(), st.none() | pair[1]


@st.composite
def _typed(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["plain", "plain", "optional", "array", "struct"]))
    if depth == 0 or kind in {"plain", "optional"}:
        pair = draw(st.sampled_from(_PLAIN))
        return _optional(pair) if kind == "optional" else pair
    if kind == "array":
        element, values = draw(_typed(depth - 1))
        pair = Schema.array(element), st.lists(values, max_size=3)
    else:
        pair = draw(_structs(depth - 1))
    return _optional(pair) if draw(st.booleans()) else pair


@st.composite
def _structs(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, st.SearchStrategy[Any]]:
    fields = draw(st.dictionaries(st.sampled_from("abcdef"), _typed(depth), min_size=1, max_size=4))
    schema = Schema.struct({name: schema for name, (schema, _) in fields.items()})
    return schema, st.fixed_dictionaries({name: values for name, (_, values) in fields.items()})


@given(st.data())
def test_values_come_back_as_they_were(data: st.DataObject) -> None:
    schema, values = data.draw(_structs())
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    column = of_rows(schema, rows)
    assert column is not None
    assert column.take([]).to_list() == []
    assert column.to_list() == rows
    assert column.schema == schema
    cut = data.draw(st.integers(0, len(rows) - 1))
    assert column.between(cut, len(rows)).to_list() == rows[cut:]
    assert column.take([cut, 0]).to_list() == [rows[cut], rows[0]]
    # A part of a column is a column like any other: its children begin somewhere in the middle.
    part = column.between(cut, len(rows))
    assert part.arrow is not None
    assert concat_columns([part.arrow, column]).to_list() == rows[cut:] + rows


@pytest.mark.parametrize(
    "schema",
    [
        Schema.struct({"m": Schema.map(STRING, INT32)}),
        Schema.struct({"e": Schema.struct({})}),
        Schema.struct({}),
        Schema.struct({"d": logical.decimal(60)}),
        STRING,
    ],
)
def test_what_has_no_column_form_stays_with_python(schema: Schema) -> None:
    assert schema.type is not Type.STRUCT or arrow_type(schema) is None
    assert of_rows(schema, []) is None


def test_a_value_that_does_not_fit_is_not_bent() -> None:
    assert of_rows(Schema.struct({"a": INT8}), [{"a": 300}]) is None
    assert of_rows(Schema.struct({"a": STRING}), [{"a": 1}]) is None


def test_nulls_give_way_to_the_default() -> None:
    schema = Schema.struct(
        {"a": OPTIONAL_INT32.replace(default=7), "b": Schema.array(INT32, optional=True, default=[1])}
    )
    column = of_rows(schema, [{"a": None, "b": None}, {"a": 2, "b": []}])
    assert column is not None
    assert filled(column.column("a"), schema.fields[0].schema).to_pylist() == [7, 2]
    assert filled(column.column("b"), schema.fields[1].schema).to_pylist() == [[1], []]


def test_rows_of_several_schemas_are_held_in_groups_and_read_in_order() -> None:
    one, two = Schema.struct({"a": INT32}), Schema.struct({"b": STRING})
    first, second = of_rows(one, [{"a": 1}, {"a": 2}]), of_rows(two, [{"b": "x"}])
    assert first is not None
    assert second is not None
    grouped = GroupedValues(4, [([0, 3], first), ([1], second), ([2], Values([None]))])
    assert grouped.to_list() == [{"a": 1}, {"b": "x"}, None, {"a": 2}]
    assert list(grouped.schemas) == [one, two, None, one]
    assert grouped.between(1, 4).to_list() == [{"b": "x"}, None, {"a": 2}]
    assert grouped.take([3, 0]).to_list() == [{"a": 2}, {"a": 1}]
    assert list(grouped.take([3, 0]).schemas) == [one, one]
    assert grouped.encoded_texts() == [b"Struct{a=1}", b"Struct{b=x}", b"null", b"Struct{a=2}"]
    assert [values.arrow is not None for _, values in grouped.groups()] == [True, True, False]


def test_halves_of_a_column_are_joined_as_a_column() -> None:
    column = of_rows(Schema.struct({"a": INT32}), [{"a": n} for n in range(5)])
    assert column is not None
    joined = concat_values([column.between(0, 2), column.between(3, 5)])
    assert joined.arrow is not None
    assert joined.to_list() == [{"a": 0}, {"a": 1}, {"a": 3}, {"a": 4}]
