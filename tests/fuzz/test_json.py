"""JSON: any bytes are read, or refused with a DataError; what was read can be written, and is read again.

That we take and make what Java does, `tests/conformance/converters/test_json_fuzz.py` asks, of the same records.
"""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import pytest

from connect.converters import JsonConverter
from connect.errors import DataError
from tests.conformance.converters.json_cases import PLAIN
from tests.conformance.converters.json_inputs import PIECES, envelope, flat, kind, records, value
from tests.conformance.converters.test_json_fuzz import (
    UNDER_JSON_SCHEMA,
    Reader,
    by_arrow,
    converter,
    declared,
    in_company,
    read,
    under,
)
from tests.fuzz.running import Fuzz, corpus

pytestmark = pytest.mark.quick

RECORDS = 300


def test_json_is_read_or_refused_and_what_is_read_comes_back(fuzz: Fuzz) -> None:
    with_schemas = converter()

    def one(chance: random.Random) -> None:
        config, make = chance.choice(
            [
                lambda: (PLAIN, value),
                lambda: ({}, envelope),
                lambda: ({"replace.null.with.default": "false"}, envelope),
                lambda: declared(chance, flat),
                lambda: declared(chance, kind),
            ]
        )()
        made = converter(**config)
        data = [*islice(records(chance, make), RECORDS), *corpus("json")]
        alone = [read(made, record) for record in data]
        for record, each in zip(data, alone, strict=True):
            if isinstance(each, Exception):
                assert isinstance(each, DataError), f"{record!r} {config}: {each!r}"
                fuzz.met["refused"] += 1
            else:
                fuzz.met["taken"] += 1
                comes_back(made, with_schemas if "schema.content" in config else made, record, each)
        wrong = list(in_company(chance, made, data, alone))
        if "schema.content" in config:
            wrong += by_arrow(made, data, alone)
        assert wrong == []

    fuzz.rounds(one, least=3)


def comes_back(writer: JsonConverter, reader: JsonConverter, record: bytes, each: Any) -> None:
    """What was read is written, or refused; and what was written is read, and written the same.

    The second time: Java reads -0.0 as 0.0, and so do we.
    """
    try:
        written = writer.from_connect_data("t", *each)
    except DataError:
        return
    try:
        again = writer.from_connect_data("t", *reader.to_connect_data("t", written))
    except DataError as error:
        # A schema may name a field by half of a surrogate pair. In a record no name may have one, in Java as here.
        if "a name without halves of surrogate pairs" in str(error):
            return
        # A key that is null is written as the default of its schema, which may stand there as well.
        if "two keys that only Java tells apart" in str(error) and b'"default"' in record:
            return
        raise
    assert writer.from_connect_data("t", *reader.to_connect_data("t", again)) == again, record


def test_json_under_a_json_schema_is_read_or_refused(fuzz: Fuzz) -> None:
    readers = [Reader(schema) for schema in UNDER_JSON_SCHEMA]

    def one(chance: random.Random) -> None:
        reader = chance.choice(readers)
        for record in [*islice(records(chance, value), RECORDS), *corpus("json")]:
            made = under(reader, [record])
            assert isinstance(made, list | DataError), f"{record!r}: {made!r}"
            fuzz.met["taken" if isinstance(made, list) else "refused"] += 1

    fuzz.rounds(one, least=3)


def test_json_is_read_in_linear_time(fuzz: Fuzz) -> None:
    plain, with_schema = converter(**PLAIN), converter()
    shapes = [(b"", b""), (b"[", b"]"), (b'{"a":', b"}"), (b'"', b'"'), (b"1.", b""), (b"1e", b""), (b'{"a":1', b"}")]
    shapes += [(b'{"schema":{"type":"struct","fields":[', b']},"payload":{}}'), (b'{"schema":', b',"payload":1}')]

    def take(data: bytes) -> None:
        (plain if len(data) % 2 else with_schema).to_connect_data("t", data)

    fuzz.growth(take, DataError, shapes, [*PIECES, b'"a":1,', b"1,", b"[],", b"9", b'{"field":"a","type":"int8"},'])
