"""Chance: records as transformations meet them, with schemas and without, with values at the borders of types."""

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from connect.data import Headers, Record, Schema, SinkRecord, SourceRecord, Type, logical

#: Few names, so that what a configuration names is often there.
NAMES = ["a", "b", "c", "id", "ts", "x.y", "größe", "", "A", "my field"]
TOPICS = ["orders", "orders-2024", "a.b.c", "größe", "db.schema.Table", "x" * 40, "$1", "o\\rders", "UPPER_lower"]

INTEGERS = sorted(
    {0, 1, -1, 2, 10, 255, 256, 1_000_000_007, 1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456}
    | {
        border + near
        for bits in (7, 8, 15, 16, 31, 32, 53, 63)
        for border in (1 << bits, -(1 << bits))
        for near in (-1, 0, 1)
    }
)
LONGS = [number for number in INTEGERS if -(1 << 63) <= number < 1 << 63]
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 0.1, -0.1, 1e-3, 9.999e-4, 1e7, 9999999.0, 123456789.125, 1e10, 1e20,
    1e22, 1e300, -1e300, 5e-324, 2.2250738585072014e-308, 3.4028234663852886e38, 3.4028235677973366e38,
    1.401298464324817e-45, 127.5, 128.0, -128.9, 32767.9, 2147483647.5, 2147483648.0, 9.223372036854776e18,
    -9.223372036854776e18, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
TEXTS = [
    "", " ", "x", "true", "TRUE", "True", "false", "False", "yes", "1", "0", "-1", "+1", "-0", " 1", "1 ", "1.0",
    "1.5", "-1.5", ".5", "5.", "1e3", "1E-3", "1e400", "-1e400", "1e-400", "NaN", "nan", "Infinity", "-Infinity",
    "+Infinity", "inf", "infinity", "0x10", "0x1p3", "0x1.8p1", "1f", "1.5D", "1d", "1L", "1_000", "1,000", "127",
    "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "00012", "١٢٣", "\uff12", "é", "😀", "a\u0000b", "\n", "\t1\n", "\u00a01", "null", "None",
    "a:b", "a,b", "${topic}", "$1", "{}", "[1]", "1970-01-01", "2024-02-29T12:34:56.789Z", "1700000000",
    "1700000000123", "ab" * 60, "\u2003", "\x1f1\x1f", "3.4028236e38", "1.401298464324817E-45", "0.000001",
    "123456789012345678", "+", "-", "e", "1e", "--1", "True ", "\U0001d7cf\U0001d7d0", "-\U0001d7cf", "\U0001d7cf.5",
]  # fmt: skip
BYTES = [b"", b"\x00", b"abc", b"\xff\xfe", bytes(range(40))]
MOMENTS = [
    0,
    1,
    -1,
    999,
    1000,
    1_700_000_000_123,
    -62_135_596_800_000,
    253_402_300_799_999,
    951_827_696_789,
    -86_400_000,
]
DECIMALS = [
    "0",
    "0.00",
    "1",
    "-1",
    "12.34",
    "-12.345",
    "1E+3",
    "123456789012345678901234567890.12",
    "0.001",
    "127",
    "128.9",
]


def moment(milliseconds: int) -> dt.datetime:
    """The value of a Timestamp."""
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=milliseconds)


# Schemas.

_PRIMITIVES = [
    Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING, Type.BYTES,
]  # fmt: skip


def schema(chance: random.Random, depth: int = 0, *, kind: Type | None = None) -> Schema:
    """A schema of any type, or of this one."""
    attributes: dict[str, Any] = {"optional": chance.random() < 0.45}
    if chance.random() < 0.15:
        attributes["name"] = chance.choice(["n", "com.example.Order", "größe", ""])
        attributes["version"] = chance.choice([None, 0, 1, 7])
        attributes["doc"] = chance.choice([None, "What it is for.", ""])
        attributes["parameters"] = chance.choice([None, {"k": "v"}, {"scale": "3", "": ""}])
    if kind is None:
        kind = chance.choice(_PRIMITIVES) if depth > 2 or chance.random() < 0.6 else None
    if kind is None:
        kind = chance.choice([Type.STRUCT, Type.STRUCT, Type.ARRAY, Type.MAP, Type.INT64])
        if kind is Type.INT64:
            return _with_default(chance, _logical(chance, attributes["optional"]))
    if kind is Type.STRUCT:
        names = chance.sample([name for name in NAMES if name], chance.choice([0, 1, 2, 3, 4, 5]))
        fields = {name: schema(chance, depth + 1) for name in names}
        return _with_default(chance, Schema.struct(fields, **attributes), 0.25 if depth < 2 else 0)
    if kind is Type.ARRAY:
        return _with_default(chance, Schema.array(schema(chance, depth + 1), **attributes))
    if kind is Type.MAP:
        keys = Schema(chance.choice([Type.STRING, Type.STRING, Type.INT32, Type.BOOLEAN]))
        return _with_default(chance, Schema.map(keys, schema(chance, depth + 1), **attributes))
    return _with_default(chance, Schema(kind, **attributes))


