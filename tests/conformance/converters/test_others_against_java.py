"""Text, bytes, numbers and headers give the same values, bytes and errors as Kafka Connect's."""

import datetime as dt
import random
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from connect.api import Converter
from connect.converters import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
    SimpleHeaderConverter,
    StringConverter,
)
from connect.data import Schema, java_text, logical
from connect.data import schema as schemas
from connect.data.text import java_double, java_float32
from tests.support.java import Oracle

from .generate import random_double, random_schema, random_single, random_text, random_value
from .oracle import (
    BYTES,
    STRING,
    Answer,
    disagreements,
    from_connect,
    from_header,
    text,
    to_connect,
    to_header,
)

NUMBERS = "org.apache.kafka.connect.converters."
CONVERTERS: list[tuple[str, type[Converter], Schema, list[Any]]] = [
    (BYTES, ByteArrayConverter, schemas.BYTES, [b"", b"\x00\xff", "text", 5]),
    (NUMBERS + "ShortConverter", ShortConverter, schemas.INT16, [0, -1, 32767, -32768, "x"]),
    (NUMBERS + "IntegerConverter", IntegerConverter, schemas.INT32, [0, -1, (1 << 31) - 1, -(1 << 31), "x"]),
    (NUMBERS + "LongConverter", LongConverter, schemas.INT64, [0, -1, (1 << 63) - 1, -(1 << 63), "x"]),
    (NUMBERS + "FloatConverter", FloatConverter, schemas.FLOAT32, [0.0, -0.0, 0.1, float("inf"), "x"]),
    (NUMBERS + "DoubleConverter", DoubleConverter, schemas.FLOAT64, [0.0, -0.0, 0.1, 1e300, "x"]),
    (NUMBERS + "BooleanConverter", BooleanConverter, schemas.BOOLEAN, [True, False, "x", 1]),
]

Case = tuple[Answer, Callable[[], Any]]


def reading(cls: str, ours: Any, data: bytes | None, **config: str) -> Case:
    ours.configure(config, is_key=False)
    return to_connect(cls, data, **config), lambda: ours.to_connect_data("topic", data)


def writing(cls: str, ours: Any, schema: Schema | None, value: Any, **config: str) -> Case:
    ours.configure(config, is_key=False)
    return from_connect(cls, schema, value, **config), lambda: ours.from_connect_data("topic", schema, value)


@pytest.mark.parametrize(("theirs", "ours", "schema", "values"), CONVERTERS, ids=[case[0] for case in CONVERTERS])
def test_bytes_and_numbers_convert_alike(
    oracle: Oracle, theirs: str, ours: type[Converter], schema: Schema, values: list[Any]
) -> None:
    raw = [
        None,
        b"",
        b"\x00",
        b"\x01",
        b"\x02",
        b"\x7f\xc0",
        bytes(4),
        b"\x40\x49\x0f\xdb",
        b"\xff" * 8,
        bytes(8),
        bytes(9),
    ]
    cases = [reading(theirs, ours(), data) for data in raw if data != b"\xff" * 8 or ours is not DoubleConverter]
    cases += [writing(theirs, ours(), schema, value) for value in [None, *values]]
    cases += [writing(theirs, ours(), None, value) for value in values if isinstance(value, str)]
    if ours in (ByteArrayConverter, BooleanConverter):
        cases += [writing(theirs, ours(), schemas.STRING, value) for value in values]
    assert disagreements(oracle, cases) == []


MALFORMED = [
    b"\xff",
    b"\xed\xa0\x80",
    b"\xed\xa0\xbd\xed\xb8\x80",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x98",
    b"\xe2\x82A",
    b"\xf8\x88\x80\x80\x80",
    b"\xe0\x80\x80",
    b"\xef\xbb\xbfA",
    b"\x80\x80",
    b"\xed\xa0",
    b"\xed\xa0A",
    b"\xf0\x80x",
]
CHARACTER_SETS = [
    "UTF-8",
    "utf8",
    "UTF-16",
    "UTF-16LE",
    "UTF-16BE",
    "UTF-32",
    "ISO-8859-1",
    "latin1",
    "US-ASCII",
    "windows-1252",
    "KOI8-R",
]


