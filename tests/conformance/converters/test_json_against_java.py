"""JsonConverter gives the same values, bytes and errors as Kafka Connect's."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from connect.converters import JsonConverter
from connect.data import Schema
from connect.errors import DataError
from tests.support.java import Oracle

from .generate import mangled, random_json, random_schema, random_value
from .json_cases import (
    BEYOND_PYTHON,
    CONFIGS,
    DIFFERENCES,
    DOCUMENTS,
    ENVELOPES,
    PLAIN,
    SCHEMALESS,
    SCHEMAS_AND_PAYLOADS,
    WITH_SCHEMA,
    struct,
)
from .oracle import JSON, Answer, disagreements, from_connect, to_connect


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure(config, is_key=False)
    return made


def reading(data: bytes | None, **config: str) -> tuple[Answer, Callable[[], Any]]:
    made = converter(**config)
    return to_connect(JSON, data, **config), lambda: made.to_connect_data("topic", data)


def writing(schema: Schema | None, value: Any, **config: str) -> tuple[Answer, Callable[[], Any]]:
    made = converter(**config)
    return from_connect(JSON, schema, value, **config), lambda: made.from_connect_data("topic", schema, value)


def envelope(schema: str, payload: str) -> bytes:
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


@pytest.mark.quick
def test_documents_are_read_alike(oracle: Oracle) -> None:
    assert disagreements(oracle, [reading(data, **PLAIN) for data in DOCUMENTS]) == []


@pytest.mark.quick
@pytest.mark.parametrize("replace", ["true", "false"])
def test_envelopes_are_read_alike(oracle: Oracle, replace: str) -> None:
    documents = [*ENVELOPES, *(envelope(*pair) for pair in SCHEMAS_AND_PAYLOADS)]
    config = {"replace.null.with.default": replace}
    assert disagreements(oracle, [reading(data, **config) for data in documents]) == []


def test_a_schema_outside_of_the_records_is_used_alike(oracle: Oracle) -> None:
    structs = [
        b'{"a":1}',
        b'{"a":1,"b":"x"}',
        b'{"a":null}',
        b"null",
        b"",
        b"5",
        None,
        envelope('{"type":"int8"}', "5"),
    ]
    contents = [struct("int32"), struct("string", ',"optional":true'), '{"type":"int32","optional":true}', "null", ""]
    cases = [reading(d, **{"schema.content": c}, **e) for d in structs for c in contents for e in ({}, PLAIN)]
    assert disagreements(oracle, cases) == []


@pytest.mark.quick
def test_values_are_written_alike(oracle: Oracle) -> None:
    cases = [writing(None, value, **config) for value in SCHEMALESS for config in CONFIGS]
    cases += [writing(schema, value, **config) for schema, value in WITH_SCHEMA for config in CONFIGS]
    assert disagreements(oracle, cases) == []


@pytest.mark.parametrize(("data", "why", "theirs", "ours"), DIFFERENCES, ids=[case[1] for case in DIFFERENCES])
def test_known_differences_are_still_there(oracle: Oracle, data: bytes, why: str, theirs: Any, ours: Any) -> None:
    question, read = reading(data, **PLAIN)
    (answer,) = oracle.ask([question])
    assert ("error" in answer) == (theirs == "error")
    if ours == "error":
        with pytest.raises(DataError):
            read()
    elif ours is not None:
        assert read().value == ours


def test_generated_documents_are_read_alike(oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    documents = [random_json(chance).encode() for _ in range(1500)]
    documents += [mangled(chance, document) for document in documents]
    assert disagreements(oracle, [reading(data, **PLAIN) for data in documents]) == []


def test_generated_envelopes_are_written_and_read_alike(oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    cases = []
    for _ in range(800):
        schema = random_schema(chance)
        value = random_value(chance, schema)
        config = chance.choice(CONFIGS)
        cases.append(writing(schema, value, **config))
        data = converter(**config).from_connect_data("topic", schema, value)
        assert data is not None
        cases += [reading(data, **config), reading(mangled(chance, data), **config)]
    lines = disagreements(oracle, cases)
    assert [line for line in lines if not any(reason in line for reason in BEYOND_PYTHON)] == []
