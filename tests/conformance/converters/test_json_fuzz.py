"""JsonConverter takes nothing that Kafka Connect's refuses, and makes the same of what both take: chance, at length.

`JSON_INPUTS=5000000 pytest tests/conformance/converters/test_json_fuzz.py` asks about five million records, in about 20
minutes on 2 cores. The seed is printed; `--randomly-seed=` takes it.
"""

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest

from connect.api import SchemaAndValue
from connect.converters import JsonConverter
from connect.converters.json_arrow import ArrowRows
from connect.converters.json_decode import Decoder
from connect.converters.jsonschema.reading import Reader
from connect.data import Constant, Schema, StructColumns, Type
from connect.data import schema as schemas
from connect.errors import ConfigError, DataError
from tests.support.java import Oracle

from .json_cases import BEYOND_PYTHON, PLAIN
from .json_inputs import Kind, envelope, flat, kind, records, value
from .oracle import JSON, answered, found, to_connect_each

INPUTS = int(os.environ.get("JSON_INPUTS", "12000"))
#: Records of one question to Java.
ROUND = 1000
#: A run that found so much has found enough.
ENOUGH = 200

#: Why we refuse what Java takes: what our error says then, and whether that is so in UTF-16 and UTF-32 alone.
STRICTER: dict[str, tuple[tuple[str, ...], bool]] = {
    "not UTF-8, UTF-16 or UTF-32": (("is not utf-",), False),
    "a schema deeper than Python's stack": (("nested too deeply",), False),
    "a date or time that Python has not": (BEYOND_PYTHON, False),
    "keys that Python's dict cannot have": (("cannot be the keys of a dict",), False),
    "a wrong value that another of the same key replaces": (("map value: something else than",), False),
    "an exponent of which Java takes one more where the number is short": (("the exponent",), False),
    "a word that ends before a character beyond ASCII": (("the end of the word",), True),
    "an escape in digits beyond ASCII": (("a well-formed string",), True),
    "a name with half of a surrogate pair": (("a name without halves",), True),
    "a name or number whose length Java measures in another way": (("a name of at most", "a number of at most"), True),
}

#: A schema and value, or the error that says why there is none.
Read = SchemaAndValue | Exception