def test_text_converts_alike(oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    texts = [random_text(chance) for _ in range(50)] + ["a\u00e9\u20ac\ud800", "", "\udc00\U0001f600"]
    noise = [bytes(chance.choices(b"\x7f\x80\xbf\xc2\xe0\xed\xa0\xf0\x90\xf4A", k=6)) for _ in range(500)]
    cases = [reading(STRING, StringConverter(), data) for data in [None, b"", *MALFORMED, *noise]]
    for name in CHARACTER_SETS:
        config = {"converter.encoding": name}
        cases += [writing(STRING, StringConverter(), None, each, **config) for each in texts]
        cases += [reading(STRING, StringConverter(), data, **config) for data in (b"\x00a\x81\xe9", b"\xff\xfea\x00")]
    assert disagreements(oracle, cases) == []


def holds_bytes(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return isinstance(value, bytes) or any(map(holds_bytes, inner))


def is_ancient(value: Any) -> bool:
    """Before the Gregorian calendar, in which Java's Date counts in Julian days."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return (isinstance(value, dt.date) and value.year < 1583) or any(map(is_ancient, inner))


def test_values_read_alike_as_text(oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    cases: list[Case] = []
    while len(cases) < 500:
        schema = random_schema(chance)
        value = random_value(chance, schema)
        # Java says of bytes where they lie in memory; we say how many there are.
        if value is not None and not holds_bytes(value) and not is_ancient(value):
            cases.append((text(schema, value), lambda s=schema, v=value: java_text(s, v).encode("utf-8", "replace")))  # type: ignore[misc]
    assert disagreements(oracle, cases) == []


def test_floating_point_numbers_read_alike(oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    doubles = [random_double(chance) for _ in range(3000)] + [
        5e-324,
        1e23,
        2e-44,
        1e-3,
        1e7,
        2.0**-1074,
        2.0**-1022,
        -0.0,
    ]
    singles = [random_single(chance) for _ in range(3000)] + [2.0**-149, 2.0**-126, 1e-3, 1e7, 33554432.0, 0.0]
    asked = [{"op": "double", "bits": struct.unpack(">q", struct.pack(">d", each))[0]} for each in doubles]
    asked += [{"op": "float", "bits": struct.unpack(">i", struct.pack(">f", each))[0]} for each in singles]
    ours = [*map(java_double, doubles), *map(java_float32, singles)]
    assert [(a["text"], b) for a, b in zip(oracle.ask(asked), ours, strict=True) if a["text"] != b] == []


TEXTS = [
    "",
    " ",
    "NULL",
    "true",
    "TRUE",
    " true ",
    "1",
    "127",
    "128",
    "-129",
    "32768",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "+1",
    "01",
    "-0",
    "0x1",
    "1L",
    "1.5",
    "1.0",
    "-0.0",
    "1e5",
    "1.5e300",
    "1e400",
    "0.1",
    "3.5e38",
    "NaN",
    ".5",
    "5.",
    "-.5",
    "1e-50",
    "1f",
    "16777217.0",
    "99999999999999999999.5",
    "1e99999999999",
    "+ 1",
    "1e19",
    "1e18",
    "0e0",
    "٣",
    "2020-01-01",
    "2020-13-01",
    "2020-1-1",
    "2020-02-30",
    "2020-01-01x",
    "12:34:56.789Z",
    "12:34:56Z",
    "12:60:00.000Z",
    "2020-01-01T12:34:56.789Z",
    "2020-01-01T12:34:56Z",
    "2020-01-01T25:34:56.789Z",
    "2020-01-01,",
    "[1,2]",
    "[1, 2, 300]",
    "[1,null]",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1",
    "1]",
    "[[1],[2]]",
    "[[1],[300]]",
    "[a,b]",
    '["a","b"]',
    "[true,false]",
    "[1.5,2]",
    "[1, 1.5]",
    "[2020-01-01]",
    '["2020-01-01"]',
    "[1,2]x",
    "x[1,2]",
    '["a]',
    '["a\\"b"]',
    "{a:1}",
    '{"a":1}',
    '{"a":1,"b":2}',
    "{1:2}",
    "{1:2,3:400}",
    '{"a":}',
    "{null:1}",
    '{"a" : 1 , }',
    '{"a"}',
    '{"a":[1,2]}',
    '{"a":{"b":1}}',
    "{a}",
    '{"a":1',
    "{,}",
    "{:}",
    '{"a":1}{',
    '{"a":1,"b":2.5}',
    '{"a":true}',
    '{"a":1 "b":2}',
    '"quoted"',
    '"a',
    "a:b",
    "a,b",
    "a b",
    '""',
    '"1"',
    "\\",
    ":",
    ",",
    "[",
    "]",
    "{",
    "}",
    '"',
    "\n",
    "1\n",
    "1 2",
    "é",
    "\u00a01",
    "\u0661\u0662",
    "\u0663.5",
    "\U0001d7cf\U0001d7d0",
    "1\U0001d7cf",
    "-\U0001d7cf.5",
    "[\U0001d7cf]",
    "trueish",
    "null null",
    "true,x",
    "null,",
    "-",
    "--1",
    "1-2",
    "1.2.3",
    "1e",
    "1,2",
    "1:2",
    "[-1]",
    "[1,,2]",
    '["a" "b"]',
    '{"a":1,,"b":2}',
    '["a,b"]',
    "[ a ]",
    "[1.0]",
    "[1,99999999999]",
    "[1.5,1e300]",
    '{"k":[{"x":1},{"y":2}]}',
    "1\\:2",
    '["1"]',
    '["true"]',
    '{"1":"2"}',
    "1;2",
    "[true",
    "{true:1}",
    '{"a":1},{"b":2}',
    "[null,[1]]",
    '"2020-01-01"',
    "x 2020-01-01",
    "[ -1 , 2 ]",
    '{"":1}',
    '["\\\\"]',
    '["\\"a"]',
]

#: Where elements share no schema, Java's array has a schema without one for them; ours is schemaless. Values are alike.
SCHEMALESS = [
    "[]",
    "[null]",
    '[1,"a"]',
    "[[],[1],[]]",
    "{}",
    '{"a":null}',
    '{"a":1,"b":"x"}',
    '{1:2,"a":3}',
    "[{}]",
    "[1,1e400]",
]


def read_header(data: bytes | None) -> Case:
    return to_header(data), lambda: SimpleHeaderConverter().to_connect_header("topic", "header", data)


def test_headers_are_read_alike(oracle: Oracle, seed: int) -> None:
    assert (
        disagreements(
            oracle, [read_header(each.encode()) for each in TEXTS] + [read_header(b"\xff"), read_header(None)]
        )
        == []
    )


def test_headers_without_a_common_schema_have_java_s_values(oracle: Oracle) -> None:
    lines = disagreements(oracle, [read_header(each.encode()) for each in SCHEMALESS])
    assert len(lines) == len(SCHEMALESS)
    for line in lines:
        theirs, ours = line.split(": Java ", 1)[1].split(", ours ")
        assert ours.startswith("(None, ")
        assert eval(theirs)[1] == eval(ours)[1]


MOMENT = dt.datetime(2020, 1, 1, 1, 1, 1, 999000, tzinfo=dt.UTC)
HEADERS: list[tuple[Schema | None, Any]] = [
    (None, None),
    (schemas.STRING, "a"),
    (schemas.STRING, '"q"'),
    (schemas.STRING, ""),
    (schemas.INT8, 5),
    (schemas.FLOAT32, 0.5),
    (schemas.FLOAT64, 1e10),
    (schemas.BOOLEAN, True),
    (schemas.BYTES, b"\x01\xff"),
    (None, [b"\x01"]),
    (None, [1.5e10, float("inf")]),
    (Schema.array(schemas.STRING), ["a", 'b"c', "d\\e"]),
    (Schema.map(schemas.STRING, schemas.INT32), {"a": 1, "b": 2}),
    (None, {"a": 1, "b": [1, "x", None]}),
    (logical.DATE, dt.date(2020, 1, 1)),
    (logical.TIME, dt.time(1, 2, 3, 4000)),
    (logical.TIMESTAMP, MOMENT),
    (logical.TIMESTAMP, MOMENT.replace(hour=0, minute=0, second=0, microsecond=0)),
    (logical.decimal(2), Decimal("1.50")),
    (logical.decimal(-2), Decimal("1E2")),
    (None, [MOMENT]),
    (None, "\ud800"),
    (None, [None]),
    (Schema.struct({"a": schemas.INT32, "b": schemas.OPTIONAL_STRING}), {"a": 1}),
    (None, ["\n\t"]),
    (None, float("nan")),
    (Schema.map(schemas.INT32, schemas.FLOAT32), {1: 1.5}),
    (logical.DATE, dt.date(9999, 12, 31)),
    (schemas.OPTIONAL_STRING, None),
]


def test_headers_are_written_alike(oracle: Oracle) -> None:
    write = SimpleHeaderConverter().from_connect_header
    cases = [(from_header(s, v), lambda s=s, v=v: write("topic", "header", s, v)) for s, v in HEADERS]  # type: ignore[misc]
    assert disagreements(oracle, cases) == []
