"""Text by columns is the text of each value."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data import Schema, Values, java_text, logical
from connect.data.column import Plain
from connect.data.schema import BOOLEAN, FLOAT32, FLOAT64, INT8, INT64, STRING
from connect.data.struct_columns import StructColumns
from connect.data.text import float32

_FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1e-3, 9.99e-4, 1e7, 9999999.0, 123456.75, 1e21, 5e-324])
_KINDS: dict[Schema, st.SearchStrategy[Any]] = {
    INT8: st.integers(-128, 127),
    INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    FLOAT32: _FLOATS.map(float32),
    FLOAT64: _FLOATS,
    BOOLEAN: st.booleans(),
    STRING: st.text(),
    logical.DATE: st.dates(),
    Schema.array(INT64): st.lists(st.integers(0, 9), max_size=2),
    Schema.struct({"inner": STRING}): st.fixed_dictionaries({"inner": st.text(max_size=3)}),
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


def test_each_row_by_its_schema() -> None:
    values = Values([{"a": 1}, {"a": 1}], Plain([None, Schema.struct({"a": INT8})]))
    assert values.encoded_texts() == [b"{a=1}", b"Struct{a=1}"]
