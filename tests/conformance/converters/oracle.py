"""What Apache Kafka Connect's own converters are asked, and what their answers are compared with; see `Oracle.java`."""

import base64
import datetime as dt
import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from connect.data import Schema, Type, logical
from connect.errors import DataError
from tests.support.java import Oracle

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

Answer = dict[str, Any]


# Questions.


def to_connect(cls: str, data: bytes | None, **config: str) -> Answer:
    """What does the converter make of these bytes?"""
    encoded = None if data is None else base64.b64encode(data).decode()
    return {"op": "to", "class": cls, "config": config, "is_key": False, "data": encoded}


def to_connect_each(oracle: Oracle, cls: str, data: Sequence[bytes], **config: str) -> list[str | None]:
    """What Java's converter makes of each of many records: an answer in JSON, which may be deep; None for an error."""
    encoded = [base64.b64encode(record).decode() for record in data]
    (answer,) = oracle.ask([to_connect(cls, None, **config) | {"op": "to_each", "data": encoded}])
    answers: list[str | None] = answer["answers"]
    return answers


def from_connect(cls: str, schema: Schema | None, value: Any, **config: str) -> Answer:
    """Which bytes does the converter make of this value?"""
    return {
        "op": "from",
        "class": cls,
        "config": config,
        "is_key": False,
        "schema": describe(schema),
        "value": tagged(schema, value),
    }


def to_header(data: bytes | None) -> Answer:
    """What does SimpleHeaderConverter make of these bytes?"""
    return to_connect(SIMPLE, data) | {"op": "to_header"}


def from_header(schema: Schema | None, value: Any) -> Answer:
    """Which bytes does SimpleHeaderConverter make of this value?"""
    return from_connect(SIMPLE, schema, value) | {"op": "from_header"}


def text(schema: Schema | None, value: Any) -> Answer:
    """What is the `String.valueOf` of this value?"""
    return {"op": "text", "value": tagged(schema, value)}


def describe(schema: Schema | None) -> Answer | None:
    """A schema as the Java side reads it."""
    if schema is None:
        return None
    described: Answer = {
        "type": schema.type.name,
        "optional": schema.optional,
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": dict(schema.parameters),
        "default": _default(schema),
    }
    if schema.type is Type.MAP:
        described["keys"] = describe(schema.key_schema)
    if schema.type in (Type.MAP, Type.ARRAY):
        described["values"] = describe(schema.value_schema)
    if schema.type is Type.STRUCT:
        described["fields"] = [[field.name, describe(field.schema)] for field in schema.fields]
    return described


def _default(schema: Schema) -> Any:
    if schema.type is not Type.STRUCT or schema.default is None:
        return tagged(schema, schema.default)
    return ["fields", [[f.name, tagged(f.schema, schema.default.get(f.name))] for f in schema.fields]]


_INTEGERS = {Type.INT8: "i8", Type.INT16: "i16", Type.INT32: "i32", Type.INT64: "i64"}


def tagged(schema: Schema | None, value: Any) -> Any:
    """A value as the Java side reads it: of the Java class that the schema calls for, else of the nearest."""
    kind = schema.type if schema is not None else None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if kind in (Type.FLOAT32, Type.FLOAT64):
            return tagged(schema, float(value))
        return [_INTEGERS.get(kind, "i64") if kind else "i64", str(value)]
    if isinstance(value, float):
        if value != value:
            value = math.nan  # Java knows but one
        if kind is Type.FLOAT32:
            return ["f32", str(struct.unpack(">i", struct.pack(">f", value))[0])]
        return ["f64", str(struct.unpack(">q", struct.pack(">d", value))[0])]
    if isinstance(value, str):
        return ["str", value]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(value).decode()]
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        return ["decimal", str(int("".join(map(str, digits))) * (-1 if sign else 1)), -exponent]
    if isinstance(value, dt.date | dt.time):
        return ["date", str(milliseconds(value))]
    if isinstance(value, list):
        element = schema.value_schema if schema is not None else None
        return ["list", [tagged(element, item) for item in value]]
    if kind is Type.STRUCT:
        assert schema is not None
        pairs = [[f.name, tagged(f.schema, value[f.name])] for f in schema.fields if f.name in value]
        return ["struct", describe(schema), pairs]
    keys, values = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
    return ["map", [[tagged(keys, k), tagged(values, v)] for k, v in value.items()]]


def milliseconds(value: dt.date | dt.time) -> int:
    """A Date, Time or Timestamp as `java.util.Date` counts it."""
    if isinstance(value, dt.datetime):
        return int(logical.encode(logical.TIMESTAMP, value))
    if isinstance(value, dt.time):
        return int(logical.encode(logical.TIME, value))
    return int(logical.encode(logical.DATE, value)) * 86_400_000


# Answers.


def found(schema: Schema | None, value: Any) -> Any:
    """A schema and value of ours in the form in which they are compared with Java's answer."""
    return _comparable(describe(schema)), plain(tagged(schema, value))


def answered(answer: Answer) -> Any:
    """Java's schema and value in the same form."""
    return _comparable(answer["schema"]), plain(answer["value"])


def _comparable(schema: Answer | None) -> Answer | None:
    """A described schema such that equal ones are equal whatever order the maps in their defaults have."""
    if schema is None:
        return None
    inner: Answer = {which: _comparable(schema[which]) for which in ("keys", "values") if which in schema}
    if "fields" in schema:
        inner["fields"] = [(name, _comparable(field)) for name, field in schema["fields"]]
    return {**schema, **inner, "default": plain(schema["default"])}


def plain(node: Any) -> Any:
    """A tagged value such that equal values are equal whatever order their maps have."""
    if not isinstance(node, list):
        return node
    match node[0]:
        case "list":
            return ("list", tuple(plain(item) for item in node[1]))
        case "map":
            return ("map", frozenset((plain(k), plain(v)) for k, v in node[1]))
        case "struct":
            # A field that was never set reads as null, as in Java.
            return ("struct", frozenset((name, plain(v)) for name, v in node[2] if v is not None))
        case "i8" | "i16" | "i32" | "i64":
            return ("int", node[1])
    return tuple(node)


def disagreements(oracle: Oracle, cases: Sequence[tuple[Answer, Callable[[], Any]]]) -> list[str]:
    """Where Java and we do not say the same, a line each.

    Args:
        oracle: Java.
        cases: a question, and what gives our answer: a `SchemaAndValue` or bytes. A DataError of ours is the same as
            any error of Java's.
    """
    lines = []
    for (question, ours), answer in zip(cases, oracle.ask([question for question, _ in cases]), strict=True):
        theirs: Any = f"error: {answer['message']}" if "error" in answer else None
        if theirs is None:
            theirs = answered(answer) if "value" in answer else decoded(answer)
        try:
            result = ours()
            mine = result if isinstance(result, bytes | None) else found(*result)
        except DataError as error:
            mine = "error"
            theirs = "error" if "error" in answer else theirs
            if theirs != mine:
                mine = f"error: {error}"
        if mine != theirs:
            data = base64.b64decode(question["data"]) if question.get("data") else question.get("value")
            lines.append(f"{data!r} {question.get('config')} {question.get('schema')}: Java {theirs!r}, ours {mine!r}")
    return lines


def decoded(answer: Answer) -> bytes | None:
    """The bytes in an answer."""
    return None if answer["data"] is None else base64.b64decode(answer["data"])
