"""Schemas that JSON itself says. The cases are those of Debezium's own tests."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema, SchemaAndValue
from connect.data import schema as schemas
from connect.data.validation import validate
from transforms.inferred_json import JsonSchemas, NotExpanded

_STRING, _INT32, _INT64 = schemas.OPTIONAL_STRING, schemas.OPTIONAL_INT32, schemas.OPTIONAL_INT64


def read(text: str, *, nulls: bool = False, empty_arrays: bool = False) -> SchemaAndValue:
    return JsonSchemas(nulls=nulls, empty_arrays=empty_arrays).read(text, "pub")


def _struct(name: str | None, **fields: Schema) -> Schema:
    return Schema.struct(fields, name=name, optional=True)


def test_objects_arrays_and_scalars() -> None:
    text = """{"address": {"floor": {"level": 17, "big": 3000000000}, "coord": [-73.9, 40.8]}, "open": true,
               "grades": [{"grade": "A", "score": 2}, {"grade": "B"}, null], "rate": 1.0} behind it"""
    floor = _struct("pub.address.floor", level=_INT32, big=_INT64)
    found = read(text)
    assert found.schema == _struct(
        "pub",
        address=_struct("pub.address", floor=floor, coord=Schema.array(schemas.OPTIONAL_FLOAT64, optional=True)),
        open=schemas.OPTIONAL_BOOLEAN,
        grades=Schema.array(_struct("pub.grades", grade=_STRING, score=_INT32), optional=True),
        rate=schemas.OPTIONAL_FLOAT64,
    )
    assert found.value == {
        "address": {"floor": {"level": 17, "big": 3_000_000_000}, "coord": [-73.9, 40.8]},
        "open": True,
        "grades": [{"grade": "A", "score": 2}, {"grade": "B", "score": None}, None],
        "rate": 1.0,
    }


def test_nulls_are_left_out_or_optional_bytes() -> None:
    text = '{"a": null, "b": [{"x": null}, {"x": "text"}]}'
    element = _struct("pub.b", x=_STRING)
    assert read(text) == (
        _struct("pub", b=Schema.array(element, optional=True)),
        {"b": [{"x": None}, {"x": "text"}]},
    )
    assert read(text, nulls=True) == (
        _struct("pub", a=schemas.OPTIONAL_BYTES, b=Schema.array(element, optional=True)),
        {"a": None, "b": [{"x": None}, {"x": "text"}]},
    )


def test_empty_arrays_are_left_out_or_of_texts() -> None:
    text = '{"n": {"tags": []}, "a": 1}'
    assert read(text) == (_struct("pub", n=_struct("pub.n"), a=_INT32), {"n": {}, "a": 1})
    tags = Schema.array(_STRING, optional=True)
    assert read(text, empty_arrays=True) == (
        _struct("pub", n=_struct("pub.n", tags=tags), a=_INT32),
        {"n": {"tags": []}, "a": 1},
    )
    assert read("[]", empty_arrays=True) == (tags, [])


def test_arrays_of_arrays() -> None:
    inner = Schema.array(_INT32, optional=True)
    assert read("[[1], [2, 3]]") == (Schema.array(inner, optional=True), [[1], [2, 3]])
    unnamed = Schema.array(Schema.array(_struct(None, a=_INT32), optional=True), optional=True)
    assert read('[[{"a": 1}]]') == (unnamed, [[{"a": 1}]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("text", "does not begin with"),
        ("", "does not begin with"),
        (" {}", "does not begin with"),
        ('{"a": ', "not JSON: .*, line 1 column 7"),
        ('{"a": NaN}', "NaN, which is not JSON"),
        ('{"test": [1, 2.0, 3.0]}', "numbers of different types"),
        ('{"test": [1, 3000000000]}', "numbers of different types"),
        ('{"test": [1, "a"]}', "elements of different types"),
        ('{"test": [null]}', "no elements to infer a type from"),
        ('{"test": [[]]}', "no elements to infer a type from"),
        ('[{"a": 1}, {"a": "x"}]', "values of different types"),
        ('[[1], ["a"]]', "values of different types"),
        ("[]", "an empty array"),
        ('{"a": 9223372036854775808}', "more than 64 bits"),
        (f'{{"a": 1{"0" * 5000}}}', "too many digits"),
        ('{"": 1}', "no name"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_expanded(text: str, says: str) -> None:
    with pytest.raises(NotExpanded, match=says):
        read(text)


_documents: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(_documents, st.booleans(), st.booleans())
def test_every_document_fits_its_schema_or_stays(document: Any, nulls: bool, empty_arrays: bool) -> None:
    try:
        schema, value = read(json.dumps(document), nulls=nulls, empty_arrays=empty_arrays)
    except NotExpanded:
        return
    assert schema is not None
    validate(schema, value)