@pytest.mark.quick
@pytest.mark.timeout(180 + INPUTS / 200)
def test_what_java_refuses_is_refused_and_what_both_take_is_the_same(
    oracle: Oracle, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    met: Counter[str] = Counter()
    wrong: list[str] = []
    with ThreadPoolExecutor(1) as java:
        for config, data in islice(rounds(chance), -(-INPUTS // ROUND)):
            asked = java.submit(to_connect_each, oracle, JSON, data, **config)
            made = converter(**config)
            alone = [read(made, record) for record in data]
            for record, theirs, ours in zip(data, asked.result(), alone, strict=True):
                what = disagreement(record, theirs, ours)
                met[what if what in STRICTER else "refused" if theirs is None else "taken"] += 1
                if what is not None and what not in STRICTER:
                    wrong.append(f"{record!r} {config}: {what}")
            wrong += in_company(chance, made, data, alone)
            if "schema.content" in config:
                wrong += by_arrow(made, data, alone)
            if len(wrong) > ENOUGH:
                break
    if INPUTS > 100_000:
        with capsys.disabled():
            sys.stdout.write(f"\n{met.total():,} records with seed {seed}: {dict(met)}\n")
    assert wrong == []


#: What JSON may be read as under a JSON Schema.
UNDER_JSON_SCHEMA = [
    schemas.OPTIONAL_FLOAT64,
    schemas.INT64,
    schemas.OPTIONAL_BOOLEAN,
    schemas.OPTIONAL_STRING,
    Schema.array(schemas.OPTIONAL_FLOAT64),
    Schema.map(schemas.STRING, schemas.OPTIONAL_FLOAT64),
    Schema.struct({"a": schemas.OPTIONAL_FLOAT64, "b": schemas.OPTIONAL_STRING}),
    Schema.struct({"schema": Schema.array(schemas.OPTIONAL_STRING)}),
]


@pytest.mark.timeout(180 + INPUTS / 200)
def test_json_schema_converter_takes_no_json_that_java_refuses(oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    readers = [Reader(schema) for schema in UNDER_JSON_SCHEMA]
    wrong: list[str] = []
    for _ in range(-(-INPUTS // ROUND // 4)):
        data = list(islice(records(chance, value), ROUND))
        good = [[each for each in data[:100] if not isinstance(under(reader, [each]), Exception)] for reader in readers]
        for record, theirs in zip(data, to_connect_each(oracle, JSON, data, **PLAIN), strict=True):
            for reader, others in zip(readers, good, strict=True):
                alone, beside = under(reader, [record]), under(reader, [chance.choice(others), record])
                if theirs is None and not (isinstance(alone, DataError) and isinstance(beside, DataError)):
                    wrong.append(f"{record!r}: Java refuses it, it is {alone!r} alone and {beside!r} beside another")
                elif repr(alone) != repr(beside if isinstance(beside, Exception) else beside[1:]):
                    wrong.append(f"{record!r} is {alone!r} alone and {beside!r} beside another")
    assert wrong == []


def under(reader: Reader, data: list[bytes]) -> list[Any] | Exception:
    try:
        return reader.read(data).to_list()
    except Exception as error:  # that it is a DataError is for the test to say
        return error


def rounds(chance: random.Random) -> Iterator[tuple[dict[str, str], list[bytes]]]:
    """Converters' keys, and what to read with them, without end."""
    while True:
        for config, make in (
            (PLAIN, value),
            ({}, envelope),
            (PLAIN, value),
            ({"replace.null.with.default": "false"}, envelope),
            declared(chance, flat),
            declared(chance, kind),
        ):
            yield config, list(islice(records(chance, make), ROUND))


def declared(
    chance: random.Random, of: Callable[[random.Random], Kind]
) -> tuple[dict[str, str], Callable[[random.Random], str]]:
    """A converter's keys for a schema that is not in the records, and what makes these."""
    while True:  # until one is right: those that are wrong come in envelopes
        made = of(chance)
        config = {"schema.content": made.text}
        try:
            if converter(**config)._declared is not None:
                return config, made.payload
        except ConfigError:
            pass


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure(config, is_key=False)
    return made


def read(made: JsonConverter, record: bytes) -> Read:
    try:
        return made.to_connect_data("t", record)
    except Exception as error:  # `disagreement` tells those that it may be
        return error


def disagreement(record: bytes, theirs: str | None, ours: Read) -> str | None:
    """What Java and we make of a record, in words; nothing where that is the same.

    A name in `STRICTER` alone where we refuse it on purpose.
    """
    if isinstance(ours, Exception) and not isinstance(ours, DataError):
        return f"we fail: {ours!r}"
    if theirs is None:
        return None if isinstance(ours, DataError) else f"Java refuses it, we read {ours}"
    if isinstance(ours, DataError):
        for name, (words, in_wide) in STRICTER.items():
            if any(word in str(ours) for word in words) and (is_wide(record) or not in_wide):
                return name
        return f"Java reads {theirs}, we refuse it: {ours}"
    with deep_stack():
        return None if answered(json.loads(theirs)) == found(*ours) else f"Java reads {theirs}, we read {ours}"


def is_wide(record: bytes) -> bool:
    """Whether these bytes are UTF-16 or UTF-32."""
    return 0 in record[:4] or record[:2] in (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def deep_stack() -> Iterator[None]:
    """Lets a comparison go as deep as records are nested."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def in_company(chance: random.Random, made: JsonConverter, data: list[bytes], alone: list[Read]) -> Iterator[str]:
    """Where records are read in another way among others than alone."""
    taken = [row for row, each in enumerate(alone) if not isinstance(each, Exception)]
    if not taken:
        return
    good = data[chance.choice(taken)]
    for record, each in zip(data, alone, strict=True):
        if isinstance(each, Exception):
            try:
                values = made.to_connect_batch(Constant("t", 2), [good, record])
            except DataError:
                continue
            yield f"{record!r} is refused alone, and beside {good!r} it is {values.to_list()[1]!r}"
    start = 0
    while start < len(taken):
        rows = taken[start : start + chance.choice([2, 5, 20, 150])]
        start += len(rows)
        try:
            batch = made.to_connect_batch(Constant("t", len(rows)), [data[row] for row in rows])
            several = zip(batch.schemas, batch.to_list(), strict=True)
        except DataError as error:
            yield f"{[data[row] for row in rows]} are refused together: {error}"
            continue
        for row, each in zip(rows, map(SchemaAndValue._make, several), strict=True):
            if not alike(each, alone[row]):
                yield f"{data[row]!r} is {alone[row]!r} alone, {each!r} among others"


def alike(one: Any, other: Any) -> bool:
    with deep_stack():
        return one.schema == other.schema and repr(one.value) == repr(other.value)


def by_arrow(made: JsonConverter, data: list[bytes], alone: list[Read]) -> Iterator[str]:
    """Where Arrow's reader takes a record and makes something else of it."""
    schema = made._declared
    assert schema is not None
    if schema.type is not Type.STRUCT or not schema.fields or not ArrowRows.knows(schema):
        return
    for record, each in zip(data, alone, strict=True):
        columns = ArrowRows(schema).columns([record], Decoder(replace_null=True))
        if columns is not None:
            (row,) = StructColumns(schema, columns).to_list()
            if isinstance(each, Exception) or repr(row) != repr(each.value):
                yield f"{record!r} is {each!r}, and by Arrow {row!r}, with {schema}"