def _logical(chance: random.Random, optional: bool) -> Schema:
    chosen = chance.choice([logical.decimal(chance.choice([0, 2, 5])), logical.DATE, logical.TIME, logical.TIMESTAMP])
    return chosen.replace(optional=optional)


def _with_default(chance: random.Random, made: Schema, likely: float = 0.25) -> Schema:
    if chance.random() >= likely:
        return made
    return made.replace(default=value(chance, made.replace(optional=False)))


# Values.


def value(chance: random.Random, schema: Schema, *, may_be_left_out: bool = False) -> Any:
    """A value that fits the schema. Only in a field may null stand for the default of what is not optional."""
    if (schema.optional or (may_be_left_out and schema.default is not None)) and chance.random() < 0.25:
        return None
    match schema.name:
        case logical.DECIMAL_NAME:
            return Decimal(f"{chance.choice(LONGS)}E{-logical.scale_of(schema)}")
        case logical.DATE_NAME:
            return moment(chance.choice(MOMENTS)).date()
        case logical.TIME_NAME:
            return moment(chance.choice(MOMENTS)).time()
        case logical.TIMESTAMP_NAME:
            return moment(chance.choice(MOMENTS))
    match schema.type:
        case Type.STRING:
            return chance.choice(TEXTS)
        case Type.BYTES:
            return chance.choice(BYTES)
        case Type.BOOLEAN:
            return chance.random() < 0.5
        case Type.FLOAT32:
            return chance.choice(SINGLES)
        case Type.FLOAT64:
            return chance.choice(FLOATS)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [value(chance, schema.value_schema) for _ in range(chance.randrange(3))]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            keys = [value(chance, schema.key_schema) for _ in range(chance.randrange(3))]
            return {key: value(chance, schema.value_schema) for key in keys}
        case Type.STRUCT:
            return {field.name: value(chance, field.schema, may_be_left_out=True) for field in schema.fields}
    bits = int(schema.type.value.removeprefix("int")) - 1
    return chance.choice([number for number in LONGS if -(1 << bits) <= number < 1 << bits])


def _single(number: float) -> float:
    from connect.data.text import float32

    return float32(number)


SINGLES = [_single(number) for number in FLOATS]


def scalar(chance: random.Random) -> Any:
    """A schemaless value that is not a list and no map."""
    return chance.choice(
        [
            None,
            chance.random() < 0.5,
            chance.choice(LONGS),
            chance.choice(LONGS),
            chance.choice(FLOATS),
            chance.choice(TEXTS),
            chance.choice(TEXTS),
            chance.choice(BYTES),
            moment(chance.choice(MOMENTS)),
            Decimal(chance.choice(DECIMALS)),
        ]
    )


def schemaless(chance: random.Random, depth: int = 0) -> Any:
    """A value without a schema."""
    kind = chance.random()
    if depth == 0 and kind < 0.7:
        return document(chance)
    if depth < 3 and kind < 0.2:
        return document(chance, depth)
    if depth < 3 and kind < 0.3:
        return [schemaless(chance, depth + 1) for _ in range(chance.randrange(3))]
    return scalar(chance)


def document(chance: random.Random, depth: int = 0) -> dict[Any, Any]:
    """A schemaless map."""
    names: Sequence[Any] = chance.sample(NAMES, chance.choice([0, 1, 2, 3, 4, 6]))
    return {name: schemaless(chance, depth + 1) for name in names}


Part = tuple[Schema | None, Any]


