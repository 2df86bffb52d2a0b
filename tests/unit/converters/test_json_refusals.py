"""What Kafka Connect's Java refuses becomes neither a null nor a value: not alone, and not among others."""

import json

import pytest

from connect.api import SchemaAndValue
from connect.converters import JsonConverter
from connect.converters.jsonschema.reading import Reader
from connect.data import Constant, Schema, Type
from connect.data import schema as schemas
from connect.errors import DataError


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure({name.replace("_", "."): text for name, text in config.items()}, is_key=False)
    return made


PLAIN = converter(schemas_enable="false")
FIELDS = {"a": schemas.OPTIONAL_FLOAT64, "b": schemas.OPTIONAL_STRING}
DECLARED = converter(
    schema_content=json.dumps(
        {
            "type": "struct",
            "fields": [
                {"field": "a", "type": "double", "optional": True},
                {"field": "b", "type": "string", "optional": True},
            ],
        }
    )
)
NUMBER = converter(schema_content='{"type":"double","optional":true}')
ENVELOPES = converter()


def assert_refused(record: bytes, made: JsonConverter, beside: bytes) -> None:
    for records in ([record], [beside, record], [beside] * 150 + [record]):
        with pytest.raises(DataError):
            made.to_connect_batch(Constant("t", len(records)), list(records))


