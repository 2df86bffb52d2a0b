"""Drawn shapes: the same seed gives the same bytes, and each class is what its name says."""

import json
from typing import Any

import pytest

from bench.shapes import CLASSES, Shape, shape
from connect.converters.json_converter import JsonConverter
from connect.data.column import Constant

_LOGICAL = "org.apache.kafka.connect.data."


def _rows(of: Shape, count: int = 500) -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in of.payloads(count)]


def _types(node: Any) -> set[str]:
    """The types in a schema, logical ones by their names."""
    if not isinstance(node, dict):
        return set()
    found = {str(node.get("name", node["type"])).removeprefix(_LOGICAL)}
    for inner in [*node.get("fields", []), node.get("items"), node.get("keys"), node.get("values")]:
        found |= _types(inner)
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    assert shape(name, 5).schema == shape(name, 5).schema
    assert list(shape(name, 5).payloads(100)) == list(shape(name, 5).payloads(100))
    assert list(shape(name, 5).payloads(10)) == list(shape(name, 5).payloads(100))[:10]
    assert len({b"".join(shape(name, seed).payloads(20)) for seed in range(5)}) == 5


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_form_can_be_read_and_holds_the_same(name: str, seed: int) -> None:
    of = shape(name, seed)
    payloads = list(of.payloads(150))
    declared, enveloped = JsonConverter(), JsonConverter()
    declared.configure({"schema.content": json.dumps(of.schema)}, is_key=False)
    enveloped.configure({}, is_key=False)
    topics = Constant("t", len(payloads))
    values = declared.to_connect_batch(topics, payloads)
    assert values.struct_columns is not None
    assert enveloped.to_connect_batch(topics, [of.enveloped(each) for each in payloads]).to_list() == values.to_list()


@pytest.mark.parametrize("name", CLASSES)
def test_the_chain_changes_fields_that_are_there(name: str) -> None:
    of = shape(name)
    fields = [field["field"] for field in of.schema["fields"]]
    assert fields[0] == "id"
    assert {of.cast, of.drop, of.rename} < set(fields)
    assert len({of.cast, of.drop, of.rename}) == 3
    assert ("flatten" in of.transforms["transforms"]) == (name == "structs")


def test_plain_fields_are_required_and_of_plain_types() -> None:
    of = shape("plain")
    assert _types(of.schema) <= {"struct", "int32", "int64", "boolean", "string", "double"}
    assert not any(field["optional"] for field in of.schema["fields"])


def test_optional_fields_are_never_null_and_one_is_a_timestamp() -> None:
    of = shape("optional")
    assert [field["optional"] for field in of.schema["fields"]] == [False, *[True] * (len(of.fields) - 1)]
    assert "Timestamp" in _types(of.schema)
    assert all(value is not None for row in _rows(of) for value in row.values())


def test_nulls_are_written_and_missing_ones_left_out() -> None:
    for name, written in (("nulls", True), ("missing", False)):
        rows = _rows(shape(name))
        cells = len(rows) * (len(shape(name).fields) - 1)
        null = sum(value is None for row in rows for value in row.values())
        left_out = cells - sum(len(row) - 1 for row in rows)
        assert (null > cells / 5, left_out > cells / 5) == (written, not written)


def test_nested_ones_have_structs_in_structs_and_some_lists_and_maps() -> None:
    for name, more in (("nested", {"array", "map"}), ("structs", set())):
        of = shape(name)
        assert _types(of.schema) & {"array", "map"} == more
        within = [each for row in _rows(of, 10) for each in row.values() if isinstance(each, dict)]
        assert sum(isinstance(inner, dict) for each in within for inner in each.values()) == 10


def test_wide_ones_have_more_than_fifty_fields() -> None:
    assert len(shape("wide").fields) > 50


def test_logical_ones_have_every_logical_type() -> None:
    assert _types(shape("logical").schema) >= {"Date", "Time", "Timestamp", "Decimal"}


def test_doubles_have_all_their_digits_and_any_size() -> None:
    numbers = [abs(value) for row in _rows(shape("doubles")) for value in row.values() if isinstance(value, float)]
    assert sum(len(repr(number)) > 16 for number in numbers) > len(numbers) / 2
    assert min(numbers) < 1e-3
    assert max(numbers) > 1e7


def test_texts_are_long_with_escapes_and_more_than_ascii() -> None:
    payloads = list(shape("text").payloads(200))
    assert min(map(len, payloads)) > 200
    assert any(b"\\" in each for each in payloads)
    assert not any(each.isascii() for each in payloads)


def test_a_class_that_there_is_not() -> None:
    with pytest.raises(KeyError):
        shape("square")
