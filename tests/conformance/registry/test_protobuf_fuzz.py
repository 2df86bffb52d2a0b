"""What ProtobufConverter reads of bytes that chance has damaged is what Protobuf's Java reads, and nothing it refuses.

Java says which bytes are a message, and writes what it has read: that must be read as the bytes themselves are. How
messages become values is for `test_recorded.py`.

`PROTOBUF_INPUTS=1000000 pytest tests/conformance/registry/test_protobuf_fuzz.py` asks about a million messages.
"""

import base64
import json
import os
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from connect.converters.protobuf.descriptors import parse
from connect.converters.protobuf.keys import ProtobufOptions
from connect.converters.protobuf.reading import Reader
from connect.errors import DataError
from tests.support.java import Oracle

INPUTS = int(os.environ.get("PROTOBUF_INPUTS", "6000"))
#: Messages of one schema, in one question to Java.
ROUND = 200
ENOUGH = 50

#: Numbers as they are written: short, the largest, longer than they need be, and too long.
NUMBERS = ["00", "01", "7f", "8000", "ff01", "ffffffff0f", "ffffffff7f", "80" * 9 + "01", "ff" * 9 + "01", "ff" * 11]
TEXTS = [b"\x02\xff\xfe", b"\x03\xed\xa0\x80", b"\x02\xc0\x80", b"\x01a", b"\x7f", b"\x03\xe2\x82\xac"]
PIECES = [*map(bytes.fromhex, NUMBERS), *TEXTS]
#: A number that may have more bits than it should: Java cuts them off, and Google's parser in C refuses some.
LONG = re.compile(rb"[\x80-\xff]{4}")

#: The values of messages, or why there are none.
Read = list[Any] | DataError


@pytest.fixture(scope="module")
def protobuf_oracle(oracle_in_java: Callable[..., Oracle]) -> Oracle:
    source = Path(__file__).with_name("ProtobufOracle.java")
    return oracle_in_java(source, jars=["kafka-connect", "protobuf-java"])


@pytest.mark.timeout(180 + INPUTS / 200)
def test_damaged_messages_are_read_or_refused_as_java_does(protobuf_oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    subjects = recorded()
    wrong: list[str] = []
    for _ in range(-(-INPUTS // ROUND)):
        text, message, sample = chance.choice(subjects)
        numbers = list(message.DESCRIPTOR.fields_by_number)
        data = [damaged(chance, sample, numbers) for _ in range(ROUND)]
        question = {
            "files": [base64.b64encode(each.serialized_pb).decode() for each in with_imports(message.DESCRIPTOR.file)],
            "message": message.DESCRIPTOR.full_name,
            "data": [base64.b64encode(each).decode() for each in data],
        }
        (answer,) = protobuf_oracle.ask([question])
        reader = Reader(message, ProtobufOptions.parse({}))
        for record, written in zip(data, answer["answers"], strict=True):
            ours, beside = read(reader, [record]), read(reader, [sample, record])
            what = disagreement(message, record, written, ours, reader)
            both = ours if isinstance(ours, DataError) else read(reader, [sample]) + ours
            if what is None and not alike(beside, both):
                what = f"we read {ours!r}, and beside another {beside!r}"
            if what is not None:
                wrong.append(f"{record!r} of {text}: {what}")
        if len(wrong) > ENOUGH:
            break
    assert wrong == []


def recorded() -> list[tuple[str, type[Message], bytes]]:
    """Schemas, the first message of each, and a record of it."""
    found = []
    for line in Path(__file__).with_name("recorded").joinpath("protobuf.jsonl").read_text().splitlines():
        case = json.loads(line)
        data = base64.b64decode(case["data"])
        if data[:1] == b"\0":  # the index of the first message
            file = parse(case["text"], case.get("references"))
            found.append((case["text"], file.message_class(file.name_at((0,))), data[1:]))
    return found


def disagreement(message: type[Message], record: bytes, written: str | None, ours: Read, reader: Reader) -> str | None:
    """What Java and we make of a record, in words; nothing where that is the same, or we differ on purpose."""
    if written is None:
        if isinstance(ours, DataError) or has_field_0(message.FromString(record)):
            return None
        return f"Java refuses it, we read {ours!r}"
    theirs = read(reader, [base64.b64decode(written)])
    if alike(ours, theirs) or LONG.search(record):
        return None
    return f"Java reads {theirs!r}, ours is {ours!r}"


def has_field_0(message: Any) -> bool:
    """Whether there is a field of number 0 among those that nobody reads: Google's parser in C takes it there."""
    within = [each for _, value in message.ListFields() for each in _messages(value)]
    return _has_0(UnknownFieldSet(message)) or any(map(has_field_0, within))


def _messages(value: Any) -> list[Any]:
    """The messages in a field: itself, or in a list or a map."""
    values = getattr(value, "values", None)
    items = values() if callable(values) else value if isinstance(value, Iterable) else [value]
    return [each for each in items if isinstance(each, Message)]


def _has_0(unknown: Any) -> bool:
    return any(each.field_number == 0 or (each.wire_type == 3 and _has_0(each.data)) for each in unknown)


def read(reader: Reader, data: list[bytes]) -> Any:
    try:
        return reader.read(data).to_list()
    except DataError as error:
        return error


def alike(one: Read, other: Read) -> bool:
    return repr(one) == repr(other)


def with_imports(file: FileDescriptor) -> list[FileDescriptor]:
    """A file, behind all that it imports."""
    found: dict[str, FileDescriptor] = {}
    for imported in file.dependencies:
        found.update({each.name: each for each in with_imports(imported)})
    return [*found.values(), file]


def damaged(chance: random.Random, data: bytes, numbers: list[int]) -> bytes:
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        start = chance.randrange(len(data) + 1)
        stop = min(len(data), start + chance.choice([0, 1, 1, 2, 8]))
        what = chance.random()
        if what < 0.4:
            data = data[:start] + chance.choice([*PIECES, chance.randbytes(1), chance.randbytes(1)]) + data[stop:]
        elif what < 0.6:
            data += field(chance, numbers)
        elif what < 0.8:
            data = data[:start] + data[stop:]
        else:
            data = data[:start] + data[start:stop] + data[start:]
    return data


def field(chance: random.Random, numbers: list[int]) -> bytes:
    """One more field, of the message or unknown, in any form."""
    wire = chance.choice([0, 1, 2, 2, 3, 5, 7])
    tag = chance.choice([*numbers, *numbers, 0, 99]) << 3 | wire
    start = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
    if wire == 3:
        return start + b"\x08\x01" + (bytes([tag + 1]) if tag < 127 else b"")
    lengths = {1: 8, 5: 4, 7: 4}
    return start + (chance.randbytes(lengths[wire]) if wire in lengths else chance.choice(PIECES))
