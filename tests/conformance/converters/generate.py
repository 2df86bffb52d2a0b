"""Chance: JSON documents, schemas, values that fit them, and damage."""

import datetime as dt
import json
import math
import random
import struct
from decimal import Decimal
from typing import Any

from connect.data import Schema, Type, logical

CHARACTERS = 'abz09 .,:;{}[]"\\/\n\t\x00\x1f\x7fé\u2028\ufeff😀\U0010ffff-+eE_'
NUMBERS = [
    "0",
    "-0",
    "-0.0",
    "0.0",
    "1",
    "-1",
    "127",
    "128",
    "-129",
    "32768",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "1.0",
    "0.1",
    "1e5",
    "1E-5",
    "1e400",
    "123456789.125",
    "1e22",
    "0.001",
    "3e-10",
    "-2.5",
]


def random_text(chance: random.Random) -> str:
    return "".join(chance.choices(CHARACTERS, k=chance.choice([0, 1, 3, 12])))


def random_json(chance: random.Random, depth: int = 0) -> str:
    kind = chance.random()
    blank = chance.choice(["", "", "", " ", "\n\t"])
    if depth < 4 and kind < 0.25:
        return blank + "[" + ",".join(random_json(chance, depth + 1) for _ in range(chance.randrange(4))) + blank + "]"
    if depth < 4 and kind < 0.6:
        entries = (f"{quoted(chance)}{blank}:{random_json(chance, depth + 1)}" for _ in range(chance.randrange(4)))
        return blank + "{" + ",".join(entries) + "}" + blank
    if kind < 0.75:
        return blank + quoted(chance)
    if kind < 0.95:
        return chance.choice([chance.choice(NUMBERS), repr(random_double(chance)), str(chance.getrandbits(70))])
    return chance.choice(["true", "false", "null"])


def quoted(chance: random.Random) -> str:
    return json.dumps(random_text(chance), ensure_ascii=chance.random() < 0.5)


def mangled(chance: random.Random, data: bytes) -> bytes:
    """The bytes with one of them changed, dropped, doubled or put in between; ASCII, so that UTF-8 may break."""
    at = chance.randrange(len(data) + 1)
    other = bytes([chance.choice(b'0123456789aeEu+-., \n{}[]:"\\x')])
    return chance.choice(
        [data[:at] + other + data[at:], data[:at] + other + data[at + 1 :], data[:at] + data[at + 1 :], data[:at]]
    )


def random_double(chance: random.Random) -> float:
    """A finite double, of any size or of the sizes that people use."""
    if chance.random() < 0.5:
        return round(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-6, 12), chance.randrange(8))
    while True:
        (value,) = struct.unpack("d", chance.randbytes(8))
        if math.isfinite(value):
            return float(value)


def random_single(chance: random.Random) -> float:
    while True:
        (value,) = struct.unpack("f", chance.randbytes(4))
        if math.isfinite(value):
            return float(value)


PRIMITIVES = [
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
    Type.BOOLEAN,
    Type.STRING,
    Type.BYTES,
]


def random_schema(chance: random.Random, depth: int = 0) -> Schema:
    attributes: dict[str, Any] = {"optional": chance.random() < 0.4}
    if chance.random() < 0.2:
        attributes |= {"name": random_text(chance), "version": chance.randrange(5), "doc": random_text(chance)}
        attributes["parameters"] = {random_text(chance): random_text(chance)}
    kind = chance.random()
    if depth < 3 and kind < 0.25:
        fields = {
            f"f{i}{chance.choice(['', 'é', ' '])}": random_schema(chance, depth + 1) for i in range(chance.randrange(5))
        }
        return Schema.struct(fields, **attributes)
    if depth < 3 and kind < 0.35:
        return Schema.array(random_schema(chance, depth + 1), **attributes)
    if depth < 3 and kind < 0.45:
        keys = Schema(chance.choice([Type.STRING, Type.STRING, Type.INT32, Type.BOOLEAN]))
        return Schema.map(keys, random_schema(chance, depth + 1), **attributes)
    if kind < 0.6:
        optional = attributes["optional"]
        return chance.choice(
            [
                logical.decimal(chance.randrange(-3, 9), optional=optional),
                logical.DATE.replace(optional=optional),
                logical.TIME.replace(optional=optional),
                logical.TIMESTAMP.replace(optional=optional),
            ]
        )
    schema = Schema(chance.choice(PRIMITIVES), **attributes)
    if chance.random() < 0.2:
        schema = schema.replace(default=random_value(chance, schema.replace(optional=False)))
    return schema


def random_value(chance: random.Random, schema: Schema) -> Any:
    if schema.optional and chance.random() < 0.2:
        return None
    if schema.name == logical.DECIMAL_NAME:
        unscaled = chance.randrange(-(10 ** chance.randrange(1, 30)), 10 ** chance.randrange(1, 30))
        return Decimal(f"{unscaled}E{-logical.scale_of(schema)}")
    if schema.name == logical.DATE_NAME:
        return dt.date.fromordinal(chance.randrange(1, dt.date.max.toordinal()))
    if schema.name == logical.TIME_NAME:
        return dt.time(chance.randrange(24), chance.randrange(60), chance.randrange(60), chance.randrange(1000) * 1000)
    if schema.name == logical.TIMESTAMP_NAME:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=chance.randrange(-(10**13), 10**14))
    match schema.type:
        case Type.STRING:
            return random_text(chance)
        case Type.BYTES:
            return chance.randbytes(chance.randrange(6))
        case Type.BOOLEAN:
            return chance.random() < 0.5
        case Type.FLOAT32:
            return random_single(chance)
        case Type.FLOAT64:
            return random_double(chance)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [random_value(chance, schema.value_schema) for _ in range(chance.randrange(4))]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            keys = [random_value(chance, schema.key_schema) for _ in range(chance.randrange(4))]
            return {key: random_value(chance, schema.value_schema) for key in keys}
        case Type.STRUCT:
            fields = list(schema.fields)
            if chance.random() < 0.3:
                chance.shuffle(fields)
            return {field.name: random_value(chance, field.schema) for field in fields}
    bits = int(schema.type.value.removeprefix("int")) - 1
    return chance.choice([0, -(1 << bits), (1 << bits) - 1, chance.randrange(-(1 << bits), 1 << bits)])
