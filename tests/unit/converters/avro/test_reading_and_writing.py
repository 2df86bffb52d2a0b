"""Avro's binary form: what is malformed, too long, too deep or too much, and what no schema of others shows."""

import datetime as dt
import io
import json
import random
from decimal import Decimal
from functools import lru_cache
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.converters.avro import anything, names
from connect.converters.avro.from_connect import FromConnect
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.reading import Reader, make_reader
from connect.converters.avro.text import schema_text
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connect.converters.avro.writing import MadeWriter
from connect.data import Schema, Type, logical
from connect.data import schema as s
from connect.errors import DataError

OPTIONS = AvroOptions.parse({})


def read(avro: Any, *records: bytes, options: AvroOptions = OPTIONS) -> list[Any]:
    fields, reader = made(json.dumps(avro), options)
    found = reader(list(records), 0)
    return list(zip(*found, strict=True)) if fields else found


@lru_cache
def made(text: str, options: AvroOptions) -> tuple[int, Reader]:
    """How many fields a record has, and what reads it."""
    node = parse(text)
    return len(node.fields), make_reader(node, ToConnect(options).schema(node), options)


def write(avro: Any, schema: Schema, *values: Any, options: AvroOptions = OPTIONS) -> list[bytes]:
    return MadeWriter(parse(json.dumps(avro)), schema, options).values(list(values), b"")


def own(schema: Schema, *values: Any, options: AvroOptions = OPTIONS) -> list[bytes]:
    """Written with the schema that follows from Connect's."""
    return MadeWriter(parse(schema_text(FromConnect(options).schema(schema))), schema, options).values(
        list(values), b""
    )


def record(**fields: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


EMPTY = {"type": "record", "name": "Empty", "fields": []}
WIDE = record(
    a="long",
    b=["null", "string"],
    c={"type": "array", "items": {"type": "map", "values": ["null", "bytes", "int"]}},
    d={"type": "enum", "name": "E", "symbols": ["X", "Y"]},
    e="double",
    f={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    g={"type": "int", "logicalType": "date"},
    h={"type": "int", "logicalType": "time-millis"},
    i={"type": "long", "logicalType": "timestamp-millis"},
)
VALUE = {
    "a": 2**62,
    "b": "é" * 40,
    "c": [{"k": b"\x00" * 70, "l": None}, {}, {"m": -5}],
    "d": "Y",
    "e": 1.5,
    "f": Decimal("-1.25"),
    "g": dt.date(1969, 1, 1),
    "h": dt.time(1, 2, 3, 4000),
    "i": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
}


def encoded(avro: Any = WIDE) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(avro))), VALUE)
    return out.getvalue()


@pytest.mark.parametrize("last", [each["name"] for each in WIDE["fields"]])
def test_every_cut_is_an_error_and_takes_nothing_of_the_next_record(last: str) -> None:
    avro = {**WIDE, "fields": sorted(WIDE["fields"], key=lambda each: each["name"] == last)}
    data = encoded(avro)
    assert len(read(avro, data, data)) == 2
    for end in range(len(data)):
        with pytest.raises(DataError):
            read(avro, data[:end], data)
        with pytest.raises(DataError):
            read(avro, data, data[:end])


def test_what_follows_a_value_is_not_looked_at_as_in_java() -> None:
    data = encoded()
    assert read(WIDE, data + b"more", data) == read(WIDE, data) * 2


@given(st.binary(max_size=60))
def test_whatever_bytes_come_they_are_read_or_refused(data: bytes) -> None:
    for avro in (WIDE, {"type": "array", "items": EMPTY}, {"type": "map", "values": "string"}, ["null", "long"]):
        try:
            read(avro, data)
        except DataError:
            pass


def test_a_flipped_bit_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    data = encoded()
    for _ in range(2000):
        bad = bytearray(data)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        try:
            read(WIDE, bytes(bad))
        except DataError:
            pass