def part(chance: random.Random, schemas: Sequence[Schema]) -> Part:
    """A key or a value: of one of these schemas, of another, schemaless, or null."""
    kind = chance.random()
    if kind < 0.4 and schemas:
        chosen = chance.choice(schemas)
        return chosen, value(chance, chosen)
    if kind < 0.55:
        chosen = schema(chance)
        return chosen, value(chance, chosen)
    if kind < 0.63:
        return None, None
    return None, schemaless(chance)


def scalars(chance: random.Random, count: int) -> list[Part]:
    """Values that are not structs: of primitive and logical types, or schemaless."""
    made: list[Part] = []
    for _ in range(count):
        if chance.random() < 0.4:
            made.append((None, scalar(chance)))
        else:
            chosen = schema(chance, 3) if chance.random() < 0.7 else _logical(chance, chance.random() < 0.5)
            made.append((chosen, value(chance, chosen)))
    return made


def flat(chance: random.Random, count: int) -> list[Part]:
    """Structs and maps of values that are not structs and no maps, and a null now and then."""
    wide = Schema.struct({name: schema(chance, 3) for name in chance.sample(NAMES[:6], 4)})
    others = {name: _logical(chance, chance.random() < 0.5) for name in chance.sample(NAMES[:6], 3)}
    made: list[Part] = []
    for _ in range(count):
        kind = chance.random()
        if kind < 0.1:
            made.append((None, None))
        elif kind < 0.45:
            made.append((None, {name: scalar(chance) for name in chance.sample(NAMES, 4)}))
        else:
            chosen = wide if kind < 0.8 else Schema.struct(others)
            made.append((chosen, value(chance, chosen)))
    return made


def structs(chance: random.Random, count: int) -> list[Schema]:
    """Schemas of structs."""
    return [schema(chance, kind=Type.STRUCT) for _ in range(count)]


def headers(chance: random.Random) -> Headers:
    """Headers, some names twice."""
    made = Headers()
    for _ in range(chance.choice([0, 0, 1, 2, 4])):
        name = chance.choice(["h", "h", "H", "a", "trace", ""])
        if chance.random() < 0.5:
            chosen = schema(chance, 2)
            made = made.add(name, value(chance, chosen), chosen)
        else:
            made = made.add(name, schemaless(chance, 2))
    return made


def record(chance: random.Random, key: Part, value: Part, *, sink: bool) -> Record:
    """A record with this key and value, and all else by chance."""
    common: dict[str, Any] = {
        "topic": chance.choice(TOPICS),
        "key_schema": key[0],
        "key": key[1],
        "value_schema": value[0],
        "value": value[1],
        "timestamp": chance.choice([None, 0, 1_700_000_000_123, -1, 951_827_696_789]),
        "headers": headers(chance),
    }
    if sink:
        kinds = ["CreateTime", "LogAppendTime", "NoTimestampType"]
        return SinkRecord(
            **common,
            partition=chance.randrange(3),
            offset=chance.choice([0, 5, 1 << 40]),
            timestamp_type=chance.choice(kinds),
        )
    return SourceRecord(**common, partition=chance.choice([None, None, 0, 2]))


def rows(chance: random.Random, count: int, values: Sequence[Part] | None = None) -> list[Record]:
    """Records that could be one batch: all consumed or all read, with schemas that alternate and tombstones between.

    Args:
        chance: where the records come from.
        count: how many, unless `values` says.
        values: what they hold as keys and as values; by default anything.
    """
    sink = chance.random() < 0.7
    schemas = structs(chance, 2)
    if values is None:
        return [record(chance, part(chance, schemas), part(chance, schemas), sink=sink) for _ in range(count)]
    others = [*values[1:], values[0]]
    return [record(chance, key, value, sink=sink) for key, value in zip(others, values, strict=True)]


def names_in(records: Sequence[Record]) -> list[str]:
    """The names of fields that occur in keys and values, each once."""
    found: dict[str, None] = {}
    for row in records:
        for made, item in ((row.key_schema, row.key), (row.value_schema, row.value)):
            if made is not None:
                found |= dict.fromkeys(field.name for field in made.fields)
            elif isinstance(item, Mapping):
                found |= dict.fromkeys(name for name in item if isinstance(name, str))
    return list(found)
