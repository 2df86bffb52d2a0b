"""AvroConverter's mapping beside that of a Java converter which derives from Confluent's: schemas, values, bytes."""

import base64
import random
from typing import Any

import pytest

from connect.data import Schema, Type, logical
from connect.data import schema as s
from connect.errors import DataError
from tests.conformance.converters.generate import random_schema, random_value
from tests.support.java import Oracle

from .avro_cases import AVRO, CONNECT, SETTINGS, VALUES, record
from .avro_oracle import (
    agree,
    from_schema,
    from_value,
    our_bytes,
    our_schema,
    our_text,
    our_value,
    to_schema,
    to_value,
)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda chosen: ",".join(chosen) or "defaults")
def test_avro_schemas_become_the_same_in_connect(avro_oracle: Oracle, settings: dict[str, str]) -> None:
    cases = [(to_schema(avro, settings), our_schema) for avro in AVRO]
    agree(avro_oracle, cases, lambda answer: answer["schema"])


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda chosen: ",".join(chosen) or "defaults")
def test_connect_schemas_become_the_same_text_in_avro(avro_oracle: Oracle, settings: dict[str, str]) -> None:
    cases = [
        (from_schema(schema, settings), lambda question, schema=schema: our_text(question, schema))
        for schema, _ in CONNECT
        if not is_of_other_enums(schema, settings)
    ]
    agree(avro_oracle, cases, lambda answer: answer["avro"])


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda chosen: ",".join(chosen) or "defaults")
def test_values_become_the_same_bytes(avro_oracle: Oracle, settings: dict[str, str]) -> None:
    cases = [
        (
            from_value(schema, value, settings),
            lambda question, schema=schema, value=value: our_bytes(question, schema, value),
        )
        for schema, values in CONNECT
        for value in values
        if value is not None  # a tombstone, which the converter keeps from the mapping
        and not is_of_other_enums(schema, settings)
    ]
    agree(avro_oracle, cases, lambda answer: base64.b64decode(answer["data"]))


@pytest.mark.parametrize("settings", SETTINGS[:5], ids=lambda chosen: ",".join(chosen) or "defaults")
def test_bytes_become_the_same_values(avro_oracle: Oracle, settings: dict[str, str]) -> None:
    cases = [
        (to_value(avro, data, settings), our_value)
        for avro, data in VALUES
        # Java counts the fields of such a union in two ways, and fails.
        if not ("generalized.sum.type.support" in settings and avro == ["null", "int", "string"] and data != b"\x00")
    ]
    agree(avro_oracle, cases, lambda answer: [answer["schema"], answer["value"]])


