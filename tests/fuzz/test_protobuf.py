"""Protobuf: any bytes are read, or refused with a DataError, alone as among others; and so is any schema.

That we take and make what Java does, `tests/conformance/registry/test_protobuf_fuzz.py` asks, of the same messages.
"""

from __future__ import annotations

import random

import pytest

from connect.converters.protobuf.descriptors import parse
from connect.converters.protobuf.keys import ProtobufOptions
from connect.converters.protobuf.reading import Reader
from connect.errors import DataError
from tests.conformance.registry.test_protobuf_fuzz import PIECES, alike, damaged, read, recorded
from tests.fuzz.damage import reworded
from tests.fuzz.running import Fuzz, corpus

pytestmark = pytest.mark.quick

MESSAGES = 60
_SHORT = """
    { } ; = < > ( ) [ ] " 1 0 -1 99999999999 message enum oneof map<string,int32> repeated optional group import
    option extend reserved extensions syntax "proto2" "proto3" int32 string bytes a .a google.type.Date
"""
WORDS = [
    *_SHORT.split(),
    'import "google/type/date.proto";',
    'import "../x.proto";',
    "message A { A a = 1; }",
    "\x00",
]
#: A schema of which an error was raised that is not a DataError.
FOUND = 'syntax = "proto3"; import "ä.proto"; message A {}'


@pytest.fixture(scope="module")
def subjects() -> list[tuple[str, Reader, list[int], bytes]]:
    """Schemas, a reader of the first message of each, its fields' numbers, and a record."""
    return [
        (text, Reader(message, ProtobufOptions.parse({})), list(message.DESCRIPTOR.fields_by_number), sample)
        for text, message, sample in recorded()
    ]


def test_protobuf_is_read_or_refused(fuzz: Fuzz, subjects: list[tuple[str, Reader, list[int], bytes]]) -> None:
    def one(chance: random.Random) -> None:
        text, reader, numbers, sample = chance.choice(subjects)
        for record in [*(damaged(chance, sample, numbers) for _ in range(MESSAGES)), *corpus("protobuf")]:
            ours, beside = read(reader, [record]), read(reader, [sample, record])
            fuzz.met["refused" if isinstance(ours, DataError) else "taken"] += 1
            both = ours if isinstance(ours, DataError) else read(reader, [sample]) + ours
            assert alike(beside, both), f"{record!r} of {text}"

    fuzz.rounds(one, least=20)


def test_protobuf_schemas_are_read_or_refused(fuzz: Fuzz, subjects: list[tuple[str, Reader, list[int], bytes]]) -> None:
    def one(chance: random.Random) -> None:
        try:
            parse(reworded(chance, chance.choice(subjects)[0], WORDS))
        except DataError:
            fuzz.met["schemas refused"] += 1
        else:
            fuzz.met["schemas taken"] += 1

    fuzz.rounds(one, least=15)


def test_what_was_found_is_refused() -> None:
    with pytest.raises(DataError):
        parse(FOUND)


def test_protobuf_is_read_in_linear_time(fuzz: Fuzz, subjects: list[tuple[str, Reader, list[int], bytes]]) -> None:
    def take(data: bytes) -> None:
        subjects[data[0] % len(subjects)][1].read([data[1:]])

    shapes = [(bytes([number % 256]), b"") for number in range(len(subjects))]
    fields = [bytes([number << 3 | 2]) + b"\x02\x08\x01" for number in range(1, 12)]
    fuzz.growth(take, DataError, shapes, [*PIECES, *fields, *(bytes([number << 3, 1]) for number in range(1, 16))])