@pytest.mark.parametrize(
    "record",
    [
        *(b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe ", b"\xef\xbb\xbf\xef\xbb\xbf1"),
        *(
            word + behind
            for word in (b"null", b"true", b"false")
            for behind in map(str.encode, ["\x7f", "\xa0", "\x85", "\u2028", "\ufeff", "\ufffe", "é", '\ufeff{"a":1}'])
        ),
        *(b"null\xff", b"true_", "null\x7f".encode("utf-16-le")),
    ],
    ids=repr,
)
def test_marks_alone_and_words_that_do_not_end_are_no_json(record: bytes) -> None:
    assert_refused(record, PLAIN, b"null")
    assert_refused(record, NUMBER, b"1.5")
    with pytest.raises(DataError):
        Reader(schemas.OPTIONAL_BOOLEAN).read([b"true", record])


@pytest.mark.parametrize("behind", [b"", b" ", b",", b"]", b"}", b"{}", b"$", b"\x00", b"-"], ids=repr)
def test_words_end_where_java_lets_them_end(behind: bytes) -> None:
    assert PLAIN.to_connect_data("t", b"null" + behind) == SchemaAndValue(None, None)
    assert PLAIN.to_connect_data("t", b"true" + behind).value is True


#: A member of an object that is just within Java's limits, and one that is beyond.
LIMITS = {
    "digits": ('"a":' + "1" * 1000, '"a":' + "1" * 1001),
    "digits of a fraction": ('"a":-0.' + "1" * 999, '"a":-0.' + "1" * 1000),
    "digits of an exponent": ('"a":1e-' + "0" * 998 + "5", '"a":1e-' + "0" * 999 + "5"),
    "exponent": ('"a":5e-2147483647', '"a":5e-2147483648'),
    "exponent and fraction": ('"a":0.5E-2147483646', '"a":0.5E-2147483647'),
    "name": (f'"{"n" * 50_000}":1', f'"{"n" * 50_001}":1'),
    "name of escapes": ('"' + r"\"" * 50_000 + '" : 1', '"' + r"\"" * 50_001 + '" : 1'),
    "name of backslashes": ('"' + r"\\" * 50_000 + '":1', '"' + r"\\" * 50_001 + '":1'),
    "name of three bytes a character": (f'"{"€" * 16_666}":1', f'"{"€" * 16_667}":1'),
    "depth": ('"c":' + "[" * 999 + "]" * 999, '"c":' + "[" * 1000 + "]" * 1000),
    "depth, with brackets in texts": (
        '"c":' + '["]",' * 999 + "1" + "]" * 999,
        '"c":' + '["]",' * 1000 + "1" + "]" * 1000,
    ),
}


@pytest.mark.parametrize(("within", "beyond"), LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("start", ["", '"b":"x[{",'])
def test_what_is_beyond_javas_limits_is_refused(start: str, within: str, beyond: str) -> None:
    record, refused = (f"{{{start}{member}}}".encode() for member in (within, beyond))
    beside = b'{"a":1.5,"b":"x"}'
    schema = b'{"schema":{"type":"struct","fields":[{"field":"a","type":"double","optional":true}]},"payload":'
    for made in (PLAIN, DECLARED):
        assert len(made.to_connect_batch(Constant("t", 2), [beside, record])) == 2
        assert_refused(refused, made, beside)
    assert_refused(schema + refused + b"}", ENVELOPES, schema + beside + b"}")
    Reader(Schema.struct(FIELDS)).read([beside, record])
    with pytest.raises(DataError):
        Reader(Schema.struct(FIELDS)).read([beside, refused])


def test_a_payload_is_a_level_deeper_than_it_seems() -> None:
    start = b'{"schema":null,"payload":'
    assert ENVELOPES.to_connect_data("t", start + b"[" * 999 + b"]" * 999 + b"}").value
    assert_refused(start + b"[" * 1000 + b"]" * 1000 + b"}", ENVELOPES, start + b"1}")


def test_a_text_may_have_twenty_million_characters() -> None:
    assert PLAIN.to_connect_data("t", b'["' + b"x" * 20_000_000 + b'"]').value
    assert_refused(b'["' + b"x" * 20_000_001 + b'"]', PLAIN, b"1")


def test_texts_that_look_like_numbers_beyond_the_limits_stay_as_they_are() -> None:
    digits = "0123456789" * 200
    record = json.dumps(
        {"a": "e-99999999999", "b": f"f0e9999999999 {digits}", "c": "n" * 60_000, "d": "[{" * 1200}
    ).encode()
    values = PLAIN.to_connect_batch(Constant("t", 1), [record])
    assert values.to_list() == [json.loads(record)]


@pytest.mark.parametrize(
    "schema",
    [
        '{"type":"struct","fields":[{"field":"","type":"int8","optional":true}]}',
        '{"type":"struct","fields":[],"default":{}}',
        '{"type":"array","items":{"type":"string"},"default":[5]}',
        '{"type":"string","default":null}',
    ],
)
def test_schemas_that_java_refuses_are_refused(schema: str) -> None:
    assert_refused(b'{"schema":' + schema.encode() + b',"payload":{}}', ENVELOPES, b'{"schema":null,"payload":{}}')


def test_texts_are_no_dates_as_keys_within_a_struct() -> None:
    keys = '{"type":"string","name":"org.apache.kafka.connect.data.Date"}'
    field = f'{{"field":"a","type":"map","keys":{keys},"values":{{"type":"int8"}}}}'
    start = f'{{"schema":{{"type":"struct","fields":[{field}]}},"payload":'.encode()
    assert_refused(start + b'{"a":{"x":1}}}', ENVELOPES, start + b'{"a":{}}}')


@pytest.mark.parametrize(
    ("key", "pairs"), [("double", b"[[0.0,1],[-1e-400,2]]"), ("bytes", b'[["AA==",1],["AA==",2]]')]
)
def test_no_entry_of_a_map_is_lost_because_python_takes_two_keys_for_one(key: str, pairs: bytes) -> None:
    made = converter(schema_content=f'{{"type":"map","keys":{{"type":"{key}"}},"values":{{"type":"int8"}}}}')
    with pytest.raises(DataError, match="cannot be the keys of a dict"):
        made.to_connect_data("t", pairs)


def test_of_keys_that_are_the_same_in_java_too_the_last_counts() -> None:
    made = converter(schema_content='{"type":"map","keys":{"type":"double"},"values":{"type":"int8"}}')
    assert made.to_connect_data("t", b"[[1,1],[1.0,2]]").value == {1.0: 2}


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\x00"])
def test_a_field_may_have_any_name(name: str) -> None:
    described = json.dumps({"type": "struct", "fields": [{"field": name, "type": "int8"}]})
    record = json.dumps({name: 5}).encode()
    values = converter(schema_content=described).to_connect_batch(Constant("t", 2), [record, record])
    assert values.to_list() == [{name: 5}] * 2
    assert Reader(Schema.struct({name: Schema(Type.INT8)})).read([record]).to_list() == [{name: 5}]


def test_a_name_with_half_of_a_surrogate_pair_is_a_fields_name_that_no_record_has() -> None:
    described = r'{"type":"struct","fields":[{"field":"\ud800","type":"int8","optional":true}]}'
    assert converter(schema_content=described).to_connect_data("t", b'{"a":1}').value == {"\ud800": None}


@pytest.mark.parametrize("depth", [300, 480, 700, 999])
@pytest.mark.parametrize("inner", ["1", "-0.0", "1e400", "01", "123456789012345678901"])
def test_depth_is_no_danger_to_pythons_stack(depth: int, inner: str) -> None:
    value = PLAIN.to_connect_data("t", b'{"a":' * depth + inner.encode() + b"}" * depth).value
    for _ in range(depth):
        value = value["a"]
    assert isinstance(value, int | float)


def test_a_schema_that_is_too_deep_is_refused() -> None:
    record = b'{"schema":' + b'{"type":"array","items":' * 900 + b'{"type":"int8"}' + b"}" * 900 + b',"payload":null}'
    with pytest.raises(DataError, match="nested too deeply"):
        ENVELOPES.to_connect_data("t", record)
