"""A column of records converts as its records do one by one, errors included."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.api import Converter, SchemaAndValue
from connect.converters import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    JsonConverter,
    LongConverter,
    ShortConverter,
    StringConverter,
)
from connect.data import Constant, Schema, Values
from connect.data import schema as schemas
from connect.data.column import column
from connect.errors import DataError


def json_converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure({key.replace("_", "."): value for key, value in config.items()}, is_key=False)
    return made


PLAIN = json_converter(schemas_enable="false")
ENVELOPE = json_converter()
CONVERTERS: list[Converter] = [
    PLAIN,
    ENVELOPE,
    StringConverter(),
    ByteArrayConverter(),
    ShortConverter(),
    IntegerConverter(),
    LongConverter(),
    FloatConverter(),
    DoubleConverter(),
    BooleanConverter(),
]

numbers = st.sampled_from(["0", "-0.0", "1.5", "1e400", "01", "18446744073709551616", "1234567890123456789", "-1e-9"])
texts = st.sampled_from(['"a"', '"\\ud800"', '"é😀"', '"payload"', "null", "true", "NaN", "", "{", "nul"])
documents = st.recursive(
    numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]")
        | st.dictionaries(st.sampled_from(["a", "b", "schema"]), inner, max_size=3).map(
            lambda items: "{" + ",".join(f'"{name}": {item}' for name, item in items.items()) + "}"
        )
    ),
    max_leaves=6,
)
SCHEMAS = [
    "null",
    '{"type":"int32"}',
    '{"type":"string","optional":true}',
    '{"type":"double"}',
    '{"type":"x"}',
    '{"type":"array"}',
]
STRUCT = '{"type":"struct","fields":[{"type":"int64","field":"a"},{"type":"double","optional":true,"field":"b"}]}'
envelopes = st.tuples(st.sampled_from([*SCHEMAS, STRUCT]), documents).map(
    lambda pair: f'{{"schema":{pair[0]},"payload":{pair[1]}}}'
)
rows = st.lists(
    st.none() | (documents | envelopes).map(str.encode) | st.binary(max_size=9) | st.sampled_from([b"\x00", b"\x01"]),
    max_size=6,
)

leaves: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 64), 1 << 64)
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=3)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.dictionaries(st.integers(0, 3), inner, max_size=2)
    ),
    max_leaves=6,
)
KINDS = [
    None,
    schemas.OPTIONAL_INT32,
    schemas.STRING,
    schemas.OPTIONAL_FLOAT64,
    schemas.FLOAT32,
    schemas.OPTIONAL_BYTES,
    Schema.array(schemas.OPTIONAL_STRING),
    Schema.map(schemas.STRING, schemas.OPTIONAL_FLOAT64),
    Schema.struct({"a": schemas.OPTIONAL_INT64, "b": schemas.OPTIONAL_STRING}),
]


def comparable(value: Any) -> Any:
    """The value such that NaN equals NaN, and 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {repr(key): comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return (type(value), "nan" if isinstance(value, float) and math.isnan(value) else repr(value))


def one_by_one(convert: Any) -> Any:
    try:
        return convert()
    except DataError:
        return DataError


@pytest.mark.parametrize("converter", CONVERTERS, ids=lambda each: type(each).__name__)
@given(data=rows)
def test_reading(converter: Converter, data: list[bytes | None]) -> None:
    single = one_by_one(lambda: [converter.to_connect_data("t", item) for item in data])
    found = one_by_one(lambda: converter.to_connect_batch(Constant("t", len(data)), data))
    if found is not DataError:
        found = list(map(SchemaAndValue, found.schemas, found))
    assert (single is DataError) == (found is DataError)
    if single is not DataError:
        assert [(schema, comparable(value)) for schema, value in found] == [(s, comparable(v)) for s, v in single]


@pytest.mark.parametrize("converter", CONVERTERS, ids=lambda each: type(each).__name__)
@given(pairs=st.lists(st.tuples(st.sampled_from(KINDS), values), max_size=6))
def test_writing(converter: Converter, pairs: list[tuple[Schema | None, Any]]) -> None:
    single = one_by_one(lambda: [converter.from_connect_data("t", schema, value) for schema, value in pairs])
    batch = Values([value for _, value in pairs], column([schema for schema, _ in pairs]))
    found = one_by_one(lambda: list(converter.from_connect_batch(Constant("t", len(pairs)), batch)))
    assert found == single


@given(items=st.lists(st.dictionaries(st.sampled_from("abc"), leaves, max_size=3), min_size=20, max_size=40))
def test_writing_many_objects(items: list[dict[str, Any]]) -> None:
    single = one_by_one(lambda: [PLAIN.from_connect_data("t", None, item) for item in items])
    assert one_by_one(lambda: PLAIN.from_connect_batch(Constant("t", len(items)), Values(items))) == single


def test_the_schema_of_records_that_begin_alike_is_one_object() -> None:
    data = [f'{{"schema": {STRUCT}, "payload": {{"a": {n}, "b": 0.5}}}}'.encode() for n in range(3)]
    found = ENVELOPE.to_connect_batch(Constant("t", 3), data)
    assert found.schemas.constant
    assert ENVELOPE.to_connect_batch(Constant("t", 3), data).schema is found.schema
    assert found.to_list() == [{"a": n, "b": 0.5} for n in range(3)]


def test_a_payload_cannot_pretend_to_end_early() -> None:
    start = b'{"schema":{"type":"int32"},"payload":'
    assert ENVELOPE.to_connect_data("t", start + b"1}").value == 1
    assert ENVELOPE.to_connect_data("t", start + b'1},"payload":2}').value == 1
    with pytest.raises(DataError, match="may not contain additional fields"):
        ENVELOPE.to_connect_data("t", start + b'1,"x":2}')


def test_a_huge_exponent_for_an_integer_takes_no_memory() -> None:
    assert ENVELOPE.to_connect_data("t", b'{"schema":{"type":"int64"},"payload":3e999999999}').value == 0


def test_an_error_names_the_field() -> None:
    schema = Schema.struct({"order": Schema.struct({"id": schemas.INT32})})
    with pytest.raises(DataError, match="order: id: str where INT32 takes int"):
        ENVELOPE.from_connect_data("t", schema, {"order": {"id": "x"}})
    with pytest.raises(DataError, match="order: id: null where the schema requires"):
        ENVELOPE.from_connect_data("t", schema, {"order": {}})


def test_schemas_are_remembered_up_to_the_size_of_the_cache() -> None:
    small = json_converter(schemas_cache_size="2")
    for n in range(5):
        schema = Schema.struct({f"f{n}": schemas.INT32})
        data = small.from_connect_data("t", schema, {f"f{n}": n})
        assert small.to_connect_data("t", data) == (schema, {f"f{n}": n})
    assert len(small._by_start) == len(small._starts) == 2


def test_numbers_of_wrong_sizes_do_not_make_up_for_each_other() -> None:
    with pytest.raises(DataError, match="INT64 takes 8 bytes, and there are 7"):
        LongConverter().to_connect_batch(Constant("t", 2), [bytes(7), bytes(9)])


def test_malformed_text_in_a_field_that_the_schema_lacks_is_found() -> None:
    converter = JsonConverter()
    content = '{"type":"struct","fields":[{"field":"id","type":"int64"}]}'
    converter.configure({"schema.content": content}, is_key=False)
    good = b'{"id":1,"more":"x"}'
    values = converter.to_connect_batch(Constant("t", 2), [good, good])
    assert values.struct_columns is not None
    assert list(values) == [{"id": 1}, {"id": 1}]
    with pytest.raises(DataError):
        converter.to_connect_batch(Constant("t", 2), [good, b'{"id":1,"more":"\xff"}'])


@pytest.mark.parametrize(
    "number",
    [
        "0.0e010262789313986506",
        "0.0e2147483649",
        "0.0e-2147483647",
        "5e-4000000000",
        "1E-99999999999",
        "-7.25e-2147483646",
    ],
)
@pytest.mark.parametrize(
    "fields", [None, '[{"field":"a","type":"double"}]', '[{"field":"b","type":"string","optional":true}]']
)
def test_a_number_with_an_exponent_that_is_too_large_is_refused_not_0(number: str, fields: str | None) -> None:
    settings = (
        {"schemas_enable": "false"} if fields is None else {"schema_content": f'{{"type":"struct","fields":{fields}}}'}
    )
    converter = json_converter(**settings)
    with pytest.raises(DataError, match="exponent"):
        converter.to_connect_batch(Constant("t", 2), [b'{"a":0.0}', b'{"a":%b}' % number.encode()])
