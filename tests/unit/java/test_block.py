"""Blocks: what is written for the JVM is what is read from it."""

from typing import Any

import pytest

from connect.data.schema import INT32, OPTIONAL_STRING, STRING, Schema
from connect.data.values import Values
from connect.java.crossing.block import Reader, Writer

STRUCT = Schema.struct({"names": Schema.array(OPTIONAL_STRING), "counts": Schema.map(STRING, INT32), "id": INT32})


@pytest.mark.parametrize("names", [[], ["a"], [None, "日本"]], ids=["none", "one", "two"])
def test_lists_of_texts_are_followed_by_other_fields(names: list[Any]) -> None:
    items = [{"names": names, "counts": {"n": number}, "id": number} for number in range(3)]
    writer = Writer()
    writer.values(Values(items, STRUCT))
    read = Reader(memoryview(writer.done(3))).values()
    assert read.to_list() == items
    assert set(read.schemas) == {STRUCT}


def test_values_without_a_schema_may_have_any_shape() -> None:
    items = [{"a": 1}, "text", [1.5, None], None, {"b": {"c": b"d"}}]
    writer = Writer()
    writer.values(Values(items))
    assert Reader(memoryview(writer.done(5))).values().to_list() == items
