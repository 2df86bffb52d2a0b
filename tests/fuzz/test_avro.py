"""Avro: any bytes are read, or refused with a DataError; what was read can be written, and is read again.

That we take and make what Java does, `tests/conformance/registry/test_avro_fuzz.py` asks, of the same values.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from connect.converters.avro.reading import make_reader
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connect.converters.avro.writing import MadeWriter
from connect.errors import DataError
from tests.conformance.registry.test_avro_fuzz import OPTIONS, PIECES, damaged, in_company, subject
from tests.fuzz.damage import reworded
from tests.fuzz.running import Fuzz, corpus

pytestmark = pytest.mark.quick

VALUES = 60
_SHORT = """
    { } [ ] : , " "type" "record" "name" "fields" "items" "values" "symbols" "size" "default" "null" "int"
    "logicalType" "decimal" "precision" "scale" "union" "a" "a.b" "" null -1 1e999 99999999999999999999
"""
WORDS = [
    *_SHORT.split(),
    '["null","null"]',
    '{"type":"array","items":"a"}',
    '"namespace":"x"',
]
#: What may have many entries in few bytes, or none.
DEEP = [
    {"type": "array", "items": ["null", "string"]},  # of items without a byte see below
    {"type": "array", "items": "string"},
    {"type": "map", "values": "bytes"},
    {"type": "record", "name": "r", "fields": []},
    {"type": "array", "items": {"type": "array", "items": {"type": "map", "values": "int"}}},
    {"type": "fixed", "name": "f", "size": 1000},
]


#: Schemas of which an error was raised that is not a DataError.
FOUND = [
    *('{"type": "int", "connect.type": []}', '{"type": "array", "items": []}', "[]"),
    '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "a", "type": ["int"]}]}',
    '{"type": "enum", "name": "E", "symbols": ["a", "b", "a"]}',
    *(
        f'{{"type": "fixed", "name": "F", "size": {size}}}'
        for size in ("1e999", "Infinity", "3.0", "-1", "true", "null")
    ),
]


class Values:
    """Reads and writes values of a schema."""

    def __init__(self, text: str) -> None:
        avro = parse(text)
        self._schema = ToConnect(OPTIONS).schema(avro)
        self._read = make_reader(avro, self._schema, OPTIONS)
        self._avro = avro
        self._names = [field.name for field in avro.fields]

    def read(self, data: list[bytes]) -> list[Any]:
        found = self._read(data, 0)
        return [dict(zip(self._names, row, strict=True)) for row in zip(*found, strict=True)] if self._names else found

    def write(self, value: Any) -> bytes:
        return MadeWriter(self._avro, self._schema, OPTIONS).values([value], b"")[0]


def test_avro_is_read_or_refused_and_what_is_read_comes_back(fuzz: Fuzz) -> None:
    def one(chance: random.Random) -> None:
        text, samples = subject(chance)
        values = Values(text)
        data = [damaged(chance, chance.choice(samples)) for _ in range(VALUES)]
        alone = [attempt(values, each) for each in data]
        for each, made in zip(data, alone, strict=True):
            if isinstance(made, Exception):
                assert isinstance(made, DataError), f"{each!r} of {text}: {made!r}"
                fuzz.met["refused"] += 1
                continue
            fuzz.met["taken"] += 1
            try:
                written = values.write(made[0])
            except DataError:
                fuzz.met["not written"] += 1
                continue
            again = values.read([written])  # where there was null, the default may be by now: Java writes it
            assert repr(values.read([values.write(again[0])])) == repr(again), f"{each!r} of {text}"
        assert in_company(lambda data: [repr(each) for each in values.read(data)], data, _reprs(alone)) == []

    fuzz.rounds(one, least=8)


def attempt(values: Values, data: bytes) -> list[Any] | Exception:
    try:
        return values.read([data])
    except Exception as error:  # that it is a DataError is for the test to say
        return error


def _reprs(alone: list[Any]) -> list[Any]:
    return [each if isinstance(each, Exception) else [repr(value) for value in each] for each in alone]


def test_avro_schemas_are_read_or_refused(fuzz: Fuzz) -> None:
    def one(chance: random.Random) -> None:
        text = subject(chance)[0]
        for _ in range(VALUES):
            text = reworded(chance, text, WORDS)
            make(fuzz, text)
            if chance.random() < 0.3:
                text = subject(chance)[0]

    fuzz.rounds(one, least=2)


def test_damage_by_value_of_a_schema_is_refused(fuzz: Fuzz) -> None:
    """A schema that is still JSON, one of whose values is another: what damage to its text seldom leaves."""

    def one(chance: random.Random) -> None:
        for _ in range(VALUES):
            schema = json.loads(subject(chance)[0])
            other = chance.choice(
                [None, 1, -1, 1.5, True, "", "a", "int", "a..b", [], {}, ["null"], [[]], 1 << 70, "x" * 300]
            )
            make(fuzz, json.dumps(_replaced(chance, schema, other)))
        for data in corpus("avro"):
            make(fuzz, data.decode())

    fuzz.rounds(one, least=2)


def make(fuzz: Fuzz, text: str) -> None:
    """A reader and a writer of a schema, unless it is refused."""
    try:
        Values(text)
    except DataError:
        fuzz.met["refused"] += 1
    else:
        fuzz.met["taken"] += 1


def _replaced(chance: random.Random, schema: Any, other: Any) -> Any:
    inside = list(schema) if isinstance(schema, dict) else range(len(schema)) if isinstance(schema, list) else []
    if not inside or chance.random() < 0.2:
        return other
    key = chance.choice(list(inside))
    schema[key] = _replaced(chance, schema[key], other)
    return schema


@pytest.mark.parametrize("text", FOUND)
def test_what_was_found_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        Values(text)


@pytest.mark.parametrize("depth", [0, 20])  # what is deep is read by functions of its own
def test_items_that_take_no_byte_are_limited_in_all_arrays_together(depth: int) -> None:
    swelling: Any = {"type": "array", "items": {"type": "record", "name": "r", "fields": []}}
    schema = {"type": "array", "items": swelling}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    values = Values(json.dumps(schema))

    def of(arrays: int) -> bytes:
        one = b"\xa0\x9c\x01\0"  # of 10,000 items
        return b"\x02" * depth + bytes([2 * arrays]) + one * arrays + b"\0" * (depth + 1)

    assert str(values.read([of(10)])[0]).count("{}") == 100_000
    assert len(values.read([of(10)] * 3)) == 3
    with pytest.raises(DataError, match="100,000 that take none"):
        values.read([of(11)])


def test_avro_is_read_in_linear_time(fuzz: Fuzz) -> None:
    readers = [Values(json.dumps(schema)) for schema in DEEP]

    def read(data: bytes) -> None:
        readers[data[0]].read([data[1:]])

    shapes = [
        (bytes([number]) + head, b"\0") for number in range(len(DEEP)) for head in (b"", b"\x7e", b"\xfe\xff\x3f")
    ]
    fuzz.growth(read, DataError, shapes, [*PIECES, b"\x02", b"\x02\x02a", b"\x02\x02", b"\x01\x02\x02a"])
