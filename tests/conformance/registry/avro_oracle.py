"""Asks a Java converter what it makes of Avro and of Connect, and asks ours the same."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from connect.converters.avro.from_connect import FromConnect, refuse_two_of_a_name
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.reading import make_reader
from connect.converters.avro.text import schema_text
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connect.converters.avro.writing import MadeWriter
from connect.data import Schema, Type
from connect.errors import DataError
from tests.conformance.converters import oracle as converters
from tests.support.java import Oracle

Json = Any
Settings = dict[str, str]


# Questions, and our answers to them.


def to_schema(avro: Json, settings: Settings | None = None) -> Json:
    return {"op": "to_schema", "avro": json.dumps(avro), "config": settings or {}}


def from_schema(schema: Schema, settings: Settings | None = None) -> Json:
    return {"op": "from_schema", "schema": converters.describe(schema), "config": settings or {}}


def to_value(avro: Json, data: bytes, settings: Settings | None = None) -> Json:
    text = avro if isinstance(avro, str) and avro.startswith(("{", "[", '"')) else json.dumps(avro)
    return {"op": "to", "avro": text, "data": base64.b64encode(data).decode(), "config": settings or {}}


def from_value(schema: Schema, value: Any, settings: Settings | None = None) -> Json:
    return {
        "op": "from",
        "schema": converters.describe(schema),
        "value": converters.tagged(schema, value),
        "config": settings or {},
    }


def options(settings: Settings) -> AvroOptions:
    """As the Java side has them, which does not know flatten.singleton.unions."""
    return AvroOptions.parse({"flatten.singleton.unions": "false", **settings})


def our_schema(question: Json) -> Json:
    """Our answer to `to_schema`."""
    return described(ToConnect(options(question["config"])).schema(parse(question["avro"])))


def our_text(question: Json, schema: Schema) -> str:
    """Our answer to `from_schema`."""
    node = FromConnect(options(question["config"])).schema(schema)
    refuse_two_of_a_name(node)
    return schema_text(node)


def our_value(question: Json) -> tuple[Json, Json]:
    """Our answer to `to`: the schema and the value."""
    avro, chosen = parse(question["avro"]), options(question["config"])
    schema = ToConnect(chosen).schema(avro)
    found = make_reader(avro, schema, chosen)([base64.b64decode(question["data"])], 0)
    value = {f.name: column[0] for f, column in zip(avro.fields, found, strict=True)} if avro.fields else found[0]
    return (None, None) if value is None else (described(schema), tagged(schema, value))


def our_bytes(question: Json, schema: Schema, value: Any) -> bytes:
    """Our answer to `from`."""
    chosen = options(question["config"])
    return MadeWriter(parse(our_text(question, schema)), schema, chosen).values([value], b"")[0]


def described(schema: Schema | None) -> Json:
    """A schema as `AvroOracle.java` describes it."""
    if schema is None:
        return None
    found: dict[str, Any] = {
        "type": schema.type.name,
        "optional": schema.optional,
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": dict(schema.parameters),
        "default": tagged(schema, schema.default),
    }
    if schema.type is Type.MAP:
        found["keys"] = described(schema.key_schema)
    if schema.type in (Type.MAP, Type.ARRAY):
        found["values"] = described(schema.value_schema)
    if schema.type is Type.STRUCT:
        found["fields"] = [[field.name, described(field.schema)] for field in schema.fields]
    return found


def tagged(schema: Schema, value: Any) -> Json:
    """A value as `AvroOracle.java` describes it: structs say nothing of their schema."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return ["fields", [[f.name, tagged(f.schema, value.get(f.name))] for f in schema.fields]]
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return ["list", [tagged(schema.value_schema, each) for each in value]]
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        pairs = [[tagged(schema.key_schema, k), tagged(schema.value_schema, v)] for k, v in value.items()]
        return ["map", pairs]
    return converters.tagged(schema, value)


def agree(oracle: Oracle, cases: Sequence[tuple[Json, Callable[[Json], Any]]], read: Callable[[Json], Any]) -> None:
    """Fail where Java and we do not say the same. A DataError of ours is the same as any error of Java's.

    Args:
        oracle: Java.
        cases: questions, and what gives our answer.
        read: what to compare in an answer of Java's.
    """
    lines = []
    for (question, ours), answer in zip(cases, oracle.ask([question for question, _ in cases]), strict=True):
        theirs = f"error: {answer['message']}" if "error" in answer else read(answer)
        try:
            mine = ours(question)
        except DataError as error:
            if "error" in answer:
                continue
            mine = f"error: {error}"
        if in_order(mine) != in_order(theirs):
            lines.append(f"{question}\n  Java {theirs!r}\n  ours {mine!r}")
    if lines:
        pytest.fail(f"{len(lines)} of {len(cases)} answers differ:\n" + "\n".join(lines[:10]), pytrace=False)


def in_order(answer: Any) -> Any:
    """An answer without what has no order: maps in Java are hashed."""
    if isinstance(answer, dict):
        return {key: in_order(each) for key, each in answer.items()}
    if isinstance(answer, list | tuple):
        if len(answer) == 2 and answer[0] == "map":
            return ["map", sorted(map(repr, map(in_order, answer[1])))]
        return [in_order(each) for each in answer]
    return answer
