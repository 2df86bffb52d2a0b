"""What AvroConverter reads of bytes that chance has damaged is what Java reads, and nothing that Java refuses.

`AVRO_INPUTS=1000000 pytest tests/conformance/registry/test_avro_fuzz.py` asks about a million values, in about 10
minutes. The seed is printed; `--randomly-seed=` takes it.
"""

import base64
import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.reading import make_reader
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connect.converters.avro.writing import MadeWriter
from connect.errors import DataError
from tests.conformance.converters.generate import random_schema, random_value
from tests.support.java import Oracle

from .avro_cases import CONNECT, VALUES
from .avro_oracle import Json, from_schema, in_order, our_text, tagged, to_value
from .test_avro_against_java import tame

INPUTS = int(os.environ.get("AVRO_INPUTS", "6000"))
#: Values of one schema, in one question to Java.
ROUND = 200
ENOUGH = 50

#: Why we refuse what Java takes, and what our error says then.
STRICTER = {
    "a number of more bits than its type, which Java cuts off": "has a number of more bits",
    "an int8 or int16 of which Java cuts off bits": "is beyond the int8 or int16",
    "the number of a branch that is longer than it need be": "is of a type that its union has not",
    "a date or time that Python has not": "an Avro value cannot be read",
    "more entries than bytes": "has more entries than there are bytes",
}
#: Numbers as they are written: small, the largest of their types, longer than they need be, and too long.
NUMBERS = ["00", "01", "02", "03", "04", "7f", "8001", "fe01", "ff01", "8000", "808000", "feffffff0f", "ffffffff0f"]
NUMBERS += [
    "ffffffff1f",
    "ffffffff7f",
    "8080808010",
    "808080808000",
    *("ff" * 9 + end for end in ("01", "02", "7f", "ff01")),
]
TEXTS = [b"\x04\xff\xfe", b"\x06\xed\xa0\x80", b"\x04\xc0\x80", b"\x02", b"\x03", b"\x06\xe2\x82\xac"]
PIECES = [*map(bytes.fromhex, NUMBERS), *TEXTS]
OPTIONS = AvroOptions.parse({"flatten.singleton.unions": "false"})


@pytest.mark.timeout(180 + INPUTS / 200)
def test_damaged_values_are_read_or_refused_as_java_does(
    avro_oracle: Oracle, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    met: Counter[str] = Counter()
    wrong: list[str] = []
    for _ in range(-(-INPUTS // ROUND)):
        text, samples = subject(chance)
        data = [damaged(chance, chance.choice(samples)) if at > 3 else chance.choice(samples) for at in range(ROUND)]
        reading = reader(text)
        alone = [attempt(reading, [each]) for each in data]
        question = to_value(text, b"") | {"op": "to_each", "data": [base64.b64encode(each).decode() for each in data]}
        (answer,) = avro_oracle.ask([question])
        for each, theirs, ours in zip(data, answer["answers"], alone, strict=True):
            what = disagreement(theirs, ours)
            met[what if what in STRICTER else "refused" if theirs == "error" else "taken"] += 1
            if what is not None and what not in STRICTER:
                wrong.append(f"{each!r} of {text}: {what}")
        wrong += [f"{text}: {line}" for line in in_company(reading, data, alone)]
        if len(wrong) > ENOUGH:
            break
    if INPUTS > 100_000:
        with capsys.disabled():
            sys.stdout.write(f"\n{met.total():,} values with seed {seed}: {dict(met)}\n")
    assert wrong == []


def subject(chance: random.Random) -> tuple[str, list[bytes]]:
    """A schema, as text, and bytes of some of its values."""
    while True:
        if chance.random() < 0.3:
            avro, data = chance.choice(VALUES)
            if avro != {"type": "array", "items": "null"}:  # of which any number is as long as none
                return to_value(avro, b"")["avro"], [data]
        schema, values = chance.choice(CONNECT)
        if chance.random() < 0.8:
            schema = tame(random_schema(chance), chance)
            values = [random_value(chance, schema.replace(optional=False)) for _ in range(3)]
        written = []
        try:
            text = our_text(from_schema(schema), schema)
            written = [MadeWriter(parse(text), schema, OPTIONS).values([value], b"")[0] for value in values]
        except DataError:
            continue
        if any(written):
            return text, written


def reader(text: str) -> Callable[[list[bytes]], list[Json]]:
    """Reads values of a schema, each in the form of Java's answers."""
    avro = parse(text)
    schema = ToConnect(OPTIONS).schema(avro)
    read = make_reader(avro, schema, OPTIONS)
    names = [field.name for field in avro.fields]

    def values(data: list[bytes]) -> list[Json]:
        found = read(data, 0)
        items = [dict(zip(names, row, strict=True)) for row in zip(*found, strict=True)] if names else found
        return [None if item is None else in_order(tagged(schema, item)) for item in items]

    return values


def attempt(read: Callable[[list[bytes]], list[Json]], data: list[bytes]) -> list[Json] | Exception:
    try:
        return read(data)
    except Exception as error:  # that it is a DataError is for `disagreement` to say
        return error


def disagreement(theirs: Json, ours: list[Json] | Exception) -> str | None:
    """What Java and we make of a value, in words; a name in `STRICTER` where we refuse it on purpose."""
    if isinstance(ours, Exception):
        if not isinstance(ours, DataError):
            return f"we fail: {ours!r}"
        known = (name for name, words in STRICTER.items() if words in str(ours))
        return None if theirs == "error" else next(known, f"Java reads {theirs}, we refuse it: {ours}")
    if theirs == "error":
        return f"Java refuses it, we read {ours[0]}"
    return None if in_order(theirs) == ours[0] else f"Java reads {theirs}, we read {ours[0]}"


def in_company(read: Callable[[list[bytes]], list[Json]], data: list[bytes], alone: list[Any]) -> list[str]:
    """Where values are read in another way among others than alone."""
    taken = [row for row, each in enumerate(alone) if not isinstance(each, Exception)]
    together = attempt(read, [data[row] for row in taken])
    if together != [alone[row][0] for row in taken]:
        return [f"all that are taken alone are {together!r} together"]
    refused = [row for row in range(len(data)) if row not in set(taken)]
    return [
        f"{data[row]!r} is refused alone, and not behind others"
        for row in refused
        if not isinstance(attempt(read, [data[taken[0]], data[row]] if taken else [data[row]]), DataError)
    ]


def damaged(chance: random.Random, data: bytes) -> bytes:
    for _ in range(chance.choice([1, 1, 2, 3])):
        start = chance.randrange(len(data) + 1)
        stop = min(len(data), start + chance.choice([0, 1, 1, 2, 8]))
        kind = chance.random()
        if kind < 0.6:
            data = data[:start] + chance.choice([*PIECES, chance.randbytes(1), chance.randbytes(1)]) + data[stop:]
        elif kind < 0.75:
            data = data[:start] + data[stop:]
        elif kind < 0.85:
            data = data[:start]
        else:
            data = data[:start] + data[start:stop] + data[start:]
    return data