def test_whatever_is_generated_becomes_the_same_both_ways(avro_oracle: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    pairs: list[tuple[Schema, Any]] = []
    while len(pairs) < 400:
        schema = tame(random_schema(chance), chance)
        value = random_value(chance, schema.replace(optional=False))
        pairs.append((schema, value))
    settings = {"enhanced.avro.schema.support": chance.choice(["true", "false"])}
    written = [
        (
            from_value(schema, value, settings),
            lambda question, schema=schema, value=value: read_back(
                our_text(question, schema), our_bytes(question, schema, value), settings
            ),
        )
        for schema, value in pairs
    ]
    agree(avro_oracle, written, lambda answer: read_back(answer["avro"], base64.b64decode(answer["data"]), settings))
    answers = [answer for answer in avro_oracle.ask([question for question, _ in written]) if "error" not in answer]
    assert len(answers) > 300
    read = [(to_value(answer["avro"], base64.b64decode(answer["data"]), settings), our_value) for answer in answers]
    agree(avro_oracle, read, lambda answer: [answer["schema"], answer["value"]])


# Where we differ on purpose.


def test_two_structs_of_one_name_are_refused_where_java_writes_a_schema_that_does_not_fit(
    avro_oracle: Oracle,
) -> None:
    schema = Schema.struct(
        {"a": Schema.struct({"b": s.INT32}, name="n.A"), "c": Schema.struct({"q": s.STRING}, name="n.A")}, name="n.B"
    )
    question = from_schema(schema)
    assert avro_oracle.ask([question])[0]["avro"].endswith('{"name":"c","type":"A"}],"connect.name":"n.B"}')
    with pytest.raises(DataError, match=r'two different schemas are called "n\.A"'):
        our_text(question, schema)


def test_two_maps_with_other_entries_get_two_names_where_java_gives_one(avro_oracle: Oracle) -> None:
    schema = Schema.struct({"a": Schema.map(s.INT32, s.INT32), "b": Schema.map(s.INT32, s.STRING)}, name="R")
    question = from_schema(schema)
    assert avro_oracle.ask([question])[0]["avro"].count('"name":"key"') == 1
    ours = our_text(question, schema)
    assert '"name":"MapEntry2"' in ours
    found, value = our_value(to_value(ours, our_bytes(question, schema, {"a": {1: 2}, "b": {3: "x"}})))
    assert [field["type"] for _, field in found["fields"]] == ["MAP", "MAP"]
    assert value[1][1] == ["b", ["map", [[["i32", "3"], ["str", "x"]]]]]


def test_decimals_of_a_fixed_size_are_read_where_java_fails(avro_oracle: Oracle) -> None:
    avro = record(
        {"name": "d", "type": {"type": "fixed", "name": "D", "size": 3, "logicalType": "decimal", "scale": 1}}
    )
    question = to_value(avro, b"\xff\xff\xfe")
    assert "error" in avro_oracle.ask([question])[0]
    assert our_value(question)[1] == ["fields", [["d", ["decimal", "-2", 1]]]]


def test_a_value_beyond_its_connect_type_is_refused_where_java_cuts_it_off(avro_oracle: Oracle) -> None:
    question = to_value({"type": "int", "connect.type": "int8"}, b"\x80\x04")
    assert avro_oracle.ask([question])[0]["value"] == ["i8", "0"]
    with pytest.raises(DataError, match="beyond the int8"):
        our_value(question)


def read_back(text: str, data: bytes, settings: dict[str, str]) -> list[Any]:
    """A schema's text and what its bytes say; the bytes alone may differ, since maps have no order in Java."""
    return [text, len(data), our_value(to_value(text, data, settings))]


def is_of_other_enums(schema: Schema, settings: dict[str, str]) -> bool:
    """Whether the schema is of an enum of the kind that is not chosen: Java fails on it, we write a string."""
    found = repr(_parameters(schema))
    if "generalized.sum.type.support" in settings:
        return "connect.avro.Enum'" in found
    return "enhanced.avro.schema.support" in settings and "connect.data.Enum'" in found


def tame(schema: Schema, chance: random.Random) -> Schema:
    """A generated schema with names that Avro allows, each for one thing."""
    changes: dict[str, Any] = {"parameters": {f"p{at}": each for at, each in enumerate(schema.parameters.values())}}
    if logical.python_type(schema) is not None:
        return schema
    if schema.name is not None:
        changes["name"] = f"{chance.choice(['', 'a.', 'a.b.'])}N{chance.randrange(10**9)}"
    if schema.type is Type.STRUCT:
        changes["fields"] = {f"f{at}": tame(field.schema, chance) for at, field in enumerate(schema.fields)}
        changes["name"] = f"{chance.choice(['', 'a.', 'a.b.'])}N{chance.randrange(10**9)}"
    if schema.value_schema is not None:
        changes["value_schema"] = tame(schema.value_schema, chance)
    if schema.type is Type.MAP and schema.key_schema != s.STRING:
        changes["name"] = f"M{chance.randrange(10**9)}"  # entries without a name of their own: see above
    return schema.replace(**changes)


def _parameters(schema: Schema) -> list[Any]:
    return [dict(schema.parameters), *(_parameters(field.schema) for field in schema.fields)]