@pytest.mark.parametrize(
    ("avro", "data", "message"),
    [
        ("int", b"\xff\xff\xff\xff\x1f", "more bits"),
        ("int", b"\x82\x80\x80\x80\x80\x00", "more bits"),
        ("long", b"\xff" * 30 + b"\x01", "more bits"),
        ("string", b"\x01", "below 0"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\xff\x01", "more entries than there are bytes"),
        ({"type": "array", "items": EMPTY}, b"\xfe\xff\xff\xff\xff\x01\x00", "more entries"),
        (["null", "int"], b"\x04", "its union has not"),
        ({"type": "enum", "name": "E", "symbols": ["X"]}, b"\x02", "its enum has not"),
        ({"type": "enum", "name": "E", "symbols": ["X"]}, b"\x80\x80\x80\x80\x80\x00", "more bits"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, b"\x00", "decimal without a byte"),
        ({"type": "int", "logicalType": "time-millis"}, b"\x01", "not a time of day"),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "cannot be read",
        ),
    ],
)
def test_what_is_malformed_says_how(avro: Any, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(avro, data)


def test_keys_that_python_cannot_hold_in_a_dict_are_refused() -> None:
    entry = {
        "type": "record",
        "name": "MapEntry",
        "namespace": "io.confluent.connect.avro",
        "fields": [{"name": "key", "type": {"type": "array", "items": "int"}}, {"name": "value", "type": "int"}],
    }
    with pytest.raises(DataError, match="unhashable"):
        read({"type": "array", "items": entry}, b"\x02\x00\x02\x00")


@pytest.mark.parametrize("kind", ["array", "record", "optional", "map"])
def test_types_may_be_nested_deeper_than_pythons_blocks(kind: str) -> None:
    avro: Any = "int"
    value: Any = 7
    for level in range(40):
        if kind == "array":
            avro, value = {"type": "array", "items": avro}, [value]
        elif kind == "map":
            avro, value = {"type": "map", "values": avro}, {"k": value}
        else:
            inner = ["null", avro] if kind == "optional" else avro
            avro = {"type": "record", "name": f"R{level}", "fields": [{"name": "f", "type": inner}]}
            value = {"f": value}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(avro))), value)
    node = parse(json.dumps(avro))
    schema = ToConnect(OPTIONS).schema(node)
    found = make_reader(node, schema, OPTIONS)([out.getvalue()], 0)
    assert ({"f": found[0][0]} if node.fields else found[0]) == value
    assert write(avro, schema, value) == [out.getvalue()]


