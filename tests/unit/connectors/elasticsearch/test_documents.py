"""Values as documents: with and without schemas, raw JSON, texts, what cannot be one."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from connect import DataError, Schema, Text, Type, Values, logical
from connect.converters import JsonConverter
from connect.data import StructColumns
from connect.data.column import Constant
from connectors.elasticsearch.sink.documents import Documents, timed


def made(values: Values, *, compact: bool = True) -> list[Any]:
    documents, wrong = Documents(compact).of(values)
    assert wrong == {}
    assert all(b"\n" not in document for document in documents if document)
    return [None if document is None else json.loads(document) for document in documents]


def test_json_without_a_schema_is_written_as_it_came() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    raw = [b'{"a": 1.0, "b":123456789012345678901}', None, b'{\n"c":\n"d\\n"}']
    values = converter.to_connect_batch(Constant("t", 3), raw)
    documents, wrong = Documents(True).of(values)
    assert wrong == {}
    assert documents == [raw[0], None, b'{ "c": "d\\n"}']
    taken, _ = Documents(True).of(values.take([2, 0]))
    assert taken == [documents[2], documents[0]]
    assert Documents(True).of(values.between(1, 3))[0] == documents[1:3]


def test_other_json_is_no_document_or_is_written_anew() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    raw = [b' {"a": 1.0}', b"null", b"[1]", b"2", b'"text"']
    documents, wrong = Documents(True).of(converter.to_connect_batch(Constant("t", 5), raw))
    assert documents == [b'{"a":1.0}', None, None, None, None]
    assert sorted(wrong) == [2, 3, 4]


def test_what_a_transformation_changed_is_written_anew() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    values = converter.to_connect_batch(Constant("t", 1), [b'{"a": 1}'])
    assert made(values.map(lambda value: {**value, "b": 2})) == [{"a": 1, "b": 2}]


def test_types_without_a_schema() -> None:
    value = {
        "decimal": Decimal("1.10"),
        "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "bytes": b"\x01",
        "nan": float("nan"),
        "map": {1: "a"},
    }
    assert made(Values([value])) == [
        {"decimal": 1.1, "at": 1767225600000, "bytes": "AQ==", "nan": None, "map": {"1": "a"}}
    ]


SCHEMA = Schema.struct(
    {
        "single": Schema(Type.FLOAT32, optional=True),
        "price": logical.decimal(2, optional=True),
        "day": logical.DATE.as_optional(),
        "by_name": Schema.map(Schema(Type.STRING), Schema(Type.FLOAT32), optional=True),
        "by_number": Schema.map(Schema(Type.INT32), Schema(Type.STRING), optional=True),
        "list": Schema.array(Schema.struct({"x": Schema(Type.FLOAT32)}), optional=True),
    }
)
STRUCT = {
    "single": 0.10000000149011612,
    "price": Decimal("12345678901234567890.10"),
    "day": dt.date(1970, 1, 2),
    "by_name": {"a": 0.10000000149011612, "b": None},
    "by_number": {7: "x"},
    "list": [{"x": 0.5}, {"x": 0.10000000149011612}],
}
WRITTEN = {
    "single": 0.1,
    "price": 12345678901234567890.10,
    "day": 86_400_000,
    "by_name": {"a": 0.1, "b": None},
    "by_number": [{"key": 7, "value": "x"}],
    "list": [{"x": 0.5}, {"x": 0.1}],
}


def test_types_with_a_schema() -> None:
    nothing = dict.fromkeys(STRUCT)
    assert made(Values([STRUCT, nothing, None], SCHEMA)) == [WRITTEN, nothing, None]


def test_a_null_is_written_as_the_default_of_its_schema() -> None:
    number = Schema(Type.INT32, optional=True, default=7)
    day = Schema(Type.INT32, name=logical.DATE_NAME, version=1, optional=True, default=dt.date(1970, 1, 2))
    fields = {
        "n": number,
        "day": day,
        "in": Schema.struct({"n": number}),
        "list": Schema.array(number),
        "by_name": Schema.map(Schema(Type.STRING), number),
        "none": Schema(Type.STRING, optional=True),
    }
    row = {"n": None, "day": None, "in": {"n": None}, "list": [None, 1], "by_name": {"a": None, "b": 1}, "none": None}
    assert made(Values([row], Schema.struct(fields))) == [
        {"n": 7, "day": 86_400_000, "in": {"n": 7}, "list": [7, 1], "by_name": {"a": 7, "b": 1}, "none": None}
    ]


def test_columns_are_written_as_structs_are() -> None:
    columns = StructColumns(SCHEMA, [[STRUCT[name]] for name in STRUCT])
    assert made(columns) == [WRITTEN]


def test_a_decimal_keeps_its_digits() -> None:
    (document,), _ = Documents(True).of(Values([STRUCT], SCHEMA))
    assert document is not None
    assert b'"price":12345678901234567890.10,' in document


def test_maps_may_be_lists_of_entries() -> None:
    (found,) = made(Values([STRUCT], SCHEMA), compact=False)
    assert found["by_name"] == [{"key": "a", "value": 0.1}, {"key": "b", "value": None}]


@pytest.mark.parametrize(
    "values",
    [
        Text([b'{"a":\n1}', None]),
        Values(['{"a":1}', None], Schema(Type.STRING, optional=True)),
        Values([b'{"a":1}', None], Schema(Type.BYTES, optional=True)),
        Values(['{"a":1}', None]),
    ],
)
def test_a_text_that_holds_an_object_is_that_object(values: Values) -> None:
    assert made(values) == [{"a": 1}, None]


def test_what_cannot_be_a_document_is_found_among_others() -> None:
    documents, wrong = Documents(True).of(Values([{"a": 1}, [1], "no json", "[1]", {"b": object()}, {"c": 1}, 7]))
    assert [row for row, document in enumerate(documents) if document] == [0, 5]
    assert sorted(wrong) == [1, 2, 3, 4, 6]
    assert all(isinstance(error, DataError) for error in wrong.values())
    assert "the value is list" in str(wrong[1])
    assert "not a JSON object" in str(wrong[2])


def test_rows_of_different_schemas_stay_in_their_order() -> None:
    other = Schema.struct({"n": Schema(Type.INT32)})
    from connect.data.column import column

    values = Values([{"n": 1}, STRUCT, {"n": 2}], column([other, SCHEMA, other]))
    assert made(values) == [{"n": 1}, WRITTEN, {"n": 2}]


@pytest.mark.parametrize("document", [b"{}", b"{ }", b'{"a":1}'])
def test_a_field_is_added(document: bytes) -> None:
    assert json.loads(timed(document, "@timestamp", b"5")) == {**json.loads(document), "@timestamp": 5}