def test_a_union_may_have_many_types() -> None:
    branches = [{"type": "fixed", "name": f"F{at}", "size": 1} for at in range(100)]
    avro = ["null", *branches]
    data = b"\xc8\x01x"  # the last one
    (found,) = read(avro, data)
    assert {name: value for name, value in found.items() if value is not None} == {"F99": b"x"}
    schema = ToConnect(OPTIONS).schema(parse(json.dumps(avro)))
    assert write(avro, schema, {"F99": b"x"}) == [data]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (s.INT8, 128, "beyond what its type holds"),
        (s.INT8, -129, "beyond"),
        (s.INT64, 2**63, "beyond"),
        (s.INT32, None, "null"),
        (s.INT32, "5", "does not fit"),
        (s.INT32, 5.0, "does not fit"),
        (s.BOOLEAN, 1, "neither true nor false"),
        (s.STRING, b"x", "does not fit"),
        (s.BYTES, "x", "a value of bytes is a str"),
        (Schema.array(s.INT32), {1, 2}, "a value of an array is a set"),
        (Schema.array(s.INT32), "abc", "a value of an array is a str"),
        (Schema.map(s.STRING, s.INT32), [1], "does not fit"),
        (Schema.struct({"a": s.INT32}), {}, "null"),
        (Schema.struct({"a": s.INT32}), [1], "not a struct"),
        (logical.DATE, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "has a time of day"),
        (logical.decimal(2), Decimal("1.234"), "scale 3, not 2"),
    ],
)
def test_what_does_not_fit_its_schema_is_refused(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        own(schema, value)


def test_half_of_a_surrogate_pair_is_written_as_java_does() -> None:
    assert own(s.STRING, "a\ud800b") == [b"\x06a?b"]


def test_fields_are_written_by_name_into_another_schema() -> None:
    schema = Schema.struct({"b": s.INT32, "a": s.STRING, "extra": s.STRING}, name="R")
    avro = {
        "type": "record",
        "name": "Other",
        "fields": [
            {"name": "a", "type": ["null", "string"]},
            {"name": "b", "type": ["string", "long"]},
            {"name": "c", "type": {"type": "record", "name": "C", "fields": []}, "default": {}},
            {"name": "d", "type": ["null", "int"], "default": None},
            {"name": "e", "type": {"type": "map", "values": "int"}, "default": {"k": 1}},
        ],
    }
    assert write(avro, schema, {"a": "x", "b": 3, "extra": "y"}) == [b"\x02\x02x\x02\x06\x00\x02\x02k\x02\x00"]
    nothing = {"type": "record", "name": "N", "fields": [{"name": "z", "type": "int", "default": 5}]}
    assert write(nothing, schema, {"a": "x"}, {"b": 1}) == [b"\x0a", b"\x0a"]


def test_a_name_that_avro_does_not_allow_is_replaced_where_asked_for() -> None:
    options = AvroOptions.parse({"scrub.invalid.names": "true"})
    schema = Schema.struct({"bad name": s.INT32, "2nd": s.INT32}, name="my-space.A B")
    text = schema_text(FromConnect(options).schema(schema))
    assert [each["name"] for each in json.loads(text)["fields"]] == ["bad_name", "x2nd"]
    assert own(schema, {"bad name": 1, "2nd": 2}, options=options) == [b"\x02\x04"]
    with pytest.raises(DataError, match="a name is of letters"):
        own(schema, {"bad name": 1, "2nd": 2})


@pytest.mark.parametrize("name", ["a-b", "2nd", "a b", "a.b", ""])
def test_a_name_that_avro_does_not_allow_is_an_error_of_the_record(name: str) -> None:
    with pytest.raises(DataError, match=f'no name "{name}".*scrub.invalid.names'):
        own(Schema.struct({"ok": Schema.struct({name: s.INT32})}), {"ok": {name: 1}})
    enum = Schema(Type.STRING, parameters={names.ENUM: "E", f"{names.ENUM}.{name}": "0"})
    with pytest.raises(DataError, match=f'no name "{name}"'):
        own(enum, name, options=AvroOptions.parse({"enhanced.avro.schema.support": "true"}))


def test_letters_of_any_script_are_allowed_as_in_java() -> None:
    assert own(Schema.struct({"größe_2": s.INT32}), {"größe_2": 1}) == [b"\x02"]


def test_names_of_a_schema_never_become_code() -> None:
    field = "'] = __import__('os').abort() #"
    schema = Schema.struct({field: s.INT32}, name="R")
    options = AvroOptions.parse({"scrub.invalid.names": "true"})
    assert len(own(schema, {field: 1}, options=options)) == 1
    enum = {"type": "enum", "name": "E", "symbols": ["'+x+'"]}
    assert read(enum, b"\x00") == ["'+x+'"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]x", "5", '"x.Y"'),
        *('{"type":"record"}', '{"type":"strin"}', '{"type":"array"}'),
        '{"type":"record","name":"a b","fields":[]}',
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        parse(text)


def test_a_record_that_holds_itself_is_refused() -> None:
    with pytest.raises(DataError, match="holds itself"):
        read({"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}, b"\x00")


def test_flatten_singleton_unions() -> None:
    assert read(["int"], b"\x00\x04") == [2]
    assert read(["int"], b"\x00\x04", options=AvroOptions.parse({"flatten.singleton.unions": "false"})) == [{"int": 2}]
    assert read(record(f=["int"]), b"\x00\x04") == [(2,)]


def test_java_properties_are_left_out_where_asked_for() -> None:
    schema = s.STRING.replace(parameters={"avro.java.string": "String"})
    assert '"avro.java.string":"String"}' in schema_text(FromConnect(OPTIONS).schema(schema))
    bare = FromConnect(AvroOptions.parse({"avro.remove.java.properties": "true", "connect.meta.data": "false"})).schema(
        schema
    )
    assert schema_text(bare) == '"string"'


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False)
        | st.text()
        | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(0, 9), inner, max_size=3),
        max_leaves=8,
    )
)
def test_values_without_a_schema_come_back(value: Any) -> None:
    data = anything.write(value)
    assert anything.read([b"xx" + data, b"yy" + data], 2) == [value, value]
    for end in range(len(data)):
        with pytest.raises(DataError):
            anything.read([data[:end]], 0)


def test_of_two_keys_that_python_takes_for_one_none_is_lost() -> None:
    one, true = anything.write({1: "a"}), anything.write({True: "b"})
    both = one[:-1] + true[9:]  # a block of one entry, and a block of the other
    with pytest.raises(DataError, match="two keys that only Java tells apart"):
        anything.read([both], 0)
